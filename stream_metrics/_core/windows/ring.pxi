"""The last N samples: a ring of references.

A sample takes three references, 24 bytes, which the ring owns. Samples were converted to plain values before
(`inputs.samples`) and cannot refer to the ring, so the cycle collector need not visit them.
"""

cimport cython
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.ref cimport PyObject, Py_DECREF, Py_INCREF


@cython.final
cdef class ExtendedPrediction:
    """A prediction with further arguments of `update`: scores, classes, the group or the unit of the sample."""

    cdef readonly object predicted
    cdef readonly dict more

    def __cinit__(self, predicted, dict more):
        self.predicted, self.more = predicted, more


cdef struct Sample:
    PyObject *truth
    PyObject *predicted
    PyObject *weight

cdef struct Ring:
    Py_ssize_t window, held, capacity, head
    Sample *sample


cdef inline void fill_place(Sample *s, object truth, object predicted, object weight) noexcept:
    """Write a sample into the ring, which owns the references."""
    Py_INCREF(truth)
    Py_INCREF(predicted)
    Py_INCREF(weight)
    s.truth, s.predicted, s.weight = <PyObject *> truth, <PyObject *> predicted, <PyObject *> weight


cdef inline void release(Sample s) noexcept:
    """Release the references of a sample."""
    Py_DECREF(<object> s.truth)
    Py_DECREF(<object> s.predicted)
    Py_DECREF(<object> s.weight)


cdef int ring_reserve(Ring *ring) except -1:
    """Reserve memory for one more sample."""
    cdef Py_ssize_t k, capacity = min(max(<Py_ssize_t> 16, 2 * ring.capacity), ring.window)
    cdef Sample *sample
    if ring.held < ring.capacity or ring.capacity == ring.window:
        return 0
    sample = <Sample *> PyMem_RawCalloc(capacity, sizeof(Sample))
    if sample == NULL:
        raise MemoryError("no memory for the samples of a window")
    for k in range(ring.held):
        sample[k] = ring.sample[(ring.head + k) % ring.capacity]
    PyMem_RawFree(ring.sample)
    ring.sample, ring.capacity, ring.head = sample, capacity, 0
    return 0


cdef int ring_push(Ring *ring, object truth, object predicted, object weight) except -1:
    """Add the newest sample; the ring is not full."""
    cdef Py_ssize_t at
    ring_reserve(ring)
    if ring.held >= ring.capacity:
        raise RuntimeError(f"Expected fewer than {ring.window} samples in the ring, but got {ring.held}")
    at = ring.head + ring.held
    fill_place(ring.sample + (at if at < ring.capacity else at - ring.capacity), truth, predicted, weight)
    ring.held += 1
    return 0


cdef int ring_push_front(Ring *ring, object truth, object predicted, object weight) except -1:
    """Add the oldest sample; the ring is not full."""
    ring_reserve(ring)
    if ring.held >= ring.capacity:
        raise RuntimeError(f"Expected fewer than {ring.window} samples in the ring, but got {ring.held}")
    ring.head = (ring.head if ring.head else ring.capacity) - 1
    fill_place(ring.sample + ring.head, truth, predicted, weight)
    ring.held += 1
    return 0


cdef Sample ring_take_oldest(Ring *ring) noexcept:
    """Remove the oldest sample and return it; the ring is not empty. The caller owns its references: `release`."""
    cdef Sample s = ring.sample[ring.head]
    ring.head = ring.head + 1 if ring.head + 1 < ring.capacity else 0
    ring.held -= 1
    return s


cdef tuple ring_pop(Ring *ring):
    """Remove the oldest sample and return it; the ring is not empty."""
    cdef Sample s = ring.sample[ring.head]
    out = (<object> s.truth, <object> s.predicted, <object> s.weight)
    release(ring_take_oldest(ring))
    return out


cdef void ring_clear(Ring *ring) noexcept:
    while ring.held > 0:
        release(ring_take_oldest(ring))
    ring.head = 0


cdef list ring_listed(Ring *ring):
    cdef Py_ssize_t k
    cdef Sample *s
    out = []
    for k in range(ring.held):
        s = ring.sample + (ring.head + k) % ring.capacity
        out.append((<object> s.truth, <object> s.predicted, <object> s.weight))
    return out
