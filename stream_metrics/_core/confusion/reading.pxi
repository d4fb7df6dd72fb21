"""Reading one metric after single samples: ratios of two linear forms, without a call of Python code."""


@cython.final
cdef class LinearRatio:
    """The ratio of two linear forms of the class `label` against the rest, or of all samples together if that is None.

    Of all samples together, a*diagonal + b*actual + c*predicted + d*total is a*hits + (b + c + d)*total.
    """

    cdef Form top, bottom
    cdef object label

    def __cinit__(self, tuple numerator not None, tuple denominator not None, label=None):
        self.top, self.bottom, self.label = parse(numerator), parse(denominator), label


cdef bint read_ratio(LinearRatio ratio, ConfusionCounters c, double *value) except -1:
    """Find the value, nan where it is 0/0; return False where the formula has to be called."""
    cdef Totals all_samples
    cdef int64_t below
    cdef Py_ssize_t i
    if c.holder != 0:
        c.wait_reading()
    if ratio.label is not None:
        i = c.label_index.find(ratio.label)
        if i < 0:
            return False
        value[0] = ratio_of(c, &ratio.top, &ratio.bottom, i)
        if not (ratio.top.exact and ratio.bottom.exact) and value[0] > 1.0:
            value[0] = 1.0
        return True
    if c.fractions != NULL or max(ratio.top.span, ratio.bottom.span) * <double> c.mass >= <double> EXACT:
        return False
    all_samples.diagonal, all_samples.actual, all_samples.predicted = c.hit, c.mass, c.mass
    below = <int64_t> whole_form(&ratio.bottom, &all_samples, c.mass)
    value[0] = NAN if below == 0 else <double> <int64_t> whole_form(&ratio.top, &all_samples,
                                                                    c.mass) / <double> below
    return True


cdef class ReadingBase(UpdateBase):
    """Base class of metrics that have one value; `_value` is that of the formula, nan replaced."""

    cdef public LinearRatio _linear_ratio  # None if the value is no ratio of two linear forms

    def get(self):
        """Return the current value; `zero_division` where it is 0/0.

        Returns
        -------
        float
            The value of all samples so far, for metrics of one class that of `pos_label`, without its interval.

        Raises
        ------
        ValueError
            If the value cannot be computed: a table of pairs of more than 4096 classes, or pairs of samples where a
            weight has a fraction.
        """
        cdef LinearRatio ratio = self._linear_ratio
        cdef double value
        if ratio is not None and self.counts is not None and read_ratio(ratio, self.counts, &value):
            return value if value == value else self.zero_division
        return self._value()
