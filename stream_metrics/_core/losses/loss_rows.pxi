"""Mappings from label to probability become rated samples. These functions have no state.

A dict of floats by plain labels is read in one pass without creating objects; other mappings are converted first.
Labels are compared only if a probability is tied with that of the true class.
"""

cdef Py_ssize_t MOST_CLASSES = 1 << 20  # then the sum of squares of a row stays far below 2^128 units


cdef object too_many_classes(Py_ssize_t classes, object position):
    return ScoreError(argument="scores", position=position, expected=f"to name at most {MOST_CLASSES} classes",
                      got=classes)


cdef object no_probability(object value, object label, object position):
    return ScoreError(argument="scores", position=position, expected="to be probabilities from 0 to 1", got=value,
                      but=f"got {value!r:.60} for {label!r:.60}")


cdef double number(object value, object label, object position) except? -1.0:
    cdef double x = 0.0
    if not to_double(value, &x):
        raise no_probability(value, label, position)
    return x


cdef dict cleaned(object scores, object position):
    """A mapping as a dict of canonical labels and floats."""
    out = {canonical(key, "scores", position): number(score, key, position) for key, score in scores.items()}
    if len(out) != len(scores):
        raise ScoreError(argument="scores", position=position, expected="to name every class once", got=list(scores))
    return out


cdef bint precedes(object a, object b):
    """Whether label a comes before label b in the order of report."""
    if type(a) is type(b) and type(a) is not tuple:
        return a < b
    return sort_key(a) < sort_key(b)


cdef Py_ssize_t earlier_ties(dict scores, object truth, double p) except -1:
    cdef Py_ssize_t earlier = 0
    for key, score in scores.items():
        if score == p and key != truth:
            earlier += precedes(key, truth)
    return earlier


cdef inline bint needs_cleaning(object key, object score):
    return not PyFloat_CheckExact(score) or not plain(key) or PyFloat_CheckExact(key)


cdef int measure_mapping(dict scores, object truth, object position, bint clean, Sample *s) except -1:
    cdef Row row
    cdef PyObject *key
    cdef PyObject *value
    cdef PyObject *own_score
    cdef Py_ssize_t place = 0, rank
    cdef double p = -1.0, x
    cdef bint binary = True
    row.classes, row.higher, row.ties, row.squares.high, row.squares.low = len(scores), 0, 0, 0, 0
    if row.classes > MOST_CLASSES:
        raise too_many_classes(row.classes, position)
    while not clean and PyDict_Next(scores, &place, &key, &value):
        if needs_cleaning(<object> key, <object> value):
            return measure_mapping(cleaned(scores, position), truth, position, True, s)
    own_score = PyDict_GetItemWithError(scores, truth)
    if own_score != NULL:
        p = PyFloat_AS_DOUBLE(<object> own_score)
    place = 0
    while PyDict_Next(scores, &place, &key, &value):
        x = PyFloat_AS_DOUBLE(<object> value)
        if not in_range(x):
            raise no_probability(x, <object> key, position)
        binary = binary and type(<object> key) is bool
        row.higher += x > p
        row.ties += x == p
        add_square(&row.squares, quantize52(clamp(x)))
    rank = row.classes + 1
    if own_score != NULL:
        rank = row.higher + 1 + (earlier_ties(scores, truth, p) if row.ties > 1 else 0)
    rate(s, clamp(p), &row, rank, own_score != NULL)
    s.binary = binary and own_score != NULL and row.classes == 2
    finish(s, 1)
    return 0
