cdef class Guarded:
    cdef unsigned long holder  # the thread whose section is open, 0 if none is
    cdef int readings          # how deep its sections are nested if they only read, 0 if it writes
    cdef int waiting           # threads that wait
    cdef bint woken            # one of these was woken and has not run yet
    cdef long forks            # forks of the process before the fields above were last written
    cdef void *gate            # what the others wait at; NULL until one has to

    cdef int enter(self) except -1
    cdef int enter_reading(self) except -1
    cdef int enter_merging(self, Guarded other) except -1
    cdef void leave(self) noexcept
    cdef void leave_merging(self, Guarded other) noexcept
    cdef int wait(self) except -1
    cdef int wait_reading(self) except -1
    cdef int renew(self) noexcept
    cdef int sleep(self) except -1
    cdef int refuse(self) except -1
