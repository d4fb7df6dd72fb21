"""The commit point: an operation on several objects is prepared for all of them, and then applied to all of them.

What may fail (reading arguments, checking limits, memory) is in `Step.prepare`. What then changes the counts,
`Step.apply`, calls no Python, allocates nothing and cannot fail, and `commit` applies all steps in one call. So neither
an exception nor a signal comes between two objects of an operation, or between two counters of an object.
"""

cdef extern from *:
    """
    #include <string.h>

    static PyTypeObject *sm_compiled_type(PyObject *object)
    {
        PyTypeObject *type = Py_TYPE(object);
        while (type->tp_flags & Py_TPFLAGS_HEAPTYPE) type = type->tp_base;
        return type;
    }

    /* Exchange the fields of two objects of one compiled class, from `start` on. References move with the fields. */
    static void sm_exchange(PyObject *a, PyObject *b, size_t start)
    {
        char *x = (char *) a, *y = (char *) b, byte[64];
        size_t end = (size_t) sm_compiled_type(a)->tp_basicsize, size;
        for (; start < end; start += size) {
            size = end - start < sizeof byte ? end - start : sizeof byte;
            memcpy(byte, x + start, size);
            memcpy(x + start, y + start, size);
            memcpy(y + start, byte, size);
        }
    }
    """
    PyObject *compiled_type "(PyObject *) sm_compiled_type"(object) noexcept
    void exchange_fields "sm_exchange"(PyObject *a, PyObject *b, size_t start) noexcept


cdef class Step:
    """A change of one object."""

    cdef int prepare(self) except -1:
        """Do what may fail; nothing that is counted changes."""
        return 0

    cdef void apply(self) noexcept:
        """Change what is counted."""

    cdef void abandon(self) noexcept:
        """Remove what `prepare` has left, which need not have come to its end; `apply` is not called."""


@cython.final
cdef class Swap(Step):
    """Exchange everything that two objects of one compiled class hold, but not their locks and Python attributes.

    `target` is to become what `twin` is.
    """

    cdef Guarded twin

    def __init__(self, Guarded target not None, Guarded twin not None, bint inside=False):
        if compiled_type(target) != compiled_type(twin):
            raise TypeError(f"Expected two of one class, but got {type(target).__name__} and {type(twin).__name__}")
        self.target, self.twin, self.inside = target, twin, inside

    cdef void apply(self) noexcept:
        exchange(self.target, self.twin)


cdef void exchange(Guarded target, Guarded twin) noexcept:
    """Exchange everything but the locks of two objects of one compiled class."""
    exchange_fields(<PyObject *> target, <PyObject *> twin, <size_t> (<PyTypeObject *> Guarded).tp_basicsize)


cdef struct Held:
    PyObject *guarded
    bint written


cdef int commit_steps(list steps) except -1:
    """Lock what the steps write and read, prepare all of them, and apply all of them."""
    cdef Py_ssize_t n = 0, locked = 0, prepared = 0, at
    cdef Step step
    cdef Held *order = <Held *> allocate(2 * len(steps) + 1, sizeof(Held))
    try:
        for step in steps:
            if not step.inside:
                n = insert_lock(order, n, step.target, True)
                n = insert_lock(order, n, step.source, False)
        while locked < n:
            if order[locked].written:
                (<Guarded> order[locked].guarded).enter()
            else:
                (<Guarded> order[locked].guarded).enter_reading()
            locked += 1
        for step in steps:
            prepared += 1
            step.prepare()
        for step in steps:
            step.apply()
    except BaseException:
        for at in range(prepared):
            (<Step> steps[at]).abandon()
        raise
    finally:
        for at in range(locked):
            (<Guarded> order[at].guarded).leave()
        PyMem_RawFree(order)
    return 0


cdef Py_ssize_t insert_lock(Held *order, Py_ssize_t n, Guarded guarded, bint written) noexcept:
    """Insert an object in the order of addresses, unless it is there or None; return how many there are."""
    cdef Py_ssize_t at = n
    if guarded is None:
        return n
    while at > 0 and <size_t> order[at - 1].guarded > <size_t> <PyObject *> guarded:
        at -= 1
    if at > 0 and order[at - 1].guarded == <PyObject *> guarded:
        order[at - 1].written |= written
        return n
    memmove(order + at + 1, order + at, (n - at) * sizeof(Held))
    order[at].guarded, order[at].written = <PyObject *> guarded, written
    return n + 1


def commit(list steps not None):
    """Do all steps, or none if one of them fails."""
    commit_steps(steps)
