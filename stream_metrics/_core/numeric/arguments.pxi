"""The prediction of a sample, which is passed as `y_pred` or as `scores`."""


@cython.final
cdef class Missing:
    """The type of `MISSING`."""

    def __repr__(self):
        return "<missing>"


# The default of `y_pred` and `scores` of one sample, because None is an abstention, in either of them.
MISSING = Missing()


cdef object no_prediction(object owner, bint scored):
    arguments = "`y_pred` or `scores`" if scored else "`y_pred`"
    return TypeError(f"{type(owner).__name__} needs a prediction, {arguments}; y_pred=None is an abstention")


cpdef object chosen_scores(object owner, object y_pred, object scores):
    """Return the scores for an owner that reads nothing else, which are passed as `y_pred` or as `scores`."""
    if scores is MISSING and y_pred is MISSING:
        raise no_prediction(owner, True)
    if scores is MISSING or scores is None:
        return None if y_pred is MISSING else y_pred
    if y_pred is not MISSING and y_pred is not None:
        raise ScoreError(argument="scores", subject=f"one of `y_pred` and `scores` for {type(owner).__name__},",
                         expected="which reads scores only", but="got both")
    return scores


cpdef object chosen_labels(object owner, object y_pred, object scores, object classes):
    """Return the prediction for an owner that counts labels, which cannot be passed as `scores`."""
    given = "scores" if scores is not MISSING and scores is not None else "classes" if classes is not None else None
    if given is not None:
        name = type(owner).__name__
        but = f"got some; {name if hasattr(owner, 'scores') else 'MetricSet'}(scores=True) counts them"
        raise ScoreError(argument=given, subject=f"no `{given}` for {name},", expected="which counts labels", but=but)
    if scores is MISSING and y_pred is MISSING:
        raise no_prediction(owner, False)
    return None if y_pred is MISSING else y_pred
