"""Parsing the scores of samples: a mapping of label to score, a number, a row of numbers."""

cdef object last_classes = None
cdef list last_names = None


cdef list names_of(object classes):
    """Return the labels of a row of scores; the last tuple is cached."""
    global last_classes, last_names
    if type(classes) is not tuple:
        return list(unique(classes, "classes"))
    if classes is last_classes:
        return last_names
    names = list(unique(classes, "classes"))
    last_names, last_classes = names, classes
    return names  # not `last_names`: releasing the previous tuple may run Python code


cdef double number(object score, object label, object position) except? -1.0:
    """Return a score as a finite double; raise ScoreError if it is none."""
    cdef double x = 0.0
    if not to_double(score, &x) or not isfinite(x):
        raise ScoreError(argument="scores", position=position, subject="every score", expected="to be a finite number",
                         got=score,
                         but=f"got {score!r:.60} for {label!r:.60}")
    return x


cdef tuple read_scores(object scores, object pos_label, object classes, object position):
    """(labels, scores) of a sample, (None, None) of an abstention; the label None stands for `pos_label`, implied."""
    if scores is None:
        return None, None
    if type(scores) is not float and is_missing(scores) and not isinstance(scores, (float, floating)):
        return None, None
    if isinstance(scores, Mapping):
        labels, values = [], []
        for label in scores:  # Cython's comprehensions release an object twice if the list cannot grow
            labels.append(canonical(label, "scores", position))
            values.append(number(scores[label], label, position))
        if not labels:
            return None, None
        if len(set(labels)) < len(labels):
            raise ScoreError(argument="scores", position=position, subject="one score", expected="for every label",
                             got=labels,
                             but=f"got the labels {labels!r:.200}", position_last=True)
        return labels, values
    values = None if type(scores) is float else row_values(scores)
    if values is None and classes is None:
        return [None], [number(scores, pos_label, position)]
    if values is None:
        raise ScoreError(argument="scores", position=position,
                         expected="to be a row of scores in the order of `classes`", got=scores)
    if classes is None:
        raise ScoreError(argument="scores", position=position, subject="`classes`",
                         expected="to name the classes of a row of scores",
                         got=scores, position_last=True)
    names = names_of(classes)
    if len(values) != len(names):
        raise ScoreError(argument="scores", position=position,
                         expected=f"to have one score for each of {len(names)} classes", got=len(values))
    return names, [number(x, label, position) for x, label in zip(values, names)]


def first_bad(x):
    """The place (row, column) of the first score that is not finite, or None."""
    with np.errstate(over="ignore", invalid="ignore"):
        if isfinite(x.sum()):  # then every score is
            return None
    bad = np.argwhere(~np.isfinite(x))
    return tuple(bad[0].tolist()) if len(bad) else None


def codes(const double[::1] scores):
    """The codes of finite scores."""
    out = np.empty(scores.shape[0], np.uint64)
    cdef uint64_t[::1] code = out
    if scores.shape[0]:
        encode_all(&scores[0], &code[0], scores.shape[0])
    return out
