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

import importlib
import os
import zlib
from abc import ABCMeta
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import msgspec

from stream_metrics.errors import (
    PEER_NAMES,
    DecodeError,
    StreamMetricsError,
    UnknownKeyError,
    no_attribute,
    with_article,
)

if TYPE_CHECKING:
    from stream_metrics.states.protocols import Accumulator

MAGIC = b"SMET"
VERSION = 1
HEADER = 9
NEWER = ": written by a newer version"
BIG_INT = 1  # the extension type of an int outside 64 bits

# Modules that define the kinds, to be imported when bytes of one are read first.
_MODULES = {
    "aggregate": "containers.aggregate",
    "bad_rows": "tables.bad_rows",
    "comparison": "states.joint",
    "confusion": "states.confusion",
    "detector": "states.detector",
    "fading": "containers.fading",
    "groups": "containers.groups",
    "losses": "states.losses",
    "metric": "metrics.metric",
    "multilabel": "containers.multilabel",
    "ranks": "states.ranks",
    "rolling": "containers.rolling",
    "running": "inference.running",
    "set": "metrics.metric_set",
    "timed": "containers.timed",
}
_kinds: dict[str, type[Portable]] = {}


class _PeerName:
    """A name of another library: reading it raises an error with a hint. `__getattr__` would slow every call down."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, state: object, owner: type) -> NoReturn:
        no_attribute(owner if state is None else state, self.name)


class _PortableType(ABCMeta):  # the type of `Portable` classes, which does not list names of other libraries
    __doc__ = vars(type)["__doc__"]  # that of each class, also for `help`
    __instancecheck__, __subclasscheck__ = type.__instancecheck__, type.__subclasscheck__  # which are faster

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if name not in PEER_NAMES or hasattr(cls, name)]


class Portable(metaclass=_PortableType):
    """An accumulator that can be written as bytes; equality, copying and pickling follow from that."""

    __slots__ = ()
    KIND: ClassVar[str]

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if "KIND" in cls.__dict__:
            _kinds[cls.KIND] = cls

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in PEER_NAMES or hasattr(self, name)]

    def to_bytes(self) -> bytes:
        """Return the state and its configuration as bytes; equal states give equal bytes.

        Returns
        -------
        bytes
            The state in wire format 1: versioned, with a checksum, and free of pickle.
        """
        return enveloped(encoded([self.KIND, self._content()]))

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
            raise _of_another(cls, _kinds[kind])
        state = cls._from_content(content)
        if not isinstance(state, cls):
            raise _of_another(cls, type(state))
        return state

    def _content(self) -> list[object]:
        """Return what `to_bytes` writes, and what a state that contains this one writes of it."""
        raise NotImplementedError

    @classmethod
    def _restore(cls, content: Any) -> Any:
        raise NotImplementedError

    def _would_write(self, content: Any) -> bool:
        """Return whether this would be written as the content that it was restored from."""
        return encoded(self._content()) == encoded(content)

    @classmethod
    def _from_content(cls, content: object) -> Any:
        """Return the state of a content; DecodeError if it is damaged in any way."""
        try:
            state = cls._restore(content)
            if not state._would_write(content):
                raise ValueError("what this state would write")
            return state
        except DecodeError:
            raise
        except (
            ArithmeticError, AttributeError, LookupError, RecursionError, StreamMetricsError, TypeError, ValueError
        ) as error:  # fmt: skip
            newer = NEWER if isinstance(error, UnknownKeyError) else ""
            raise DecodeError(f"Expected the content of {with_article(cls)}: {error}{newer}") from error

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
        return type(self) is type(other) and self._same(other)

    def _same(self, other: Any) -> bool:
        """Return whether an object of the same class would be written as the same bytes."""
        return bool(self.to_bytes() == other.to_bytes())

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Self) -> Self:
        """Return a merged copy; both stay as they are."""
        if not isinstance(other, Portable):
            return NotImplemented
        merged: Self = self.copy().merge(other)  # type: ignore[attr-defined]  # every accumulator has it
        return merged

    def __radd__(self, other: int) -> Self:
        """Return a copy for 0, with which `sum` begins."""
        return self.copy() if type(other) is int and other == 0 else NotImplemented

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[object, ...]:
        return _revive, (type(self), self.to_bytes())


for _name in PEER_NAMES:
    setattr(Portable, _name, _PeerName(_name))


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
    return _kinds[kind]._from_content(content)


def enveloped(body: bytes) -> bytes:
    """Return the bytes of a state whose kind and content are encoded."""
    return MAGIC + bytes([VERSION]) + zlib.crc32(body).to_bytes(4, "little") + body


def packed(state: Accumulator) -> list[object]:
    """Return a state as [kind, content], as a state that holds it writes it."""
    return [state.KIND, state._content()]


def unpacked(pair: object) -> Any:
    """Return the state of what `packed` wrote; ValueError or DecodeError if no state would have written it."""
    kind, content = _known(pair)
    return _kinds[kind]._from_content(content)


def _revive(cls: type[Portable], data: bytes) -> Portable:
    return cls.from_bytes(data)


def _of_another(expected: type, got: type) -> DecodeError:
    return DecodeError(f"Expected the bytes of {with_article(expected)}, but got those of {with_article(got)}")


def _open(data: bytes) -> tuple[str, object]:
    """Check header and checksum; return kind and content."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise DecodeError(argument="data", expected="to be bytes", got=type(data).__name__)
    data = bytes(data)
    if len(data) < HEADER or data[:4] != MAGIC:
        raise DecodeError(
            f"Expected at least {HEADER} bytes starting with {MAGIC!r}, but got {len(data)} starting with {data[:4]!r}"
        )
    if data[4] != VERSION:
        raise DecodeError(f"Expected format version {VERSION}, but got {data[4]}{NEWER * (data[4] > VERSION)}")
    written = data[HEADER:]
    if zlib.crc32(written) != int.from_bytes(data[5:HEADER], "little"):
        raise DecodeError("Expected the checksum to match, but the bytes were damaged or cut short")
    try:
        body = decoded(written)
        shortest = encoded(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise DecodeError(f"Expected a msgpack body, but got bytes that are none: {error}") from error
    if shortest != written:
        raise DecodeError("Expected a msgpack body in its shortest form, but got a longer one")
    try:
        return _known(body)
    except ValueError as error:
        raise DecodeError(f"Expected {error}") from None


def _known(pair: object) -> tuple[str, object]:
    """Return kind and content; ValueError if there is no such kind."""
    kinds = sorted({*_MODULES, *_kinds})
    if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)):
        raise ValueError(f"[kind, content] with a kind of {kinds}, but got something else")
    if pair[0] not in _kinds and pair[0] in _MODULES:
        importlib.import_module(f"stream_metrics.{_MODULES[pair[0]]}")  # its class is then in `_kinds`
    if pair[0] not in _kinds:
        raise ValueError(f"a kind of {kinds}, but got {pair[0]!r:.60}{NEWER}")
    return pair[0], pair[1]


def encoded(value: object) -> bytes:
    """Return a label, or lists and tuples of labels, as the bytes of the format; equal bytes mean equal values."""
    try:
        return _encoder.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return _encode_rare(value)


def decoded(data: bytes) -> Any:
    """Return the value that was encoded, lists as tuples; ValueError or RecursionError for bytes that are none."""
    try:
        value = _decoder.decode(data)
    except UnicodeDecodeError:
        return _decode_rare(data)
    return _with_tuples(value)


def _subclass_value(value: object) -> object:
    """Return the plain value of an object that msgspec does not know, such as a NumPy float."""
    for kind in (str, bytes, float, int):
        if isinstance(value, kind):
            return kind(value)  # type: ignore[arg-type]
    raise TypeError(f"Expected something that msgpack can write, but got {type(value).__name__}")


def read_big_int(code: int, data: memoryview) -> int:
    """Return the int of an extension of msgpack; ValueError if it is none."""
    value = int.from_bytes(data, "big", signed=True)
    if code != BIG_INT or -(2**63) <= value < 2**64 or len(data) != value.bit_length() // 8 + 1:
        raise ValueError("extension type 1 holding an int outside 64 bits in its shortest form")
    return value


_encoder = msgspec.msgpack.Encoder(enc_hook=_subclass_value)
_decoder = msgspec.msgpack.Decoder(ext_hook=read_big_int)
_items = msgspec.msgpack.Decoder(list[msgspec.Raw])


def _encode_rare(value: object) -> bytes:
    """Encode what msgspec refuses: text with lone surrogates, and ints outside 64 bits."""
    if isinstance(value, list | tuple | dict):
        n = len(value)
        empty = dict.fromkeys(range(n)) if isinstance(value, dict) else [None] * n
        head = _encoder.encode(empty)[: 1 if n < 2**4 else 3 if n < 2**16 else 5]
        items = chain.from_iterable(value.items()) if isinstance(value, dict) else value
        return head + b"".join(map(encoded, items))
    if isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        return _encoder.encode("x" * len(text))[: -len(text) or None] + text
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        value = msgspec.msgpack.Ext(BIG_INT, int(value).to_bytes(value.bit_length() // 8 + 1, "big", signed=True))
    return _encoder.encode(value)


def _decode_rare(data: bytes) -> object:
    """Decode a value with lone surrogates somewhere in its text."""
    head = data[0]
    if 0x90 <= head < 0xA0 or head in (0xDC, 0xDD):
        return tuple([_decode_rare(bytes(item)) for item in _items.decode(data)])
    if 0x80 <= head < 0x90 or head in (0xDE, 0xDF):  # read as a list of keys and values in turns
        size = 0 if head < 0x90 else 2 if head == 0xDE else 4
        n = int.from_bytes(data[1 : 1 + size], "big") if size else head & 0x0F
        turns = [
            _decode_rare(bytes(item))
            for item in _items.decode(b"\xdd" + (2 * n).to_bytes(5, "big")[1:] + data[1 + size :])
        ]
        return dict(zip(turns[::2], turns[1::2], strict=True))
    if 0xA0 <= head < 0xC0 or 0xD9 <= head <= 0xDB:
        size = 0 if head < 0xC0 else 1 << (head - 0xD9)
        if len(data) - 1 - size != (int.from_bytes(data[1 : 1 + size], "big") if size else head & 0x1F):
            raise ValueError("a text of another length")
        return data[1 + size :].decode("utf-8", "surrogatepass")
    return _decoder.decode(data)


def _with_tuples(value: object) -> object:
    """Return a decoded value with its lists as tuples."""
    if type(value) is list:
        if len(value) > 16 and not {list, dict} & set(map(type, value)):  # copied at once
            return tuple(value)
        return tuple([_with_tuples(item) if type(item) is list or type(item) is dict else item for item in value])
    if type(value) is dict:
        return {key: _with_tuples(item) for key, item in value.items()}
    return value


def write_file(path: str | Path, data: bytes, private: bool = False) -> None:
    """Replace a file in one step; OSError if that fails, and the old file stays.

    The bytes are written to a temporary file in the same folder, forced to disk and renamed, so a crash or a full disk
    never leaves half a file. The mode is that of the old file, or that of any newly created one; if `private`, only the
    owner may read it.
    """
    import tempfile  # with bz2 and lzma, which only files need

    target = Path(path).resolve()
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if not private:  # only the owner may read a temporary file
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
    import shutil

    if target.exists():
        shutil.copymode(target, temporary)
    else:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
