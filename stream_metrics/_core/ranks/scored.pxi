"""One sample in all states of a set that counts scores: its label, its scores, its largest score, its losses.

A mapping from plain labels to floats, or a float, is read here without running Python code. Anything else, and what
must be refused, is left to `states.score_states`, which reads it the long way to the same steps.
"""


cdef inline bint is_plain_label(object label):
    """Whether an object is a canonical label that is no float."""
    return type(label) is not float and plain(label)


cdef inline bint is_held(Guarded state) noexcept:
    """Whether there is this state and a thread has a section of it open."""
    return state is not None and state.holder != 0


cdef class ScoreCounters:
    """The states that scores feed beside counts of labels, and what a sample with scores predicts."""

    cdef public RankCounters ranks, confidence  # each may be None
    cdef public LossSums losses                 # or None
    cdef public object removed    # the states of samples that coarse sketches could not forget, or None
    cdef object pos_label         # the class whose score a single number is
    cdef public object negative   # the class beside `pos_label`, in a tuple, or None if it is not known
    cdef dict fixed               # the labels if they are fixed, else None
    cdef double threshold         # from which a single score predicts `pos_label`

    def configure(self, ranks, confidence, losses, pos_label, negative, fixed, double threshold):
        """Set the states, `pos_label` and the class beside it, the fixed labels as keys, and the threshold."""
        self.ranks, self.confidence, self.losses = ranks, confidence, losses
        self.pos_label, self.negative, self.fixed, self.threshold = pos_label, negative, fixed, threshold

    cdef object decide(self, object truth, object scores, double *largest):
        """Return the label of plain scores and set its score; None for what must be read the long way."""
        if not is_plain_label(truth):
            return None
        if type(scores) is dict:
            return None if self.fixed is None and may_be_named(scores, truth) else self.largest_of(scores, largest)
        return self.label_of_single(truth, scores, largest) if type(scores) is float else None

    cdef object largest_of(self, dict scores, double *largest):
        """Return the label of the largest score; None if several have it, or a label or a score is not plain."""
        cdef PyObject *key
        cdef PyObject *value
        cdef PyObject *best = NULL
        cdef Py_ssize_t at = 0
        cdef double x
        cdef bint tied = False
        while PyDict_Next(scores, &at, &key, &value):
            if type(<object> value) is not float or not is_plain_label(<object> key):
                return None
            x = <double> <object> value
            if not isfinite(x) or (self.fixed is not None and not PyDict_Contains(self.fixed, <object> key)):
                return None
            if best == NULL or x > largest[0]:
                best, largest[0], tied = key, x, False
            elif x == largest[0]:
                tied = True
        return None if best == NULL or tied else <object> best

    cdef object label_of_single(self, object truth, double score, double *largest):
        """Return the class that a single score predicts, spelled as the truth; None if that takes other labels."""
        cdef bint positive = score >= self.threshold
        pos_label, negative = self.pos_label, self.negative
        if negative is None or not isfinite(score) or (truth != pos_label and truth != negative[0]):
            return None
        if type(truth) is not type(pos_label) and (type(truth) is str or type(pos_label) is not bool):
            return None
        label = pos_label if positive else negative[0]
        largest[0] = score if positive else 1 - score
        if self.fixed is not None or type(truth) is type(label):
            return label
        return int(label) if type(truth) is int and type(label) is bool else None

    def decision(self, truth, scores):
        """Return the label of plain scores and its score; None for what must be read the long way."""
        cdef double largest = 0.0
        label = self.decide(truth, scores, &largest)
        return None if label is None else (label, largest)

    cdef bint try_count(self, Guarded owner, ConfusionCounters counts, object y_true, object y_pred, object w,
                        object scores) except -1:
        """Count a sample in all states or in none; return False for one that must be read the long way."""
        cdef double largest = 0.0
        if scores is None:
            scores, y_pred = y_pred, None
        label = self.decide(y_true, scores, &largest)
        if label is None or not (y_pred is None or is_plain_label(y_pred)):
            return False
        if w is not UNIT_WEIGHT:
            w = plain_weight(w)
        right = label == y_true
        owner.enter()
        try:
            self.wait_for_states(counts)
            return self.count_all(counts, y_true, label if y_pred is None else y_pred, w, scores, right, largest)
        finally:
            owner.leave()

    cdef int wait_for_states(self, ConfusionCounters counts) except -1:
        """Wait until no other thread has a section of a state open; what follows is a stretch."""
        while counts.holder != 0 or is_held(self.ranks) or is_held(self.losses) or is_held(self.confidence):
            for state in (counts, self.ranks, self.losses, self.confidence):
                if state is not None:
                    (<Guarded> state).wait()
        return 0

    cdef bint count_all(self, ConfusionCounters counts, object y_true, object label, object w, object scores,
                        object right, double largest) except -1:
        """Count in every state, first the steps that can fail; return False, and count nothing, if one needs Python."""
        cdef LabelSample named
        cdef LossSample lost
        cdef RankSample ranked, sure
        start_sample(&ranked, w)
        if self.ranks is not None and not read_known(self.ranks, y_true, scores, True, &ranked):
            return False
        start_sample(&sure, w)
        if self.confidence is not None and not read_known(self.confidence, right, largest, True, &sure):
            return False
        if self.losses is not None:
            self.losses.read_sample(y_true, scores, w, None, &lost)
            self.losses.check_sample(&lost)
        counts.read_sample(y_true, label, w, False, &named)
        counts.apply_sample(&named)
        if self.losses is not None:
            self.losses.apply_sample(&lost)
        if self.ranks is not None:
            apply_sample(self.ranks, &ranked)
        if self.confidence is not None:
            apply_sample(self.confidence, &sure)
        return True


@cython.final
cdef class RemovedStep(Step):
    """Other states of removed samples."""

    cdef ScoreCounters owner
    cdef object removed

    def __init__(self, ScoreCounters owner not None, removed):
        self.owner, self.removed = owner, removed

    cdef void apply(self) noexcept:
        self.owner.removed, self.removed = self.removed, self.owner.removed


cdef class ScoredUpdateBase(SetUpdateBase):
    """Base class of sets of metrics: passes plain samples with scores to all states without running Python code."""

    def _update_scored(self, y_true, y_pred, w, scores, classes):
        if (classes is not None or self.counts is None or not isinstance(self.scored, ScoreCounters)
                or not (<ScoreCounters> self.scored).try_count(self, self.counts, y_true, y_pred, w, scores)):
            self._update_scored_slowly(y_true, y_pred, w, scores, classes)
