"""Aggregates of a table of counters for formulas: exact sums, totals per class, and their ratios.

Sums over classes must neither depend on the order of the classes nor cost a Python call per class, because a metric may
be read after every sample. Inner products of the totals are exact integers. A mean of ratios adds the correctly rounded
ratios in fixed point (2^-80 units), which is exact too; a sum of doubles would depend on the order of the labels.

A linear form (a, b, c, d) stands for a*diagonal + b*actual + c*predicted + d*total of a class. With whole coefficients
it is evaluated in integers, so a form that is zero is exactly zero.
"""

cnp.import_array()

cdef int64_t EXACT = 1 << 53  # whole numbers up to here are doubles
DENSE_LIMIT = 4096  # classes; a square matrix beyond has more than 128 MB
cdef object UNIT = 1 << 64
cdef double NAN = float("nan")

cdef struct Form:
    bint exact
    int64_t n[4]
    double x[4]
    double span  # the sum of the absolute coefficients


cdef Form parse(tuple coefficients) except *:
    cdef Form form
    cdef int i
    form.exact, form.span = True, 0.0
    if len(coefficients) != 4:
        raise ValueError(f"Expected a form of 4 coefficients, but got {len(coefficients)}")
    for i in range(4):
        form.x[i] = <object> PyTuple_GET_ITEM(coefficients, i)
        form.span += fabs(form.x[i])
        if not form.span < 1e15:
            raise ValueError(
                "Expected the coefficients of a form to be finite and below 1e15, "
                f"but got {coefficients!r}")
        form.n[i] = <int64_t> form.x[i]
        form.exact = form.exact and form.n[i] == form.x[i]
    return form


cdef inline uint64_t whole_form(Form *form, Totals *c, int64_t mass) noexcept nogil:
    """A form with whole coefficients of whole counters, modulo 2^64."""
    return (<uint64_t> form.n[0] * <uint64_t> c.diagonal + <uint64_t> form.n[1] * <uint64_t> c.actual
            + <uint64_t> form.n[2] * <uint64_t> c.predicted + <uint64_t> form.n[3] * <uint64_t> mass)


cdef inline object fixed_units(int64_t whole, uint64_t part):
    """A number in units of 2^-64."""
    return (<object> whole << 64) + part


cdef Form[4] OUTCOMES  # the cells of a class against the rest, row by row
OUTCOMES[0], OUTCOMES[1] = parse((1, 0, 0, 0)), parse((-1, 1, 0, 0))
OUTCOMES[2], OUTCOMES[3] = parse((-1, 0, 1, 0)), parse((1, -1, -1, 1))


cdef inline object exact(int64_t whole, uint64_t part):
    return whole if part == 0 else Fraction(fixed_units(whole, part), UNIT)


cdef class ConfusionAggregates(Cells):
    """A readable table of counters; `order` lists the class indices in the order of report."""

    def __dealloc__(self):
        PyMem_RawFree(self.order)

    cdef int refresh(self) except -1:
        """Update `order`. A stretch that reads may follow."""
        if self.holder != 0:
            self.wait_reading()
        return 0

    @property
    def labels(self):
        """The positions of the classes, for a table whose classes have no labels."""
        return tuple(range(self.k))

    @property
    def k(self):
        """The number of classes."""
        self.refresh()
        return self.classes

    @property
    def total(self):
        """The sum of all weights, exact: an int, or a Fraction if it is no whole number."""
        return exact(self.mass, self.mass_part)

    @property
    def hits(self):
        """The weight on the diagonal, exact."""
        return exact(self.hit, self.hit_part)

    @property
    def true_dot_true(self):
        """The sum over the classes of the squared true totals, exact."""
        return dot_product(self, True, True)

    @property
    def true_dot_predicted(self):
        """The sum over the classes of true total times predicted total, exact."""
        return dot_product(self, True, False)

    @property
    def predicted_dot_predicted(self):
        """The sum over the classes of the squared predicted totals, exact."""
        return dot_product(self, False, False)

    @property
    def true_totals(self):
        """The weight of each true class, in the order of report: int64, or float64 if a cell has a fraction."""
        return totals_column(self, 0)

    @property
    def predicted_totals(self):
        """The weight of each predicted class, in the order of report."""
        return totals_column(self, 1)

    @property
    def diagonal(self):
        """The correctly predicted weight of each class, in the order of report."""
        return totals_column(self, 2)

    def _ratios(self, tuple numerator not None, tuple denominator not None):
        """The ratio of two linear forms for every class, in the order of report; nan where the denominator is 0."""
        cdef Form top = parse(numerator), bottom = parse(denominator)
        cdef Py_ssize_t a
        self.refresh()
        cdef object array = vector(self.classes, cnp.NPY_DOUBLE)
        cdef double *out = <double *> cnp.PyArray_DATA(array)
        for a in range(self.classes):
            out[a] = ratio_of(self, &top, &bottom, self.order[a])
        return array

    def _mean_ratio(self, tuple numerator not None, tuple denominator not None, double undefined,
                    bint by_support=False):
        """The mean over the classes of the ratio of two linear forms that lies in [0, 1].

        A class whose denominator is 0 counts as `undefined`, or is left out if that is nan. `by_support` weights by the
        true totals. nan if no class is left. The result does not depend on the order of the classes.
        """
        cdef Form top = parse(numerator), bottom = parse(denominator)
        cdef bint zero
        cdef Py_ssize_t a, i, left = 0
        cdef double ratio
        cdef int64_t below
        cdef bint simple = (top.exact and bottom.exact and self.fractional_cells == 0  # spares a call a class
                            and max(top.span, bottom.span) * <double> self.mass < <double> EXACT)
        cdef Fixed support
        cdef int64_t upper = 0, lower = 0, piece
        cdef uint64_t high = 0, low = 0, high_part = 0, low_part = 0, piece_high, piece_low
        support.whole, support.part = 0, 0
        self.refresh()
        for a in range(self.classes):
            i = self.order[a]
            if simple:
                below = <int64_t> whole_form(&bottom, self.totals + i, self.mass)
                zero = below == 0
                ratio = 0.0 if zero else <double> <int64_t> whole_form(&top, self.totals + i,
                                                                       self.mass) / <double> below
            else:
                ratio = ratio_of(self, &top, &bottom, i)
                zero = isnan(ratio)
            if zero and isnan(undefined):
                continue
            ratio = undefined if zero else ratio
            if not -1e-9 <= ratio <= 1 + 1e-9:
                raise ValueError(f"Expected ratios from 0 to 1, but got {ratio}")
            ratio = min(max(ratio, 0.0), 1.0)
            left += 1
            if by_support:
                add_multiple(&support, 1, self.totals[i].actual, 0 if self.fractions == NULL
                             else self.fractions[i].actual)
                add_product(&high, &low, <uint64_t> self.totals[i].actual, <uint64_t> (ratio * 4611686018427387904.0))
                if self.fractions != NULL:
                    piece_high, piece_low = 0, 0
                    add_product(&piece_high, &piece_low, self.fractions[i].actual,
                                <uint64_t> (ratio * 4611686018427387904.0))
                    low += piece_high
                    high += low < piece_high
                    low_part += piece_low
                    high_part += low_part < piece_low
            else:
                piece = <int64_t> (ratio * 1099511627776.0)  # 2^40
                upper += piece
                lower += <int64_t> ((ratio * 1099511627776.0 - <double> piece) * 1099511627776.0)
        if by_support:
            if support.whole == 0 and support.part == 0:
                return NAN
            if not simple:
                sum = (((<object> high << 64) + low) << 64) + (<object> high_part << 64) + low_part
                return sum / (fixed_units(support.whole, support.part) << 62)
            return (ldexp(<double> high, 2) + ldexp(<double> low, -62)) / <double> support.whole
        return NAN if left == 0 else (ldexp(<double> upper, -40) + ldexp(<double> lower, -80)) / left

    @property
    def unit(self):
        """Units of `unit_totals` and `unit_cells` in a weight of 1: 1, or 2**64 if a cell has a fraction."""
        return 1 if self.fractional_cells == 0 else UNIT

    def unit_totals(self):
        """True totals, predicted totals and diagonal in the order of report, as ints in units of 1 / `unit`."""
        self.enter_reading()
        try:
            return exact_totals(self)
        finally:
            self.leave()

    def unit_cells(self):
        """The non-zero cells in row-major order of report: rows, columns, ints in units of 1 / `unit`."""
        rows, columns, wholes, parts = self.ordered()
        if self.fractional_cells == 0 or parts is None:
            return rows, columns, wholes.tolist()
        return rows, columns, [(whole << 64) + part for whole, part in zip(wholes.tolist(), parts.tolist())]

    @property
    def matrix(self):
        """The square matrix, rows true, in the order of report; ValueError above 4096 classes."""
        self.enter_reading()
        try:
            return square_matrix(self)
        finally:
            self.leave()

    def cells(self):
        """The non-zero cells in row-major order of report: (rows, columns, values)."""
        rows, columns, wholes, parts = self.ordered()
        if parts is None:
            return rows, columns, wholes
        cdef const int64_t[:] whole = wholes
        cdef const uint64_t[:] part = parts
        cdef Fixed value
        cdef Py_ssize_t r
        cdef object array = vector(len(wholes), cnp.NPY_DOUBLE)
        cdef double *real = <double *> cnp.PyArray_DATA(array)
        for r in range(whole.shape[0]):
            value.whole, value.part = whole[r], part[r]
            real[r] = as_double(value)
        return rows, columns, array

    def ordered(self):
        """The non-zero cells in row-major order of report: rows, columns, whole parts, fraction parts or None."""
        self.enter_reading()
        try:
            return in_order(self)
        finally:
            self.leave()


cdef ConfusionAggregates against_rest(ConfusionAggregates self, Py_ssize_t i):
    """The table of class i, 0, against the rest, 1; i < 0 stands for a class without samples."""
    cdef ConfusionAggregates table = ConfusionAggregates.__new__(ConfusionAggregates)
    cdef int64_t[2] order = [0, 1]
    cdef Fixed value
    cdef int cell
    reserve_classes(table, 2)
    table.used = 2
    if self.fractions != NULL:
        make_fractional(table)
    value.whole, value.part = self.mass, self.mass_part
    if i < 0:
        add_cell(table, 1, 1, value.whole, value.part)
    for cell in range(4 if i >= 0 else 0):
        value = form_value(self, &OUTCOMES[cell], i)
        add_cell(table, cell >> 1, cell & 1, value.whole, value.part)
    set_order(table, order, 2)
    return table


cdef int set_order(ConfusionAggregates self, const int64_t *indices, Py_ssize_t n) except -1:
    cdef Py_ssize_t a
    cdef int64_t *order = <int64_t *> allocate(max(n, 1), sizeof(int64_t))
    for a in range(n):
        order[a] = indices[a]
    PyMem_RawFree(self.order)
    self.order, self.classes = order, n
    return 0


cdef object dot_product(ConfusionAggregates self, bint left_actual, bint right_actual):
    cdef Py_ssize_t i
    cdef uint64_t high = 0, low = 0
    cdef Totals *c
    cdef Fractions *f
    if self.fractional_cells == 0:
        for i in range(self.used):
            c = self.totals + i
            add_product(&high, &low, c.actual if left_actual else c.predicted, c.actual if right_actual
                        else c.predicted)
        return low if high == 0 else (<object> high << 64) + low
    sum = 0
    for i in range(self.used):
        c, f = self.totals + i, self.fractions + i
        actual, predicted = fixed_units(c.actual, f.actual), fixed_units(c.predicted, f.predicted)
        sum += (actual if left_actual else predicted) * (actual if right_actual else predicted)
    return Fraction(sum, UNIT * UNIT)


cdef inline Fixed total_of(ConfusionAggregates self, int which, Py_ssize_t i) noexcept:
    """The true, the predicted or the diagonal weight of class i."""
    cdef Totals *c = self.totals + i
    cdef Fractions *f = self.fractions + i
    cdef Fixed value
    value.whole, value.part = c.actual if which == 0 else c.predicted if which == 1 else c.diagonal, 0
    if self.fractions != NULL:
        value.part = f.actual if which == 0 else f.predicted if which == 1 else f.diagonal
    return value


cdef object totals_column(ConfusionAggregates self, int which):
    cdef Py_ssize_t a
    self.refresh()
    cdef object array = vector(self.classes, cnp.NPY_INT64 if self.fractional_cells == 0 else cnp.NPY_DOUBLE)
    cdef int64_t *whole = <int64_t *> cnp.PyArray_DATA(array)
    cdef double *real = <double *> whole
    for a in range(self.classes):
        if self.fractional_cells == 0:
            whole[a] = total_of(self, which, self.order[a]).whole
        else:
            real[a] = as_double(total_of(self, which, self.order[a]))
    cnp.PyArray_CLEARFLAGS(array, cnp.NPY_ARRAY_WRITEABLE)
    return array


cdef Fixed form_value(ConfusionAggregates self, Form *form, Py_ssize_t i) noexcept nogil:
    """An exact form for class i, if no partial sum leaves 64 bits."""
    cdef Totals *c = self.totals + i
    cdef Fractions *f = self.fractions + i
    cdef Fixed sum
    sum.whole, sum.part = 0, 0
    if self.fractions == NULL:
        sum.whole = <int64_t> whole_form(form, c, self.mass)
        return sum
    add_multiple(&sum, form.n[0], c.diagonal, f.diagonal)
    add_multiple(&sum, form.n[1], c.actual, f.actual)
    add_multiple(&sum, form.n[2], c.predicted, f.predicted)
    add_multiple(&sum, form.n[3], self.mass, self.mass_part)
    return sum


cdef object form_units(ConfusionAggregates self, Form *form, Py_ssize_t i):
    """An exact form for class i of any size, in units of 2^-64."""
    cdef Totals *c = self.totals + i
    cdef Fractions none
    none.actual, none.predicted, none.diagonal = 0, 0, 0
    cdef Fractions *f = &none if self.fractions == NULL else self.fractions + i
    return (<object> form.n[0] * fixed_units(c.diagonal, f.diagonal) + <object> form.n[1] * fixed_units(c.actual,
                                                                                                        f.actual)
            + <object> form.n[2] * fixed_units(c.predicted,
                                               f.predicted) + <object> form.n[3] * fixed_units(self.mass,
                                                                                               self.mass_part))


cdef double form_double(ConfusionAggregates self, Form *form, Py_ssize_t i) noexcept nogil:
    """A form whose coefficients are not whole, for class i."""
    cdef Totals *c = self.totals + i
    cdef Fractions *f
    cdef double real = (form.x[0] * <double> c.diagonal + form.x[1] * <double> c.actual
                        + form.x[2] * <double> c.predicted + form.x[3] * <double> self.mass)
    if self.fractions != NULL:
        f = self.fractions + i
        real += ldexp(form.x[0] * <double> f.diagonal + form.x[1] * <double> f.actual
                      + form.x[2] * <double> f.predicted + form.x[3] * <double> self.mass_part, -64)
    return real


cdef double ratio_of(ConfusionAggregates self, Form *top, Form *bottom, Py_ssize_t i) except? -1:
    """The ratio of two forms for class i, nan if the second is 0; correctly rounded if their coefficients are
    whole."""
    cdef Fixed above, below
    cdef double real
    if not (top.exact and bottom.exact):
        real = form_double(self, bottom, i)
        return NAN if real == 0 else form_double(self, top, i) / real
    if max(top.span, bottom.span) * <double> self.mass >= 9e18:
        units = form_units(self, bottom, i)
        return NAN if units == 0 else form_units(self, top, i) / units
    above, below = form_value(self, top, i), form_value(self, bottom, i)
    if below.whole == 0 and below.part == 0:
        return NAN
    if above.part == 0 and below.part == 0 and -EXACT <= above.whole <= EXACT and -EXACT <= below.whole <= EXACT:
        return <double> above.whole / <double> below.whole
    return fixed_quotient(above, below)


cdef tuple exact_totals(ConfusionAggregates self):
    cdef Py_ssize_t a
    cdef int which
    cdef Fixed value
    self.refresh()
    if self.fractional_cells == 0:
        return totals_column(self, 0).tolist(), totals_column(self, 1).tolist(), totals_column(self, 2).tolist()
    totals = [], [], []
    for which in range(3):
        for a in range(self.classes):
            value = total_of(self, which, self.order[a])
            totals[which].append(fixed_units(value.whole, value.part))
    return totals


cdef object square_matrix(ConfusionAggregates self):
    cdef Py_ssize_t a, b, n = self.k
    if n > DENSE_LIMIT:
        raise ValueError(f"Expected at most {DENSE_LIMIT} classes for a square matrix, but got {n}; use cells()")
    array = np.zeros((n, n), np.int64 if self.fractional_cells == 0 else np.float64)
    if self.table.key != NULL or self.fractions != NULL:
        rows, columns, values = self.cells()
        array[rows, columns] = values
        return array
    cdef int64_t *out = <int64_t *> cnp.PyArray_DATA(array)
    cdef int64_t *row
    for a in range(n):
        row = self.table.value + self.order[a] * self.width
        for b in range(n):
            out[a * n + b] = row[self.order[b]]
    return array


cdef tuple in_order(ConfusionAggregates self):
    cdef Py_ssize_t a
    self.refresh()
    rows, columns, wholes, parts = export_cells(self, self.order, self.classes)
    if parts is not None and not parts.any():
        parts = None
    if self.table.key == NULL:
        return rows, columns, wholes, parts
    rank = np.zeros(self.used, np.int64)
    for a in range(self.classes):
        (<int64_t *> cnp.PyArray_DATA(rank))[self.order[a]] = a
    rows, columns = rank[rows], rank[columns]
    by = np.argsort(rows * self.classes + columns)
    return rows[by], columns[by], wholes[by], None if parts is None else parts[by]
