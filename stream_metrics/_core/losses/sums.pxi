"""Sums of losses over probabilities, and the weight of the samples by the rank of their true class.

Every sample has three loss terms and a rank, each a function of the sample alone: a term is rounded once, to a multiple
of 2^-104 (the logarithm first to a double), multiplied by the weight as an integer, and added to a 192-bit integer.
A whole weight multiplies without rounding, so a weight of 3 is three samples; a fraction rounds once more, again as a
function of the sample. So the sums are exact, regardless of the order, and a sample can be taken back to the last bit.
The 128 bits of cells would not do: 36 times a weight could overflow, and the sums of a nearly perfect stream would have
few digits.

Squares of losses are summed for samples of weight 1 only, since only these have intervals. A loss is rounded
to a multiple of 2^-52 first, so that its square is a whole number of units. States written before squares
were counted have none, and merging one removes those of the target.

The sums change in stretches of `Guarded` only, so a copy of the struct is consistent.
"""

cdef object ONE = 1
cdef int64_t LARGEST = 0x7FFFFFFFFFFFFFFF
cdef object UNIT = 1 << 64


cdef inline object classes_of(LossSums self, object classes):
    """Return the classes of a sequence of probabilities: those of the call, else those of the state."""
    return self.classes if classes is None else unique(classes, "classes")


cdef class LossSums(Guarded):
    """Exact sums of log loss, Brier score and spherical score, and weights by the rank of the true class."""

    def __cinit__(self, pos_label=True, classes=None, **unknown):  # which `__init__` refuses
        self.pos_label = canonical(pos_label, "pos_label")
        self.classes = None if classes is None else unique(classes, "classes")
        self.reads_names = True

    def take_names_as_given(self):
        """Count scores under their keys as they are: the caller has read what they name."""
        self.reads_names = False

    cpdef bint _is_positive(self, object truth, position=None) except -1:
        """Whether a true label is `pos_label`; raise LabelError for one that its score cannot be about."""
        if truth == self.pos_label:
            return True
        if type(self.pos_label) is not bool or not (truth == 0 or truth == 1):
            check_with_single_score(self.pos_label, truth, position)
        return False

    def update(self, y_true, y_pred=MISSING, w=1, *, scores=MISSING, classes=None):
        """Count one sample.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : mapping from Label to float or float or sequence of float or None
            Probabilities: by label, of `pos_label`, or in the order of the classes. None or {} is an abstention.
        w : int or float, default 1
            Weight of the sample, >= 0.
        scores : mapping from Label to float or float or sequence of float, optional
            The scores, if they are not passed as `y_pred`.
        classes : sequence of Label, optional
            The classes that a sequence belongs to; those of the state by default.

        Raises
        ------
        LabelError
            If a label is none, or outside the fixed labels.
        ScoreError
            If a probability lies outside [0, 1].
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.
        """
        if y_pred is MISSING or scores is not MISSING or classes is not None:
            count_sample(self, y_true, chosen_scores(self, y_pred, scores), w, classes_of(self, classes))
        else:
            count_sample(self, y_true, y_pred, w, self.classes)

    cdef int count_prediction(self, object y_true, object y_pred, object w) except -1:
        return count_sample(self, y_true, y_pred, w, self.classes)

    @cython.final
    cdef int read_sample(self, object y_true, object scores, object w, object classes, LossSample *s) except -1:
        """Rate a sample that is to be counted or reverted."""
        s.whole, s.part = 1, 0
        if w is not ONE:
            split(w, &s.whole, &s.part)
        s.abstains = not measure(self, y_true, scores, classes, None, &s.rated)
        return 0

    @cython.final
    cdef int check_sample(self, const LossSample *s) except -1:
        """Raise WeightError if a sample cannot be counted."""
        if s.abstains:
            return check_samples(1, self.sums.abstained)
        check_samples(1, self.sums.n)
        if s.whole >= LARGEST - self.sums.weight[ALL].whole:
            raise sum_overflow(s.whole, self.sums.weight[ALL].whole, "2**63 - 1", None)
        return 0

    @cython.final
    cdef void apply_sample(self, LossSample *s) noexcept:
        """Count a sample that was checked."""
        if s.abstains:
            self.sums.abstained += 1
        else:
            count(&self.sums, &s.rated, s.whole, s.part)

    def _update_step(self, y_true, y_pred, w):
        """Return the step that counts a sample."""
        return loss_step(self, y_true, y_pred, w, False)

    def _revert_step(self, y_true, y_pred, w):
        """Return the step that takes back a sample."""
        return loss_step(self, y_true, y_pred, w, True)

    def _merge_step(self, other):
        """Return the step that adds the sums of another state."""
        check_same(self, other, "merge")
        cdef LossesStep step = LossesStep.__new__(LossesStep)
        step.target, step.source = self, other
        return step

    def _reset_step(self):
        """Return the step that forgets every sample."""
        cdef LossSums twin = self.copy()
        memset(&twin.sums, 0, sizeof(Sums))
        return Swap(self, twin)

    def revert(self, y_true, y_pred=MISSING, w=1, *, scores=MISSING, classes=None):
        """Undo one `update` with the same arguments.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : mapping from Label to float or float or sequence of float or None
            Probabilities: by label, of `pos_label`, or in the order of the classes. None or {} is an abstention.
        w : int or float, default 1
            Weight of the sample, >= 0.
        scores : mapping from Label to float or float or sequence of float, optional
            The scores, if they are not passed as `y_pred`.
        classes : sequence of Label, optional
            The classes that a sequence belongs to; those of the state by default.

        Raises
        ------
        WeightError
            If the counts show that there was no such update. Nothing changes then.

        Notes
        -----
        The sums show a missing update if one would fall below 0, or if fewer samples than ranks with a weight would be
        left.
        """
        cdef LossSample s
        cdef Sums rest
        scores = chosen_scores(self, y_pred, scores)
        self.read_sample(y_true, scores, w, classes_of(self, classes), &s)
        if self.holder != 0:
            self.wait()
        if not without_sample(self, &s, &rest):
            raise loss_not_counted(y_true, scores, w)
        self.sums = rest

    def _count_rows(self, const real[:, ::1] rows, const int32_t[::1] truth, const int32_t[::1] order,
                    const int64_t[::1] whole, const uint64_t[::1] part, bint binary):
        """Count rows of probabilities; truth: the column of each row's class or -1; order: the place of each
        column's label; binary: whether the classes are False and True.

        If `order` is None, there is one column, of `pos_label`, and `truth` is 1 for the rows of that class, else 0.
        Returns the first row that is refused (then nothing was counted), or -1.
        """
        cdef Sums batch
        cdef Sample s[BLOCK]
        cdef Py_ssize_t n = rows.shape[0], k = rows.shape[1], start = 0, size, done, r, counted = 0
        cdef bint weighted = whole is not None, fractional = part is not None, single = order is None
        cdef int64_t limit = LARGEST - self.sums.weight[ALL].whole
        if k > MOST_CLASSES and n > 0:
            raise too_many_classes(k, 0)
        memset(&batch, 0, sizeof(Sums))
        with nogil:
            while start < n:
                size = min(n - start, BLOCK)
                if single:
                    done = rate_singles(&rows[start, 0], size, &truth[start], s)
                else:
                    done = rate_rows(&rows[start, 0], size, k, &truth[start], &order[0], s)
                for r in range(done if binary else 0):
                    s[r].binary = truth[start + r] >= 0
                counted = count_block(&batch, s, done, &whole[start] if weighted else NULL, &part[start] if fractional
                                      else NULL, limit)
                if counted < size:
                    break
                start += size
        if start < n:
            return start + counted
        if single:
            all_binary(&batch)
        commit_batch(self, &batch)
        return -1

    @cython.boundscheck(True)  # the caller may change the list while scores are read
    def _count_objects(self, list labels, const int32_t[::1] code, list scores, classes, const int64_t[::1] whole,
                       const uint64_t[::1] part):
        """Count scores of any form, one a row, whose true labels are labels[code]."""
        cdef Sums batch
        cdef Sample s
        cdef Py_ssize_t r
        cdef int64_t w = 1, limit = LARGEST - self.sums.weight[ALL].whole
        cdef uint64_t f = 0
        memset(&batch, 0, sizeof(Sums))
        for r in range(len(scores)):
            if not measure(self, labels[code[r]], scores[r], classes, r, &s):
                batch.abstained += 1
                continue
            if whole is not None:
                w = whole[r]
                f = 0 if part is None else part[r]
            if w >= limit - batch.weight[ALL].whole:
                raise sum_overflow(w, self.sums.weight[ALL].whole + batch.weight[ALL].whole, "2**63 - 1", r)
            count(&batch, &s, w, f)
        commit_batch(self, &batch)

    def merge(self, other):
        """Add the sums of another state.

        Parameters
        ----------
        other : same class
            A state that counts the same. It stays as it is.

        Returns
        -------
        Self
            This state.

        Raises
        ------
        MergeError
            If the two count differently. The message names the options that differ.
        """
        commit_steps([self._merge_step(other)])
        return self

    def subtract(self, other):
        """Take the sums of another state out of this one.

        Parameters
        ----------
        other : same class
            A state that counts the same. It stays as it is.

        Returns
        -------
        Self
            This state.

        Raises
        ------
        MergeError
            If the two count differently. The message names the options that differ.
        WeightError
            If the other state has samples that this one does not have. Nothing changes then.
        """
        check_same(self, other, "subtract")
        (<LossSums> other).wait_reading()
        self.wait()
        cdef Sums rest = self.sums, theirs = (<LossSums> other).sums
        combine(&rest, &theirs, True)
        if not possible(&rest):
            raise not_contained()
        self.sums = rest
        return self

    def copy(self):
        """Return an independent state.

        Returns
        -------
        Self
            An independent state with the same configuration and counts.
        """
        cdef LossSums twin = type(self)(self.pos_label, self.classes)
        if self.holder != 0:
            self.wait_reading()
        twin.sums, twin.reads_names = self.sums, self.reads_names
        return twin

    def reset(self):
        """Forget every sample; the configuration stays."""
        commit_steps([self._reset_step()])

    def numbers(self):
        """The state as integers: samples, abstentions, weights (of all, of two classes, by rank), sums of losses."""
        cdef Sums s = self.sums
        cdef int at
        return [s.n, s.abstained, *[fixed_units(s.weight[at]) for at in range(<int> BINARY)],
                *[wide_units(s.loss[at]) for at in range(<int> BINARY_BRIER)]]

    def squares(self):
        """Squares of losses as integers: samples of other weights, samples beyond, sums; None where they are not known.

        Of log loss, Brier score and spherical score, in units of 2^-104, of the samples of weight 1. A Brier loss above
        2, which only rows have that do not sum to 1, is beyond and has no square.
        """
        cdef Squares s = self.sums.squares
        if s.unknown:
            return None
        return [s.weighted, s.beyond, *[wide_units(s.loss[at]) for at in range(<int> BINARY_BRIER)]]

    def binary_numbers(self):
        """Weight and Brier loss of the binary samples, and if squares are known the squares of these losses."""
        cdef Sums s = self.sums
        numbers = [fixed_units(s.weight[BINARY]), wide_units(s.loss[BINARY_BRIER])]
        return numbers if s.squares.unknown else [*numbers, wide_units(s.squares.loss[BINARY_BRIER])]

    def _fill(self, numbers, squares=None, binary=None):
        """Fill an empty state with what `numbers`, `squares` and `binary_numbers` returned; ValueError names what
        cannot have been counted.

        Bytes of earlier versions do not say which samples are binary: all, if none names more than two classes.
        """
        cdef Sums s
        cdef int at
        if [type(x) for x in numbers] != [int] * (RANKS + 7):
            raise ValueError("eighteen whole numbers")
        memset(&s, 0, sizeof(Sums))
        s.n, s.abstained, *rest = numbers
        for at in range(<int> BINARY):
            read_fixed(rest[at], &s.weight[at])
        for at in range(<int> BINARY_BRIER):
            read_wide(rest[<int> BINARY + at], &s.loss[at])
        forget_squares(&s.squares, squares is None and s.n != 0)
        if squares is not None:
            if [type(x) for x in squares] != [int] * 5:
                raise ValueError("five whole numbers")
            s.squares.weighted, s.squares.beyond, *rest = squares
            for at in range(<int> BINARY_BRIER):
                read_wide(rest[at], &s.squares.loss[at])
        if binary is not None:
            weight, brier, *square = binary
            if [type(x) for x in binary] != [int] * len(binary) or len(square) > (not s.squares.unknown):
                raise ValueError("whole numbers of binary samples")
            read_fixed(weight, &s.weight[BINARY])
            read_wide(brier, &s.loss[BINARY_BRIER])
            if square:
                read_wide(square[0], &s.squares.loss[BINARY_BRIER])
        elif s.weight[TWO].whole == s.weight[ALL].whole and s.weight[TWO].part == s.weight[ALL].part:
            all_binary(&s)
        if not possible(&s) or s.n > MOST_SAMPLES or s.abstained > MOST_SAMPLES:
            raise ValueError("sums of samples that were counted")
        self.sums = s

    def _merge_load(self):
        """Bounds of what a merge adds up: the sum of weights, samples, abstentions."""
        return self.sums.weight[ALL].whole + (self.sums.weight[ALL].part != 0), self.sums.n, self.sums.abstained

    @property
    def n(self):
        """The number of samples counted."""
        return self.sums.n

    @property
    def abstained(self):
        """The number of samples without scores."""
        return self.sums.abstained

    @property
    def weight(self):
        """The sum of all weights."""
        return self.sums.weight[ALL].whole if self.sums.weight[ALL].part == 0 else self.weight_units / UNIT

    @property
    def weight_units(self):
        """The sum of all weights in units of 2^-64, exact."""
        return fixed_units(self.sums.weight[ALL])

    @property
    def binary_weight_units(self):
        """The weight of the samples of two classes that have no others, in units of 2^-64, exact."""
        return fixed_units(self.sums.weight[BINARY])

    @property
    def binary_brier_units(self):
        """The part of `brier_units` that comes from these samples."""
        return wide_units(self.sums.loss[BINARY_BRIER])

    @property
    def rank_units(self):
        """The weight of the samples whose true class has rank 1, 2, ... 10, and beyond, in units of 2^-64, exact."""
        cdef Sums s = self.sums
        cdef int at
        return tuple([fixed_units(s.weight[FIRST_RANK + at]) for at in range(<int> RANKS)])

    @property
    def log_loss_units(self):
        """The sum of -w ln p of the true class in units of 2^-104, exact but for the rounding of each term."""
        return wide_units(self.sums.loss[LOG_LOSS])

    @property
    def brier_units(self):
        """The sum of w times the squared distance from the truth over all classes, in units of 2^-104."""
        return wide_units(self.sums.loss[BRIER])

    @property
    def spherical_units(self):
        """The sum of w times the share of the true class in the length of the row, in units of 2^-104."""
        return wide_units(self.sums.loss[SPHERICAL])


cdef int measure_single(LossSums self, object truth, double p, object position, Sample *s) except -1:
    if not in_range(p):
        raise no_probability(p, self.pos_label, position)
    rate_single(s, p, self._is_positive(truth, position))
    s.binary = True
    finish(s, 1)
    return 0


cdef bint measure(LossSums self, object y_true, object scores, object classes, object position, Sample *s) except -1:
    """Rate a sample; return False for an abstention."""
    truth = y_true if plain(y_true) and not PyFloat_CheckExact(y_true) else canonical(y_true, "y_true", position)
    if PyDict_CheckExact(scores):
        if not scores:
            return False
        if self.reads_names and may_be_named(scores, truth):
            scores = by_class(scores, truth, OPEN, position)
        measure_mapping(scores, truth, position, False, s)
    elif PyFloat_CheckExact(scores):
        measure_single(self, truth, PyFloat_AS_DOUBLE(scores), position, s)
    elif scores is None:
        return False
    elif isinstance(scores, Mapping):
        if not len(scores):
            return False
        if self.reads_names:
            scores = by_class(scores, truth, OPEN, position)
        measure_mapping(cleaned(scores, position), truth, position, True, s)
    else:
        values = row_values(scores)
        if values is None and is_missing(scores) and not isinstance(scores, (float, floating)):
            return False
        if values is None:
            measure_single(self, truth, number(scores, self.pos_label, position), position, s)
            return True
        if classes is None:
            raise ScoreError(argument="scores", position=position,
                             subject="`classes` to say which class each of the `scores`",
                             expected="belongs to", got=scores)
        if len(values) != len(classes):
            raise ScoreError(argument="scores", position=position,
                             expected=f"to hold {len(classes)} probabilities, one a class",
                             got=len(values))
        if self.reads_names:
            classes = classes_beside(classes, truth, position)
        measure_mapping(dict(zip(classes, values)), truth, position, False, s)
    return True


cdef int count_sample(LossSums self, object y_true, object scores, object w, object classes) except -1:
    cdef LossSample s
    self.read_sample(y_true, scores, w, classes, &s)
    if self.holder != 0:
        self.wait()
    self.check_sample(&s)
    self.apply_sample(&s)
    return 0


cdef bint without_sample(LossSums self, LossSample *s, Sums *rest) noexcept:
    """Set what is left without a sample; return whether the sums allow that there was one."""
    cdef Sums one
    memset(&one, 0, sizeof(Sums))
    if s.abstains:
        one.abstained = 1
    else:
        count(&one, &s.rated, s.whole, s.part)
    rest[0] = self.sums
    combine(rest, &one, True)
    return possible(rest)


cdef int check_counts(LossSums self, const Sums *more) except -1:
    cdef int64_t whole = more.weight[ALL].whole
    check_samples(more.n, self.sums.n)
    check_samples(more.abstained, self.sums.abstained)
    if whole >= LARGEST - self.sums.weight[ALL].whole and (whole != 0 or more.weight[ALL].part != 0):
        raise sum_overflow(whole, self.sums.weight[ALL].whole, "2**63 - 1", None)
    return 0


cdef int commit_batch(LossSums self, Sums *batch) except -1:
    if self.holder != 0:
        self.wait()
    check_counts(self, batch)
    combine(&self.sums, batch, False)
    return 0


cdef int check_same(LossSums self, object other, str verb) except -1:
    if not isinstance(other, LossSums):
        raise other_kind("ProbabilityLosses", other, verb)
    cdef LossSums o = other
    if self.pos_label != o.pos_label or repr(self.pos_label) != repr(o.pos_label):
        raise options_differ({"pos_label": self.pos_label}, {"pos_label": o.pos_label})
    return 0


cdef object loss_not_counted(object y_true, object scores, object w):
    return not_counted((y_true, scores, w), f"y_true={y_true!r:.60}, scores={scores!r:.60}, w={w!r}")


@cython.final
cdef class LossStep(Step):
    """One sample to be counted or reverted."""

    cdef object y_true, scores, w
    cdef bint reverts
    cdef LossSample sample
    cdef Sums rest

    cdef int prepare(self) except -1:
        cdef LossSums losses = self.target
        losses.read_sample(self.y_true, self.scores, self.w, losses.classes, &self.sample)
        if not self.reverts:
            return losses.check_sample(&self.sample)
        if not without_sample(losses, &self.sample, &self.rest):
            raise loss_not_counted(self.y_true, self.scores, self.w)
        return 0

    cdef void apply(self) noexcept:
        if self.reverts:
            (<LossSums> self.target).sums = self.rest
        else:
            (<LossSums> self.target).apply_sample(&self.sample)


cdef LossStep loss_step(LossSums losses, object y_true, object scores, object w, bint reverts):
    cdef LossStep step = LossStep.__new__(LossStep)
    step.target, step.y_true, step.scores, step.w, step.reverts = losses, y_true, scores, w, reverts
    return step


@cython.final
cdef class LossesStep(Step):
    """The sums of another state."""

    cdef int prepare(self) except -1:
        return check_counts(self.target, &(<LossSums> self.source).sums)

    cdef void apply(self) noexcept:
        cdef Sums more = (<LossSums> self.source).sums
        combine(&(<LossSums> self.target).sums, &more, False)
