cdef tuple read_scores(object scores, object pos_label, object classes, object position)


cdef inline bint known(object label):
    """Whether a label of that type can be looked up without running Python code."""
    kind = type(label)
    return kind is str or kind is bool or kind is int or kind is bytes or kind is float
