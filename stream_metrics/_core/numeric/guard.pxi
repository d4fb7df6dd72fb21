"""The lock that makes an accumulator safe to share between threads.

There are two ways to touch what an object counts:

- a *stretch*: C code that runs no Python and keeps the interpreter's lock, so no other thread can see a part of it. It
  starts with `if self.holder != 0: self.wait()`.
- a *section*, between `enter` or `enter_reading` and `leave`: code that may run Python (also by allocating an
  object that the garbage collector tracks, which may run finalizers), and so may let other threads run. These wait
  until it is closed.

The arguments of a caller are converted to plain labels and numbers before either, because that may run any code. If
several states count one sample together (sets of scores, windows and groups of these, `Fading`), and in batches for
windows and groups, labels may be read in the section; their code must not use the object that reads them.
Sections that only read can be nested. A call that would write in a section of its own thread, or read in one that
writes, comes from a finalizer or a signal handler in the middle of the section: RuntimeError.

The lock of a container is taken before those of the states inside it, and those of two objects in the order of their
addresses, so threads cannot deadlock.
"""

cdef extern from "pythread.h":
    ctypedef enum PyLockStatus:
        PY_LOCK_FAILURE
        PY_LOCK_ACQUIRED
        PY_LOCK_INTR
    unsigned long PyThread_get_thread_ident()
    void *PyThread_allocate_lock()
    void PyThread_free_lock(void *)
    int PyThread_acquire_lock(void *, int)
    PyLockStatus PyThread_acquire_lock_timed(void *, long long, int) nogil
    void PyThread_release_lock(void *)

cdef long forks_so_far = 0
cdef unsigned long survivor = 0  # the thread that called fork, the only one in the child


def _forked():
    """Record, in the child of a fork, that only this thread exists."""
    global forks_so_far, survivor
    forks_so_far += 1
    survivor = PyThread_get_thread_ident()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


cdef class Guarded:
    """An object with a lock of its own."""

    def __dealloc__(self):
        if self.gate != NULL:
            PyThread_free_lock(self.gate)

    cdef int enter(self) except -1:
        """Open a section that writes."""
        wait_for_holder(self)
        self.holder, self.readings = PyThread_get_thread_ident(), 0
        return 0

    cdef int enter_reading(self) except -1:
        """Open a section that only reads, perhaps in another one that does."""
        cdef unsigned long me = PyThread_get_thread_ident()
        if self.forks != forks_so_far:
            renew(self)
        if self.holder == me and self.readings > 0:
            self.readings += 1
            return 0
        wait_for_holder(self)
        self.holder, self.readings = me, 1
        return 0

    cdef void leave(self) noexcept:
        """Close the section that was opened last."""
        if self.readings > 1:
            self.readings -= 1
            return
        self.holder = 0
        wake_next(self)

    cdef int wait(self) except -1:
        """Wait until no section is open, for a stretch that begins as soon as this returns."""
        wait_for_holder(self)
        wake_next(self)  # there will be no `leave` that does
        return 0

    cdef int wait_reading(self) except -1:
        """Wait until no section of another thread is open, for a stretch that only reads."""
        if self.holder != PyThread_get_thread_ident() or self.forks != forks_so_far:
            return self.wait()
        return 0 if self.readings > 0 else refuse_inside(self)

    cdef int enter_merging(self, Guarded other) except -1:
        """Open a section that writes here and reads another object."""
        if self is other:
            return self.enter()
        if <size_t> <void *> self < <size_t> <void *> other:
            self.enter()
            try:
                other.enter_reading()
            except BaseException:
                self.leave()
                raise
        else:
            other.enter_reading()
            try:
                self.enter()
            except BaseException:
                other.leave()
                raise
        return 0

    cdef void leave_merging(self, Guarded other) noexcept:
        self.leave()
        if other is not self:
            other.leave()

    cdef int count_prediction(self, object y_true, object y_pred, object w) except -1:
        """Count one sample of labels or of scores; `update` without keywords, for compiled callers."""
        raise NotImplementedError

    def _writing(self):
        """Return the context of a section that writes."""
        return section(self, None, False)

    def _reading(self):
        """Return the context of a section that only reads."""
        return section(self, None, True)

    def _merging(self, Guarded other not None):
        """Return the context of a section that writes here and reads another object."""
        return section(self, other, False)


cdef int wait_for_holder(Guarded self) except -1:
    """Let other threads run until no section is open."""
    if self.forks != forks_so_far:
        renew(self)
    while self.holder != 0:
        if self.holder == PyThread_get_thread_ident():
            refuse_inside(self)
        sleep_until_woken(self)
    return 0


cdef void wake_next(Guarded self) noexcept:
    """Wake a thread that waits, if there is one and none is being woken."""
    if self.waiting > 0 and not self.woken:
        self.woken = True
        PyThread_release_lock(self.gate)


cdef int sleep_until_woken(Guarded self) except -1:
    """Let other threads run until a section was closed, or a signal came."""
    cdef void *gate
    cdef PyLockStatus status
    if self.gate == NULL:
        self.gate = PyThread_allocate_lock()
        if self.gate == NULL:
            raise MemoryError("no memory for a lock")
        PyThread_acquire_lock(self.gate, 0)
    gate = self.gate
    self.waiting += 1
    with nogil:
        status = PyThread_acquire_lock_timed(gate, -1, 1)
    self.waiting -= 1
    if status == PY_LOCK_ACQUIRED:
        self.woken = False
    elif status == PY_LOCK_INTR:
        PyErr_CheckSignals()
    return 0


cdef int renew(Guarded self) noexcept:
    """After a fork, remove the sections of threads that the child does not have."""
    if self.holder != survivor:
        self.holder = 0
    self.waiting, self.woken = 0, False
    self.gate = NULL  # threads that no longer exist may have left it in any state
    self.forks = forks_so_far
    return 0


cdef int refuse_inside(Guarded self) except -1:
    raise RuntimeError(
        f"Expected no call of a {type(self).__name__} in the middle of another one of the same thread, but got "
        "one: from a finalizer, a signal handler, or a function that was called to read it")


@cython.final
@cython.no_gc  # so that its reference to the object lasts until the section is closed
cdef class Section:
    """A section as the context of a `with` statement; `writing`, `reading` and `merging` make it.

    It also ends with its last reference: where an exception comes in the closing line, `__exit__` is not called.
    """

    cdef Guarded guarded, other
    cdef bint reading, entered

    def __enter__(self):
        if self.guarded is None:
            raise TypeError("Expected a section of an object, but got one of none")
        if self.other is not None:
            self.guarded.enter_merging(self.other)
        elif self.reading:
            self.guarded.enter_reading()
        else:
            self.guarded.enter()
        self.entered = True

    def __exit__(self, *raised):
        self.close()

    def __dealloc__(self):
        self.close()

    cdef void close(self) noexcept:
        if not self.entered:
            return
        self.entered = False
        if self.other is not None:
            self.guarded.leave_merging(self.other)
        else:
            self.guarded.leave()


cdef Section section(Guarded guarded, Guarded other, bint reading):
    cdef Section context = Section.__new__(Section)
    context.guarded, context.other, context.reading = guarded, other, reading
    return context
