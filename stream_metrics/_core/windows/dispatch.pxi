"""What containers read of a sample (its time, its cost), and how it is delivered to the state of its pane or group.

Finding the state must not cost more than counting, so it is compiled, and a state of labels is updated without a call
in between. Rare events (a new pane, groups that are folded, panes that expire) are handled in Python by the derived
class. A new state is stored only after it has counted its sample, so a refused sample has no effect.

A sample of plain labels for the current state is counted in a stretch of `Guarded`; everything else is a section. So no
two threads create a state for the same pane or group, and none counts in a discarded state.
"""

from cpython.datetime cimport (
    datetime_day, datetime_hour, datetime_microsecond, datetime_minute, datetime_month, datetime_second,
    datetime_tzinfo, datetime_year, import_datetime)
from cpython.dict cimport PyDict_GetItemWithError
from libc.math cimport fabs, floor, rint

from datetime import UTC, datetime
from bisect import bisect_right

from stream_metrics._core.confusion.kernels cimport ConfusionCounters, UpdateBase, SetUpdateBase
from stream_metrics._core.numeric.kernels cimport (
    MOST_SAMPLES, Guarded, check_samples, chosen_labels, not_counted, numeric_kind, plain, plain_weight, split,
)
from stream_metrics.errors import WeightError
from stream_metrics.labels.label import canonical

import_datetime()

cdef object DATETIME = datetime, UTC_ZONE = UTC
cdef int64_t NEVER = 0x7FFFFFFFFFFFFFFF
cdef int64_t PLAUSIBLE = 400000000  # seconds, 13 years: a weight this near to the time of the clock is a time
cdef double BOUND = 4611686018.0  # seconds: 2^62 ns, the years 1823 to 2116


cdef ConfusionCounters counters_of(object state):
    """Return the counters of a state whose `update` and `revert` only call these, else None."""
    cdef ConfusionCounters counts = None
    kind = type(state)
    if isinstance(state, ConfusionCounters):
        base, counts = ConfusionCounters, state
    elif isinstance(state, SetUpdateBase):
        base, counts = SetUpdateBase, (<SetUpdateBase> state).counts if (<SetUpdateBase> state).scored is None else None
    elif isinstance(state, UpdateBase):
        base, counts = UpdateBase, (<UpdateBase> state).counts
    if counts is None or kind.update is not base.update or kind.revert is not base.revert:
        return None
    return counts if rule_of(state) is None else None


cdef inline object rule_of(object state):
    """Return which samples a state leaves out; None if it leaves out none."""
    return (<UpdateBase> state)._sample_rule if isinstance(state, UpdateBase) else getattr(state, "_sample_rule", None)


cdef inline int64_t since_1970(object moment):
    """Nanoseconds of a datetime in UTC or without a zone; days are counted from the first of March (Hinnant 2013)."""
    cdef int64_t month = datetime_month(moment), year = datetime_year(moment) - (month <= 2), era = year // 400
    cdef int64_t of_era = year - era * 400
    cdef int64_t of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + datetime_day(moment) - 1
    cdef int64_t days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
    cdef int64_t hours = days * 24 + datetime_hour(moment)
    cdef int64_t seconds = hours * 3600 + datetime_minute(moment) * 60 + datetime_second(moment)
    return (seconds * 1000000 + datetime_microsecond(moment)) * 1000


cdef inline bint read_time(object moment, int64_t *now) except -1:
    """Read a time in nanoseconds since 1970; return False for what must be read the long way."""
    cdef double second
    if type(moment) is float and fabs(<double> moment) < BOUND:
        second = floor(<double> moment)  # apart, because the product would be rounded to a multiple of 256
        now[0] = <int64_t> second * 1000000000 + <int64_t> rint((<double> moment - second) * 1e9)
        return True
    if type(moment) is DATETIME and 1830 < datetime_year(moment) < 2110:
        now[0] = since_1970(moment)
        zone = datetime_tzinfo(moment)
        return zone is None or zone is UTC_ZONE
    return False


cdef dict given_options(object t, object group, object scores, object classes, object unit):
    """Return the optional arguments that were given."""
    given = (("t", t), ("group", group), ("scores", scores), ("classes", classes), ("unit", unit))
    return {name: value for name, value in given if value is not None and value is not MISSING}


cdef inline int deliver(object state, ConfusionCounters counts, object y_true, object y_pred, object w, object t,
                        object group, object scores, object classes, object unit) except -1:
    """Count a sample in a state."""
    if t is None and group is None and scores is MISSING and classes is None and unit is None:
        if counts is not None:
            counts.count(y_true, y_pred, w)
        else:
            state.update(y_true, y_pred, w)
    else:
        state.update(y_true, y_pred, w, **given_options(t, group, scores, classes, unit))
    return 0


cdef tuple plain_sample(object inner, object y_true, object y_pred, object w):
    """Return a sample as plain values that counters like those of `inner` count alike."""
    cdef ConfusionCounters counts = (<UpdateBase> inner).counts if isinstance(inner, UpdateBase) else inner
    y_pred = chosen_labels(inner, y_pred, MISSING, None)
    weight = plain_weight(w)
    truth = counts.label_index.admitted(y_true, "y_true", None)
    return truth, counts.label_index.admit_prediction(y_pred, y_true), weight


cdef int64_t cost_of_weight(object w) except -1:
    cdef int64_t whole = 1
    cdef uint64_t part = 0
    split(w, &whole, &part)
    return max(whole + (part != 0), 3)


cdef inline int64_t cost(object w) except -1:
    """Return an upper bound of the share of `_capacity` that a sample uses: its weight, or 3 appearances."""
    return 3 if w is UNIT_WEIGHT else cost_of_weight(w)


cdef inline int64_t floor_div(int64_t a, int64_t b) noexcept nogil:
    """a / b rounded down; b is positive."""
    return a // b - (a % b < 0)
