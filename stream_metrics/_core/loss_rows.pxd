from stream_metrics._core.loss_terms cimport Sample

cdef object at(object position)
cdef object no_probability(object value, object label, object position)
cdef double number(object value, object label, object position) except? -1.0
cdef dict cleaned(object scores, object position)
cdef int measure_mapping(dict scores, object truth, object position, bint clean, Sample *s) except -1
