from stream_metrics._core.rank_column cimport Column
from stream_metrics._core.rank_samples cimport RankSamples

cdef int sort_cells(Column *c) except -1

cdef class RankReadings(RankSamples):
    cdef tuple read_column(self, object label, object own, object rest)
    cdef tuple group_numbers(self, Py_ssize_t j, object own, object rest)
    cdef tuple group_totals(self, Py_ssize_t j, object rest_groups, object own_groups)
