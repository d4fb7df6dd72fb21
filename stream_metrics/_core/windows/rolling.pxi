"""The last N samples, and the state that counts exactly these.

The samples in the ring point to the labels that the counters keep, so samples of text hold no text of their own; scores
are copied by who calls.

When the ring is full, the oldest sample leaves ring and state first, then the new one is counted; if that fails, the
oldest one is counted again and goes back to its place. Counting first would let sketches and sums hold N + 1 samples,
and refuse what a fresh state takes. All of this is one section of `Guarded`, or for plain labels one stretch.
"""

from cpython.dict cimport PyDict_Next
from cpython.ref cimport PyObject
from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint64_t

from stream_metrics._core.confusion.kernels cimport ConfusionCounters, has_room
from stream_metrics._core.numeric.kernels cimport IdentityCacheEntry, LabelIndex, cache_entry, plain, split

cdef object MISSING = object()


cdef bint are_clean(dict scores):
    """Whether there are scores, all finite floats by labels that are plain."""
    cdef PyObject *key
    cdef PyObject *value
    cdef Py_ssize_t at = 0
    while PyDict_Next(scores, &at, &key, &value):
        if (type(<object> value) is not float or not isfinite(<double> <object> value) or type(<object> key) is float
                or not plain(<object> key)):
            return False
    return at > 0


cdef class RollingFeed(Ring):
    """What passes samples on to the state inside and takes them back when they leave the window."""

    def _set_up(self, inner not None, Py_ssize_t window):
        """Start empty; `inner` is an empty state, which is copied and never fed; the window is at least 1."""
        self.window = window
        self.inner = inner
        self._attach(inner.copy())

    def _attach(self, live):
        """Count with this state from now on."""
        self.live, self.counts = live, counters_of(live)

    def _set_reads(self, bint soft, bint hard):
        """Say whether a prediction may be scores, and then whether it may also be a label."""
        self.soft, self.hard = soft, hard

    def update(self, y_true, y_pred=MISSING, w=1, *, scores=None, classes=None, group=None, unit=None):
        """Count one sample, and forget the one that leaves the window.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : object, optional
            The prediction, as `inner` takes it.
        w : int or float, default 1
            Weight of the sample, >= 0.
        scores : mapping from Label to float or float or sequence of float, optional
            Scores beside a prediction that is not their largest.
        classes : sequence of Label, optional
            The classes that a sequence of scores belongs to.
        group : Label, optional
            The group of the sample, if `inner` has groups.
        unit : Label, optional
            What samples that depend on each other have in common: a customer, a session, an hour.

        Raises
        ------
        LabelError
            If a label is not allowed.
        ScoreError
            If a score is not allowed.
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.
        """
        if (scores is None and classes is None and group is None and unit is None
                and (w is UNIT_WEIGHT or type(w) is float or type(w) is int)):
            if self.counts is not None:
                if plain(y_true) and (plain(y_pred) or y_pred is None):
                    if self.slow or self.holder != 0 or self.counts.holder != 0:
                        self._pass(y_true, y_pred, w)
                    else:
                        self.pass_labels(y_true, y_pred, w)
                    return
            elif self.soft and plain(y_true):
                kept = (<dict> y_pred).copy() if type(y_pred) is dict else y_pred
                if (kept is None or type(kept) is float or (self.hard and plain(kept))
                        or (type(kept) is dict and are_clean(<dict> kept))):
                    if self.holder != 0 or not self.pass_score(y_true, kept, w):
                        self._pass(y_true, kept, w)
                    return
        beside = (("scores", scores), ("classes", classes), ("group", group), ("unit", unit))
        more = {name: value for name, value in beside if value is not None}
        given = (y_true,) if y_pred is MISSING else (y_true, y_pred)
        self._pass(*self._plainly(given, w, more))

    def _pass(self, truth, predicted, weight):
        """Count one sample that was made plain."""
        self.enter()
        try:
            self.pass_sample(truth, predicted, weight)
        finally:
            self.leave()

    cdef int pass_sample(self, object truth, object predicted, object weight) except -1:
        """Count one sample, in a section."""
        if not self.pass_score(truth, predicted, weight):
            self.pass_on(truth, predicted, weight)
        return 0

    cdef int give(self, object truth, object predicted, object weight) except -1:
        """Let the state count a sample."""
        cdef Kept kept
        if self.counts is not None and type(predicted) is not Kept:
            return self.counts.count(truth, predicted, weight)
        state = self.current()
        if type(predicted) is Kept:
            kept = predicted
            state.update(truth, kept.predicted, weight, **kept.more)
        else:
            state.update(truth, predicted, weight)
        return 0

    cdef int take(self, object truth, object predicted, object weight) except -1:
        """Let the state take a sample back."""
        cdef Kept kept
        if self.counts is not None and type(predicted) is not Kept:
            return self.counts.uncount(truth, predicted, weight)
        state = self.current()
        if type(predicted) is Kept:
            kept = predicted
            state.revert(truth, kept.predicted, weight, **kept.more)
        else:
            state.revert(truth, predicted, weight)
        return 0

    cdef int pass_on(self, object truth, object predicted, object weight) except -1:
        """Let the state count one sample, and take the oldest one back."""
        cdef tuple old = None
        self.reserve()
        self.current()
        if self.held >= self.window:
            old = self.drop_oldest()
        try:
            self.give(truth, predicted, weight)
        except BaseException:
            if old is not None:
                self.put_back([old])
            raise
        if self.counts is not None:
            truth, predicted = self.labelled(truth, predicted)
        self.push(truth, predicted, weight)
        self.note(old, truth, predicted, weight)
        return 0

    cdef int pass_score(self, object truth, object predicted, object weight) except -1:
        """Count a sample without the state; False, and no change, if that cannot be done."""
        return False

    cdef int note(self, tuple old, object truth, object predicted, object weight) except -1:
        """Learn that the state has counted a sample, and taken the oldest one back (None if there was none)."""
        return 0

    cdef int pass_labels(self, object truth, object predicted, object weight) except -1:
        """As `pass_on`, for a ring and a sample of plain labels: a stretch, unless the sample is refused."""
        cdef Sample old
        cdef ConfusionCounters counts = self.counts
        cdef int64_t whole = 1
        cdef uint64_t part = 0
        cdef bint other_weight
        self.reserve()
        if self.held < self.window:
            counts.count(truth, predicted, weight)
            self.push(self.shared(truth), self.shared(predicted), weight)
            return 0
        old = self.sample[self.head]
        other_weight = <PyObject *> weight != old.weight
        if other_weight:
            split(weight, &whole, &part)
        # others are never refused
        if counts.label_index.fixed_labels is not None or type(truth) is float or type(predicted) is float:
            counts.label_index.admitted(truth, "y_true", None)
            counts.label_index.admit_prediction(predicted)
        counts.uncount(<object> old.truth, <object> old.predicted, <object> old.weight)
        if other_weight and not has_room(counts, whole):
            counts.count(<object> old.truth, <object> old.predicted, <object> old.weight)
            counts.check_room(whole)
        try:
            counts.count(truth, predicted, weight)
        except BaseException:  # no memory for a new label
            counts.count(<object> old.truth, <object> old.predicted, <object> old.weight)
            raise
        # the ring is full: in its place
        keep(self.sample + self.head, self.shared(truth), self.shared(predicted), weight)
        self.head = self.head + 1 if self.head + 1 < self.room else 0
        release(old)
        return 0

    cdef tuple drop_oldest(self):
        """Take the oldest sample back and return it; on failure nothing has changed."""
        cdef tuple old = self.pop()
        try:
            self.take(old[0], old[1], old[2])
        except BaseException:
            self.push_front(old[0], old[1], old[2])
            raise
        return old

    cdef object shared(self, object label):
        """The object that the counters keep for a label, if it is of the same type: many samples then hold one
        object."""
        cdef LabelIndex labels = self.counts.label_index
        cdef IdentityCacheEntry *entry = cache_entry(labels, label)
        cdef Py_ssize_t i = entry.index if entry.label == <PyObject *> label else labels.find(label)
        name = label if i < 0 else labels.names[i]
        return name if type(name) is type(label) else label

    cdef tuple labelled(self, object truth, object predicted):
        """The labels of a sample for the ring, in a section."""
        if not plain(truth) or not (predicted is None or plain(predicted)):
            self.slow = True
        return self.shared(truth), predicted if type(predicted) is Kept else self.shared(predicted)

    cdef int put_back(self, list dropped) except -1:
        """Count samples again that were the oldest ones."""
        for old in reversed(dropped):
            self.give(old[0], old[1], old[2])
            self.push_front(old[0], old[1], old[2])
        return 0

    cdef int append(self, list samples) except -1:
        """Note samples that the state has counted; there is room for them."""
        for truth, predicted, weight in samples:
            if self.counts is not None:
                truth, predicted = self.labelled(truth, predicted)
            self.push(truth, predicted, weight)
        return 0

    def _join(self, batch, list samples):
        """Count these samples, fewer than the window holds, which the state `batch` has counted."""
        cdef list dropped = []
        self.enter()
        try:
            if self.one_by_one():
                for truth, predicted, weight in samples:
                    self.pass_sample(truth, predicted, weight)
                return
            self.current()
            try:
                while self.held + len(samples) > self.window:
                    dropped.append(self.drop_oldest())
                self.live.merge(batch)
            except BaseException:
                self.put_back(dropped)
                raise
            self.append(samples)
        finally:
            self.leave()

    cdef bint one_by_one(self):
        """Whether samples are not counted by the state."""
        return False

    def _refill(self, live, list samples):
        """Hold these samples instead of what was held; `live` has counted them, or is None to be made when it is
        read."""
        self.enter()
        try:
            self.refill(live, samples)
        finally:
            self.leave()

    cdef int refill(self, live, list samples) except -1:
        self.clear()
        self.slow = False
        self._attach(live)
        self.append(samples)
        return 0

    cdef object current(self):
        """The state of the samples in the window, made from them if there is none; called in a section."""
        if self.live is None:
            made = self.inner.copy()
            self._feed(made, self.listed())
            self.live = made
        return self.live

    def _copy_to(self, RollingFeed twin):
        """Give an empty one the samples and the state."""
        self.enter_reading()
        try:
            self.copy_to(twin)
        finally:
            self.leave()

    cdef int copy_to(self, RollingFeed twin) except -1:
        twin.window, twin.inner, twin.soft, twin.hard = self.window, self.inner, self.soft, self.hard
        twin.refill(None if self.live is None else self.live.copy(), self.listed())
        return 0

    def reset(self):
        """Forget every sample; the configuration stays."""
        self.enter()
        try:
            self.refill(self.inner.copy(), [])
        finally:
            self.leave()

    def _snapshot(self, dict options):
        """The snapshot of the state for the samples of one moment."""
        self.enter_reading()
        try:
            return self.current().snapshot(**options)
        finally:
            self.leave()

    def get(self):
        """Return what `get` of the state inside returns for the samples in the window."""
        self.enter_reading()
        try:
            return self.current().get()
        finally:
            self.leave()

    @property
    def state(self):
        """The state of the samples in the window; not to be fed."""
        self.enter_reading()
        try:
            return self.current()
        finally:
            self.leave()

    @property
    def n(self):
        """The number of samples in the window that were counted."""
        self.enter_reading()
        try:
            return self.current().n
        finally:
            self.leave()

    @property
    def abstained(self):
        """The number of samples in the window without a prediction."""
        self.enter_reading()
        try:
            return self.current().abstained
        finally:
            self.leave()
