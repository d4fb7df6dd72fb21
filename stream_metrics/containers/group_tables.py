"""States of groups that count labels only, read and written as tables of counts without a state for each group.

A `ByGroup` of 100 groups with a sample or two each takes 3 ms to read and merge and 2 ms to count and write; a table
takes 0.02 ms and 0.3 ms. The bytes are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, NamedTuple, Self, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.confusion.kernels import GroupRows, pack_runs
from stream_metrics.containers.group_keys import factorize_groups, rank, shown
from stream_metrics.containers.groups import ByGroup
from stream_metrics.labels import Label, ordering
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.runs import FORMS, NOTHING, run_contents
from stream_metrics.wire import HEADER, decoded, encoded, enveloped

__all__ = ["GroupTable", "GroupWriter", "Sample", "SummedGroups", "holds_samples_like"]

UNITE = 500_000  # rows, from which those that are alike are united
Codes = NDArray[np.int64]
Sample: TypeAlias = tuple[Any, Any, Any, Any]  # true label, prediction, weight, group


class _Form(NamedTuple):
    """How groups with the options of an empty state are written: what comes before the list, and before a content."""

    start: bytes
    before: bytes
    fixed: tuple[Label, ...]
    limit: int | None

    @classmethod
    def of(cls, groups: ByGroup) -> Self | None:
        """Return the form of groups that count labels with open or fixed classes; None of any others."""
        inner = groups.inner
        if type(inner) is not ConfusionMatrix or inner.other is not None:
            return None
        empty = groups.copy()
        empty.reset()
        start, before = empty.to_bytes()[HEADER:], encoded(inner.to_content())
        if not start.endswith(b"\x90\x90") or not before.endswith(NOTHING):
            return None
        return cls(start[:-2], before.removesuffix(NOTHING), inner.fixed_labels or (), groups.max_groups)

    def group(self, key: bytes, forms: Sequence[int], content: bytes) -> bytes:
        """Return the bytes of a group, whose key appeared so often as bool, int and float."""
        return b"\x93" + key + (encoded(list(forms)) if any(forms) else b"\x90") + self.before + content

    def enveloped(self, groups: Sequence[bytes], folded: Sequence[bytes]) -> bytes:
        """Return the bytes of groups; `folded` is the content of the folded ones, if there are any."""
        rest = [self.before + content for content in folded]
        return enveloped(b"".join([self.start, array_head(len(groups)), *groups, array_head(len(rest)), *rest]))


class GroupTable:
    """The sum of the bytes of groups that count labels."""

    def __init__(self, form: _Form) -> None:
        self._form = form
        self._rows = GroupRows(form.before, [encoded(label) for label in form.fixed])
        self._next_union = UNITE

    @classmethod
    def of(cls, parts: Iterable[bytes]) -> Self | None:
        """Return the sum of the bytes of groups; None if it takes states to add them up, or there are none."""
        table: Self | None = None
        for data in parts:
            table = cls._like(data) if table is None else table
            if table is None or not table.add(data):
                return None
        return table

    @classmethod
    def running(cls, parts: Sequence[bytes]) -> list[bytes] | None:
        """Return the bytes of the sum of the first, of the first two, and so on; None as for `of`."""
        table, sums = cls._like(parts[0]) if parts else None, list[bytes]()
        for data in parts:
            total = table.to_bytes() if table is not None and table.add(data) else None
            if total is None:
                return None
            sums.append(total)
        return sums

    @classmethod
    def _like(cls, data: bytes) -> Self | None:
        """Return an empty table for groups with the options of some bytes; None if these count no labels."""
        form = _form_of(data)
        return None if form is None else cls(form)

    def has_form(self, form: _Form) -> bool:
        """Return whether there are samples of groups with these options."""
        return self._form == form and self._rows.n > 0

    def add(self, data: bytes) -> bool:
        """Add the bytes of groups with the same options; False if that takes states."""
        start = self._form.start
        if data[HEADER : HEADER + len(start)] != start or not self._rows.add(data, HEADER + len(start)):
            return False
        if self._rows.n >= self._next_union:
            self._rows.unite()
            self._next_union = 2 * self._rows.n + UNITE
        return True

    def to_bytes(self) -> bytes | None:
        """Return the bytes of the sum; None if a key or a label has appeared as numbers of different types."""
        groups = self.groups()
        if groups is None:
            return None
        states = [self._form.group(key, forms, content) for key, forms, content in groups.written]
        return self._form.enveloped(states, groups.folded)

    def groups(self) -> SummedGroups | None:
        """Return the groups of the sum; None as for `to_bytes`."""
        self._rows.unite()
        groups, truth, predicted, samples = self._rows.arrays()
        keys: list[Any] = [decoded(data) if data else None for data in self._rows.keys]
        names = [decoded(data) for data in self._rows.labels]
        if len({*keys}) < len(keys) or len({*names}) < len(names):
            return None
        fixed = len(self._form.fixed)
        codes, forms = label_codes(names, fixed)
        apart = kept_apart([key for key in keys if key is not None], self._form.limit)
        place = {key: at for at, key in enumerate(apart)}
        places = np.array([place.get(key, len(apart)) for key in keys], np.int64)
        order = np.argsort(places[groups], kind="stable")
        starts = np.searchsorted(places[groups][order], np.arange(len(apart) + 2))
        codes = np.append(codes, -1)  # of an abstention, whose true label is not counted
        truth, predicted = codes[np.where(predicted < 0, -1, truth)[order]], codes[predicted[order]]
        contents = pack_runs(truth, predicted, samples[order], starts, forms, fixed)
        heads = dict(zip(keys, zip(self._rows.keys, self._rows.forms().tolist(), strict=True), strict=True))
        written = [(*heads[key], content) for key, content in zip(apart, contents, strict=False)]
        return SummedGroups(apart, written, contents[-1:] if len(apart) < len(keys) else [], self._form.before)


class SummedGroups(NamedTuple):
    """The groups that are kept apart in the order of report, how each is written, and the content of folded ones."""

    keys: list[Label]
    written: list[tuple[bytes, list[int], bytes]]  # the key, its appearances as bool, int and float, and the content
    folded: list[bytes]
    before: bytes  # what each content starts with

    def state(self, place: int) -> ConfusionMatrix:
        """Return the state of a group."""
        state: ConfusionMatrix = ConfusionMatrix.from_content(decoded(self.before + self.written[place][2]))
        return state


def holds_samples_like(data: bytes, empty: ByGroup) -> bool:
    """Return whether bytes are of groups like `empty` with samples, as far as that is known without states."""
    table, form = GroupTable.of([data]), _Form.of(empty)
    return table is not None and form is not None and table.has_form(form)


class GroupWriter:
    """Writes groups like `empty` from their samples; the bytes are those of states that counted them."""

    def __init__(self, empty: ByGroup) -> None:
        self._form = _Form.of(empty)
        self._matrix: Any = empty.inner

    def written(self, batches: Sequence[Sequence[Sample]]) -> list[bytes] | None:
        """Return the bytes of the groups of each batch of samples; None if it takes states to count them."""
        samples = list(chain.from_iterable(batches))
        if self._form is None or not samples:
            return None
        truths, labels, weights, groups = zip(*samples, strict=True)
        keys, seen, codes = factorize_groups(list(groups), len(groups))
        if {*weights} != {1} or (np.count_nonzero(seen, axis=1) > 1).any():
            return None
        order = ordering(keys)
        keys, seen, width = [keys[at] for at in order], seen[order], len(keys) + 1
        sizes = [len(batch) for batch in batches]
        runs = np.repeat(np.arange(len(sizes)), sizes) * width + np.argsort(order)[codes]
        runs = _with_folded(runs, keys, self._form.limit)
        rows = np.argsort(runs, kind="stable")
        starts = np.flatnonzero(np.diff(runs[rows], prepend=-1, append=2**62))
        y_true, y_pred = ([column[at] for at in rows.tolist()] for column in (truths, labels))
        contents = run_contents(self._matrix, y_true, y_pred, np.ones(len(rows), np.int64), starts)
        runs = runs[rows[starts[:-1]]]
        states = self._states(keys, seen[:, :3], runs % width, np.diff(starts), contents)
        folded = runs % width == width - 1
        edges = np.searchsorted(runs, np.arange(len(sizes) + 1) * width).tolist()
        bodies = []
        for start, end in pairwise(edges):
            rest = int(end > start and folded[end - 1])
            bodies.append(self._form.enveloped(states[start : end - rest], contents[end - rest : end]))
        return bodies

    def _states(
        self, keys: Sequence[Label], seen: Codes, places: Codes, sizes: Codes, contents: Sequence[bytes]
    ) -> list[bytes]:
        """Return the bytes of each run as a group; those of a run of folded groups are not used."""
        assert self._form is not None
        names = [encoded(shown(key, tuple(forms))) for key, forms in zip(keys, seen.tolist(), strict=True)]
        if not seen.any():
            heads = [self._form.group(name, (), b"") for name in [*names, b""]]
            return [heads[place] + content for place, content in zip(places.tolist(), contents, strict=True)]
        forms = (np.minimum(seen, 1)[np.minimum(places, len(keys) - 1)] * sizes[:, None]).tolist()
        names.append(b"")
        runs = zip(places.tolist(), forms, contents, strict=True)
        return [self._form.group(names[place], form, content) for place, form, content in runs]


def _with_folded(runs: Codes, keys: Sequence[Label], limit: int | None) -> Codes:
    """Return the runs of rows, those of groups that are folded in their batch as the last run of the batch."""
    if limit is None or len(keys) <= limit:
        return runs
    width, hashes = len(keys) + 1, np.empty(len(keys), np.int64)
    hashes[sorted(range(len(keys)), key=lambda at: rank(keys[at]))] = np.arange(len(keys))
    distinct = np.unique(runs)
    batches, places = np.divmod(distinct, width)
    order = np.lexsort((hashes[places], batches))
    within = np.arange(len(order)) - np.searchsorted(batches, batches)
    return np.where(np.isin(runs, distinct[order][within >= limit]), runs // width * width + width - 1, runs)


_outer = msgspec.msgpack.Decoder(tuple[str, msgspec.Raw])
_groups = msgspec.msgpack.Decoder(tuple[msgspec.Raw, msgspec.Raw, msgspec.Raw, msgspec.Raw, msgspec.Raw])


def _form_of(data: bytes) -> _Form | None:
    """Return the form of the bytes of groups that count labels; None of any others."""
    try:
        kind, content = _outer.decode(data[HEADER:])
        return _form_like(*map(bytes, _groups.decode(content)[:3])) if kind == ByGroup.KIND else None
    except ValueError:
        return None


@lru_cache(maxsize=16)
def _form_like(inner: bytes, limit: bytes, other: bytes) -> _Form | None:
    return _Form.of(ByGroup.from_content((decoded(inner), decoded(limit), decoded(other), (), ())))


def label_codes(names: Sequence[Label], fixed: int) -> tuple[Codes, list[bytes]]:
    """Return the codes of labels, and what `pack_runs` writes of each form of them; the first `fixed` are fixed."""
    order = [*range(fixed), *(fixed + at for at in ordering(names[fixed:]))]
    codes, forms = np.empty(len(names), np.int64), [b""] * (4 * len(names))
    for place, at in enumerate(order):
        codes[at] = 4 * place + FORMS.get(type(names[at]), 3)
        forms[codes[at]] = encoded(names[at])
    return codes, forms


def kept_apart(keys: Sequence[Label], limit: int | None) -> list[Label]:
    """Return the keys of the groups that are kept apart, in the order of report."""
    chosen = keys if limit is None or len(keys) <= limit else sorted(keys, key=rank)[:limit]
    return [chosen[at] for at in ordering(chosen)]


def array_head(n: int) -> bytes:
    """Return the head of an array in msgpack."""
    if n < 16:
        return bytes([0x90 | n])
    return b"\xdc" + n.to_bytes(2, "big") if n < 1 << 16 else b"\xdd" + n.to_bytes(4, "big")
