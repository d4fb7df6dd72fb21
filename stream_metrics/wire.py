"""States as bytes, format 1: versioned, checked, deterministic, free of pickle.

    offset  size  content
    0       4     b"SMET"
    4       1     format version, 1
    5       4     CRC-32 of everything after it, little-endian
    9       rest  msgpack: [kind, content], content as the kind's class wrote it

Labels are msgpack values (a tuple is an array); an int outside 64 bits is extension type 1, big-endian two's
complement. Equal states give equal bytes; bytes that no state would have written are refused with the invariant that
they break. Every class derived from `Portable` registers the kind of content that it reads. `write_file` is how bytes
get into a file: all of them or none.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zlib
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import msgpack

from stream_metrics.errors import DecodeError, StreamMetricsError

__all__ = ["Portable", "encoded", "from_bytes", "packed", "unpacked", "write_file", "written_as"]

MAGIC = b"SMET"
VERSION = 1
HEADER = 9
BIG_INT = 1

_kinds: dict[str, type[Portable]] = {}


class Portable:
    """An accumulator that can be written as bytes; equality, copying and pickling follow from that."""

    __slots__ = ()
    KIND: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "KIND" in cls.__dict__:
            _kinds[cls.KIND] = cls

    def to_bytes(self) -> bytes:
        """Return the state and its configuration as bytes; equal states give equal bytes.

        Returns
        -------
        bytes
            The state in wire format 1: versioned, with a checksum, and free of pickle.
        """
        body = _pack([self.KIND, self._content()])
        return MAGIC + bytes([VERSION]) + zlib.crc32(body).to_bytes(4, "little") + body

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the state that `data` holds.

        Parameters
        ----------
        data : bytes
            What `to_bytes` returned.

        Returns
        -------
        Self
            The state, with its configuration.

        Raises
        ------
        DecodeError
            If the bytes are damaged, were not written by this package, or hold a state of another kind.
        """
        kind, content = _open(data)
        if not issubclass(cls, _kinds[kind]):
            raise DecodeError(f"Expected the bytes of a {cls.__name__}, but got those of a {_kinds[kind].__name__}")
        state = cls._restored(content)
        if not isinstance(state, cls):
            raise DecodeError(f"Expected the bytes of a {cls.__name__}, but got those of a {type(state).__name__}")
        return state

    def _content(self) -> list[Any]:
        raise NotImplementedError

    @classmethod
    def _restore(cls, content: Any) -> Any:
        raise NotImplementedError

    @classmethod
    def _restored(cls, content: Any) -> Any:
        """Restore, and turn whatever the content breaks on the way into a DecodeError."""
        try:
            return cls._restore(content)
        except DecodeError:
            raise
        except (
            ArithmeticError, AttributeError, LookupError, RecursionError, StreamMetricsError, TypeError, ValueError
        ) as error:  # fmt: skip
            raise DecodeError(f"Expected the content of a {cls.__name__}: {error}") from error

    def copy(self) -> Self:
        """Return an independent state.

        Returns
        -------
        Self
            An independent state with the same configuration and counts.
        """
        return type(self).from_bytes(self.to_bytes())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Portable):
            return NotImplemented
        return type(self) is type(other) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (type(self), self.to_bytes())


def from_bytes(data: bytes) -> Any:
    """Return the state that `data` holds, of whatever kind it is.

    Parameters
    ----------
    data : bytes
        What `to_bytes` of a state, metric, set, window or group returned.

    Returns
    -------
    object
        The state, of the class that wrote it.

    Raises
    ------
    DecodeError
        If the bytes are cut short, damaged, written by something else or in a newer format. The message names what is
        wrong.

    Examples
    --------
    >>> import stream_metrics as sm
    >>> metric = sm.Accuracy()
    >>> metric.update("cat", "cat")
    >>> sm.from_bytes(metric.to_bytes())
    Accuracy: 1
    """
    kind, content = _open(data)
    return _kinds[kind]._restored(content)


def packed(state: Portable) -> list[Any]:
    """Return a state as [kind, content], as a state that holds it writes it."""
    return [state.KIND, state._content()]


def unpacked(pair: Any) -> Any:
    """Return the state of what `packed` wrote; ValueError or DecodeError if no state would have written it."""
    if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) and pair[0] in _kinds):
        raise ValueError(f"[kind, content] with a kind of {sorted(_kinds)}")
    return _kinds[pair[0]]._restored(pair[1])


def encoded(value: object) -> bytes:
    """Return a label, or lists and tuples of labels, as the bytes of the format; equal bytes mean equal values."""
    return _pack(value)


def written_as(state: Portable, content: Any) -> bool:
    """Tell whether the state would write this content, which it was restored from."""
    return _pack(state._content()) == _pack(content)


def _revive(cls: type[Portable], data: bytes) -> Portable:
    return cls.from_bytes(data)


def _open(data: bytes) -> tuple[str, Any]:
    """Check header and checksum; return kind and content."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise DecodeError(f"Expected bytes, but got {type(data).__name__}")
    data = bytes(data)
    if len(data) < HEADER or data[:4] != MAGIC:
        raise DecodeError(
            f"Expected at least {HEADER} bytes starting with {MAGIC!r}, but got {len(data)} starting with {data[:4]!r}"
        )
    if data[4] != VERSION:
        raise DecodeError(f"Expected format version {VERSION}, but got {data[4]}")
    if zlib.crc32(data[HEADER:]) != int.from_bytes(data[5:HEADER], "little"):
        raise DecodeError("Expected the checksum to match, but the bytes were damaged or cut short")
    try:
        body = msgpack.unpackb(
            data[HEADER:], use_list=False, ext_hook=_unpack_big, unicode_errors="surrogatepass", strict_map_key=False
        )
        shortest = _pack(body)
    except (TypeError, ValueError, RecursionError, msgpack.UnpackException) as error:
        raise DecodeError(f"Expected a msgpack body, but got bytes that are none: {error}") from error
    if shortest != data[HEADER:]:
        raise DecodeError("Expected a msgpack body in its shortest form, but got a longer one")
    if not (isinstance(body, tuple) and len(body) == 2 and isinstance(body[0], str) and body[0] in _kinds):
        raise DecodeError(f"Expected [kind, content] with a kind of {sorted(_kinds)}, but got something else")
    return body[0], body[1]


def _pack(body: object) -> bytes:
    return cast(bytes, msgpack.packb(body, default=_pack_big, unicode_errors="surrogatepass"))


def _pack_big(value: object) -> msgpack.ExtType:
    if isinstance(value, int):
        return msgpack.ExtType(BIG_INT, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))
    raise TypeError(f"Expected something that msgpack can write, but got {type(value).__name__}")


def _unpack_big(code: int, data: bytes) -> int:
    value = int.from_bytes(data, "big", signed=True)
    if code != BIG_INT or -(2**63) <= value < 2**64 or len(data) != value.bit_length() // 8 + 1:
        raise ValueError("extension type 1 holding an int outside 64 bits in its shortest form")
    return value


def write_file(path: str | Path, data: bytes) -> None:
    """Replace a file in one step; OSError if that fails, and the old file stays.

    The bytes are written to a temporary file in the same folder, forced to disk and renamed, so a crash or a full disk
    never leaves half a file. The mode is that of the old file, or that of any newly created one.
    """
    target = Path(path).resolve()
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _set_mode(temporary, target)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
    if os.name == "posix":  # Windows opens no folders
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _set_mode(temporary: str, target: Path) -> None:
    if target.exists():
        shutil.copymode(target, temporary)
    else:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
