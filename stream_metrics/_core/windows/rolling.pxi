"""The last N samples, and the state that counts exactly these.

The samples in the ring refer to the label objects of the counters, so that equal texts are stored once. The caller
copies scores.

When the ring is full, the oldest sample is removed from ring and state first, then the new one is counted; if that
fails, the oldest one is restored. Counting first would let sketches and sums count N + 1 samples, and refuse samples
that a new state accepts. All of this is one section of `Guarded`, or for plain labels one stretch.
"""

from cpython.dict cimport PyDict_Next
from cpython.ref cimport PyObject
from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint64_t

from stream_metrics._core.confusion.kernels cimport ConfusionCounters, check_weight, weight_fits
from stream_metrics._core.numeric.kernels cimport (
    Guarded, IdentityCacheEntry, LabelIndex, by_class, cache_entry, may_be_named, plain, split,
)
from stream_metrics.errors import ScoreError
from stream_metrics.labels.pos_label import as_counted_before

cdef inline bint is_bit(object label):
    if label is True or label is False:
        return True
    return (type(label) is int or type(label) is float) and (label == 0 or label == 1)


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


cdef class RollingUpdateBase(Guarded):
    """Base class of rolling windows: counts samples in the inner state and reverts them when they leave the window."""

    cdef Ring ring
    cdef readonly object inner, _sample_rule  # an empty state, and which samples it leaves out
    cdef object live                # the state of the samples in the window; None if it must be built when it is read
    cdef ConfusionCounters counts   # the counters of `live` if it counts labels only
    cdef bint soft, hard            # whether a prediction may be scores, and then also a label
    cdef object keys                # what keys of scores name
    cdef bint fixed                 # whether these are fixed labels
    cdef bint slow                  # whether looking up a label of the ring may run Python code, as tuples do

    def __cinit__(self, *args, **kwargs):
        self.ring.window = 1

    def __dealloc__(self):
        ring_clear(&self.ring)
        PyMem_RawFree(self.ring.sample)

    @property
    def window(self):
        """The number of samples that the window holds at most."""
        return self.ring.window

    @property
    def held(self):
        """The number of samples in the window, abstentions included."""
        return self.ring.held

    def _samples(self):
        """Return the samples in the window, oldest first: a list of (truth, prediction, weight)."""
        self.enter_reading()
        try:
            return ring_listed(&self.ring)
        finally:
            self.leave()

    def memory(self):
        """Return the bytes of the ring of samples; the state inside has its own.

        Returns
        -------
        int
            Bytes.
        """
        return self.ring.capacity * sizeof(Sample)

    def _set_up(self, inner not None, Py_ssize_t window):
        """Start empty; `inner` is an empty state that is copied and never updated; the window is at least 1."""
        self.ring.window = window
        self.inner, self._sample_rule = inner, rule_of(inner)
        self._attach(inner.copy())

    def _attach(self, live):
        """Count with this state from now on."""
        self.live, self.counts = live, counters_of(live)

    def _set_reads(self, bint soft, bint hard, keys):
        """Set whether a prediction may be scores, then whether it may also be a label, and what keys of scores name."""
        self.soft, self.hard, self.keys, self.fixed = soft, hard, keys, keys.fixed is not None

    def update(self, y_true, y_pred=MISSING, w=1, *, scores=MISSING, classes=None, group=None, unit=None):
        """Count one sample, and remove the one that leaves the window.

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
        if self._sample_rule is not None and self._sample_rule.ignores(y_true):
            return
        if scores is None:
            return self.update(y_true, None if y_pred is MISSING else y_pred, w, classes=classes, group=group,
                               unit=unit)
        if (scores is MISSING and classes is None and group is None and unit is None
                and (w is UNIT_WEIGHT or type(w) is float or type(w) is int)):
            if self.counts is not None:
                if plain(y_true) and (plain(y_pred) or y_pred is None):
                    if self.slow or self.holder != 0 or self.counts.holder != 0:
                        self._pass(y_true, y_pred, w)
                    else:
                        self.count_plain_labels(y_true, y_pred, w)
                    return
            elif self.soft and plain(y_true):
                stored = y_pred
                if type(y_pred) is dict:
                    stored = (<dict> y_pred).copy()
                    if self.fixed or may_be_named(<dict> stored, y_true):
                        stored = by_class(stored, y_true, self.keys)
                if (stored is None or type(stored) is float or (self.hard and plain(stored))
                        or (type(stored) is dict and are_clean(<dict> stored))):
                    self._pass(y_true, stored, w)
                    return
        given = (y_true,) if y_pred is MISSING else (y_true, y_pred)
        self._pass(*self._plainly(given, w, given_options(None, group, scores, classes, unit)))

    def _pass(self, truth, predicted, weight):
        """Count one sample of plain values."""
        self.enter()
        try:
            self.count_and_evict(truth, predicted, weight)
        finally:
            self.leave()

    cdef int change_state(self, bint back, object truth, object predicted, object weight) except -1:
        """Count a sample in the inner state, or revert it."""
        cdef ExtendedPrediction extended
        if self.counts is not None and type(predicted) is not ExtendedPrediction:
            if back:
                return self.counts.uncount(truth, predicted, weight)
            return self.counts.count(truth, predicted, weight)
        state = self.current()
        if type(predicted) is ExtendedPrediction:
            extended = predicted
            (state.revert if back else state.update)(truth, extended.predicted, weight, **extended.more)
        elif back:
            state.revert(truth, predicted, weight)
        else:
            state.update(truth, predicted, weight)
        return 0

    cdef int count_and_evict(self, object truth, object predicted, object weight) except -1:
        """Count one sample in the inner state, and revert the oldest one."""
        cdef tuple old = None
        ring_reserve(&self.ring)
        self.current()
        if self.ring.held >= self.ring.window:
            old = self.drop_oldest()
        try:
            self.change_state(False, truth, predicted, weight)
        except BaseException:
            if old is not None:
                as_counted_before(self._count_again, [old])
            raise
        if self.counts is not None:
            truth, predicted = self.interned_sample(truth, predicted)
        ring_push(&self.ring, truth, predicted, weight)
        return 0

    cdef int count_plain_labels(self, object truth, object predicted, object weight) except -1:
        """As `count_and_evict`, for a ring and a sample of plain labels: a stretch, unless the sample is refused."""
        cdef Sample old
        cdef ConfusionCounters counts = self.counts
        cdef int64_t whole = 1
        cdef uint64_t part = 0
        cdef bint other_weight
        if type(predicted) is float and predicted != predicted:
            predicted = None
        ring_reserve(&self.ring)
        if self.ring.held < self.ring.window:
            counts.count(truth, predicted, weight)
            ring_push(&self.ring, self.interned(truth), self.interned(predicted), weight)
            return 0
        old = self.ring.sample[self.ring.head]
        other_weight = <PyObject *> weight != old.weight
        if other_weight:
            split(weight, &whole, &part)
        # counters refuse no other labels
        if (counts.label_index.fixed_labels is not None or type(truth) is float or type(predicted) is float
                or (counts.label_index.binary and not (is_bit(truth) and is_bit(predicted)))):
            counts.label_index.admitted(truth, "y_true", None)
            counts.label_index.admit_prediction(predicted, truth)
        counts.uncount(<object> old.truth, <object> old.predicted, <object> old.weight)
        if other_weight and not weight_fits(counts, whole):
            counts.count(<object> old.truth, <object> old.predicted, <object> old.weight)
            check_weight(counts, whole)
        try:
            counts.count(truth, predicted, weight)
        except BaseException:  # no memory for a new label
            counts.count(<object> old.truth, <object> old.predicted, <object> old.weight)
            raise
        # the ring is full: overwrite the oldest sample
        fill_place(self.ring.sample + self.ring.head, self.interned(truth), self.interned(predicted), weight)
        self.ring.head = self.ring.head + 1 if self.ring.head + 1 < self.ring.capacity else 0
        release(old)
        return 0

    cdef tuple drop_oldest(self):
        """Remove the oldest sample from ring and state and return it; on failure nothing has changed.

        The state is built again from the samples if it has dropped pairs of classes that it has room for now.
        """
        cdef tuple old
        self.current()  # built from the ring if there is none, so before the ring changes
        old = ring_pop(&self.ring)
        try:
            self.change_state(True, old[0], old[1], old[2])
        except ScoreError:
            self.live = None
        except BaseException:
            ring_push_front(&self.ring, old[0], old[1], old[2])
            raise
        return old

    cdef object interned(self, object label):
        """Return the label object of the counters if it has the same type, so that samples share one object."""
        cdef LabelIndex labels = self.counts.label_index
        cdef IdentityCacheEntry *entry = cache_entry(labels, label)
        cdef Py_ssize_t i = entry.index if entry.label == <PyObject *> label else labels.find(label)
        name = label if i < 0 else labels.names[i]
        if labels.other is not None and name != label:
            return label  # it counts as `other`, which says nothing of the sample
        return name if type(name) is type(label) else label

    cdef tuple interned_sample(self, object truth, object predicted):
        """Return the label objects of a sample to store in the ring; in a section."""
        if not plain(truth) or not (predicted is None or plain(predicted)):
            self.slow = True
        return self.interned(truth), predicted if type(predicted) is ExtendedPrediction else self.interned(predicted)

    def _count_again(self, list dropped):
        """Count removed samples again and put them back at the front."""
        for old in reversed(dropped):
            self.change_state(False, old[0], old[1], old[2])
            ring_push_front(&self.ring, old[0], old[1], old[2])

    cdef int append(self, list samples) except -1:
        """Add samples that the state has counted; the window has space for them."""
        for truth, predicted, weight in samples:
            if self.counts is not None:
                truth, predicted = self.interned_sample(truth, predicted)
            ring_push(&self.ring, truth, predicted, weight)
        return 0

    def _join(self, batch, list samples):
        """Add fewer samples than the window holds; the state `batch` has counted them."""
        cdef list dropped = []
        self.enter()
        try:
            self.current()
            try:
                while self.ring.held + len(samples) > self.ring.window:
                    dropped.append(self.drop_oldest())
                self.current().merge(batch)
            except BaseException:
                as_counted_before(self._count_again, dropped)
                raise
            self.append(samples)
        finally:
            self.leave()

    def _refill(self, live, list samples):
        """Replace all samples; `live` has counted them, or is None to be built when it is read."""
        self.enter()
        try:
            ring_clear(&self.ring)
            self.slow = False
            self._attach(live)
            self.append(samples)
        finally:
            self.leave()

    cdef object current(self):
        """Return the state of the samples in the window, built from them if there is none; in a section."""
        if self.live is None:
            state = self.inner.copy()
            self._feed(state, ring_listed(&self.ring))
            self.live = state
        return self.live

    def _copy_to(self, RollingUpdateBase twin):
        """Copy the samples and the state to an empty window."""
        twin.ring.window, twin.inner, twin.soft, twin.hard = self.ring.window, self.inner, self.soft, self.hard
        twin._sample_rule = self._sample_rule
        twin.keys, twin.fixed = self.keys, self.fixed
        self.enter_reading()
        try:
            live, samples = None if self.live is None else self.live.copy(), ring_listed(&self.ring)
        finally:
            self.leave()
        twin._refill(live, samples)

    def reset(self):
        """Forget every sample; the configuration stays."""
        self._refill(self.inner.copy(), [])

    def get(self):
        """Return what `get` of the state inside returns for the samples in the window."""
        self.enter_reading()
        try:
            return self.current().get()
        finally:
            self.leave()

    @property
    def state(self):
        """The state of the samples in the window; do not update it."""
        self.enter_reading()
        try:
            return self.current()
        finally:
            self.leave()
