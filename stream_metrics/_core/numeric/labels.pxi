"""Labels and indices: which class of a table a label is, and under which label a class is reported.

One dict maps a label to its index. In front of it, a small cache finds the last label objects by identity,
because streams repeat the same few objects: a hit costs one comparison, without hash or dict. The cache owns a
reference to each object, so no address can be reused for another label. A second one finds short texts by their bytes,
because decoders make a new object for each sample, which Python would have to hash.

The table that owns an index counts per class in which types a number appeared (bool, int, float) and reverts the
counts with the samples. So the label that is shown depends on the counted samples only, not on their order.
"""

cdef int FIRST_CACHE_BITS = 8  # 256 entries, 4 kB
cdef int MOST_CACHE_BITS = 18  # 4 MB
cdef Py_ssize_t MOST_TEXTS = 65535  # with an index that fits a `short_index_t`
cdef size_t ENTRY_SIZE = sizeof(IdentityCacheEntry) + sizeof(short_index_t) // 2  # with that of texts
cdef IdentityCacheEntry[3] NO_CACHE  # of an index that has cached nothing yet: no objects in two entries, then no texts
cdef tuple NUMERIC_KINDS = (bool, int, float)
cdef object ANY_CLASS = _OPEN
assert LONGEST == _LONGEST


cdef bint is_short(object number) noexcept:
    """Whether an int is short enough for a label."""
    cdef int overflow = 0
    PyLong_AsLongLongAndOverflow(number, &overflow)
    return overflow == 0 or number.bit_length() <= _LARGEST_INT


cdef object numeric_kinds(list labels):
    """Return the numeric kind of each label, and 3 for no label."""
    cdef Py_ssize_t at
    kinds = np.full(len(labels) + 1, 3, np.int64)
    cdef int64_t[::1] kind = kinds
    for at in range(len(labels)):
        kind[at] = numeric_kind(labels[at])
    return kinds


cdef int64_t most_type_count(const int64_t *first, Py_ssize_t stride, Py_ssize_t classes) noexcept:
    """The largest of the type counts of the classes, which lie `stride` bytes apart."""
    cdef Py_ssize_t i, kind
    cdef int64_t most = 0
    cdef const int64_t *counts
    for i in range(classes):
        counts = <const int64_t *> (<const char *> first + i * stride)
        for kind in range(3):
            most = max(most, counts[kind])
    return most


cpdef bint is_number(object truth, object position=None) except -1:
    """Whether a true label is a number; LabelError if it is not a valid label."""
    kind = type(truth)
    if kind is int or kind is float or kind is bool:
        return True
    return kind is not str and kind is not bytes and isinstance(canonical(truth, "y_true", position), (int, float))


cdef bint may_name_others(object scores, dict fixed) except -1:
    """Whether keys of a mapping may name other classes: all are text or, if labels are fixed, one text is no label."""
    cdef PyObject *key
    cdef PyObject *value
    cdef Py_ssize_t at = 0
    if type(scores) is not dict:
        if fixed is None:
            return all([isinstance(other, str) for other in scores])
        return any([isinstance(other, str) and other not in fixed for other in scores])
    while PyDict_Next(<dict> scores, &at, &key, &value):
        if not PyUnicode_Check(<object> key):
            if fixed is None:
                return False
        elif fixed is not None and <object> key not in fixed:
            return True
    return fixed is None


cpdef object by_class(object scores, object truth, object names, object position=None):
    """Return the scores of a mapping by the classes that its keys name, which `names` knows, beside a true label."""
    cdef dict fixed
    if names is ANY_CLASS and type(scores) is dict and not may_be_named(<dict> scores, truth):
        return scores
    fixed = names.fixed
    if (fixed is None and type(truth) is str) or not may_name_others(scores, fixed):
        return scores
    return names.of_mapping(scores, is_number(truth, position), position)


cpdef tuple classes_beside(tuple classes, object truth, object position=None):
    """Return what the classes of a row of scores are beside a true label, where any classes are allowed."""
    if type(truth) is str:
        return classes
    for label in classes:
        if not PyUnicode_Check(label):
            return classes
    return _OPEN.of_all(classes, is_number(truth, position), position)


def rows_by_class(list rows, numeric, names):
    """Return a list of scores of any form, each mapping by the classes that its keys name.

    `numeric` tells for each row, or for all, whether the truth is a number.
    """
    cdef dict fixed = names.fixed
    cdef list named = rows
    cdef Py_ssize_t r
    cdef bint every = numeric is True
    for r in range(len(rows)):
        row = rows[r]
        if type(row) is float or not (type(row) is dict or isinstance(row, Mapping)):
            continue
        if (fixed is not None or every or numeric[r]) and may_name_others(row, fixed):
            if named is rows:
                named = list(rows)
            named[r] = names.of_mapping(row, fixed is not None or every or numeric[r], r)
    return named


cdef inline IdentityCacheEntry *entry_for(LabelIndex labels, object label) noexcept:
    """The entry of an object, or the one to use for it: a free one if there is any."""
    cdef IdentityCacheEntry *second = cache_entry(labels, label)
    cdef IdentityCacheEntry *first = labels.cache + ((second - labels.cache) ^ 1)
    return first if first.label == NULL and second.label != <PyObject *> label else second


cdef class LabelIndex:
    """Labels, open or fixed, and their indices; the table that owns it opens sections where they are needed."""

    def __cinit__(self, labels=None, other=None):
        self.cache, self.texts, self.cache_bits = NO_CACHE, <short_index_t *> (NO_CACHE + 2), 1
        if other is not None and labels is None:
            raise LabelError(f"Expected `other` only together with `labels`, but got {other!r} alone")
        self.fixed_labels = None if labels is None else unique(labels)
        self.other = None if other is None else canonical(other, "other")
        self.clear()

    def __dealloc__(self):
        cache_drop(self)
        PyMem_RawFree(self.ranking)

    cdef int clear(self) except -1:
        """Remove all labels but the fixed ones."""
        cache_drop(self)
        self.index, self.names = {}, []
        self.used, self.fixed, self.vacant, self.lowest = 0, 0, 0, 0
        self.changes += 1
        if self.fixed_labels is not None:
            for label in self.fixed_labels:
                self.add(label)
            self.fixed = len(self.fixed_labels)
        return 0

    cdef int cache_put(self, object label, Py_ssize_t index, int kind) except -1:
        """Cache the index of an object that was given as a label."""
        cdef IdentityCacheEntry *entry
        cdef PyObject *old
        cdef int bits = FIRST_CACHE_BITS if self.cache == NO_CACHE else self.cache_bits
        if not plain(label):
            return 0
        while len(self.names) >> (bits - 3) and bits < MOST_CACHE_BITS:
            bits += 1
        if bits != self.cache_bits:
            cache_resize(self, bits)
        entry = entry_for(self, label)
        old = entry.label
        if old == <PyObject *> label:
            return 0
        Py_INCREF(label)
        entry.label, entry.index, entry.kind = <PyObject *> label, index, kind
        if old == NULL:
            self.cached += 1
        else:
            Py_DECREF(<object> old)
        if index < (MOST_TEXTS if self.fixed_labels is None else min(self.fixed, MOST_TEXTS)):
            cache_text(self, self.names[index], index)
        return 0

    cdef Py_ssize_t find(self, object label) except -2:
        """The index of a canonical label, -1 if it has none."""
        cdef PyObject *index = PyDict_GetItemWithError(self.index, label)
        return -1 if index == NULL else <Py_ssize_t> <object> index

    cdef Py_ssize_t next_index(self) except -1:
        """The index that `add` would give to a new label."""
        if self.vacant == 0:
            return self.used
        while self.names[self.lowest] is not None:
            self.lowest += 1
        return self.lowest

    cdef Py_ssize_t add(self, object label) except -1:
        """Assign an index to a new canonical label; the owner has reserved memory."""
        cdef Py_ssize_t i = self.next_index()
        self.index[label] = i
        if self.vacant:
            self.names[i] = label
            self.vacant -= 1
        else:
            try:
                self.names.append(label)
            except MemoryError:
                del self.index[label]
                raise
            self.used += 1
        self.changes += 1
        return i

    cdef void remove(self, Py_ssize_t i) noexcept:
        """Release the index of a class; needs no memory."""
        cache_clear(self)
        del self.index[self.names[i]]
        self.names[i] = None
        self.vacant += 1
        self.lowest = min(self.lowest, i)
        self.changes += 1

    cdef object admitted(self, object label, str argument, object position):
        """The canonical label to count for `label`: itself, or `other` if it is outside the fixed set.

        A label that is plain, and not refused, is admitted without running Python code. One that was counted before is
        never refused, so what came from bytes can be reverted.
        """
        if type(label) is float and isfinite(<double> label):
            label = <double> label + 0.0  # -0.0 becomes 0.0
        elif not plain(label) or type(label) is float:
            label = canonical(label, argument, position)
        if self.binary and label != 0 and label != 1 and label not in self.index:
            check_binary(label, argument, position)
        if self.fixed_labels is None:
            if type(label) is float and <double> label != floor(<double> label) and label not in self.index:
                check_whole(label, (), argument, position)
            return label
        if self.index.get(label, self.fixed) < self.fixed:
            return label
        if type(label) is float and <double> label != floor(<double> label):
            check_whole(label, (*self.fixed_labels, self.other), argument, position)
        if self.other is not None:
            return self.other  # also for a label equal to it, so that the type does not depend on earlier labels
        raise LabelError(argument=argument, position=position, got=label, but=f"got {label!r}",
                         expected=f"to be one of the fixed labels {list(self.fixed_labels)}")

    cdef object class_names(self):
        """What keys of scores name."""
        if self.names_of_keys is None:
            self.names_of_keys = _OPEN if self.fixed_labels is None else _ClassNames(self.fixed_labels)
        return self.names_of_keys

    cdef object admit_prediction(self, object y_pred, object y_true):
        """The canonical label to count for a prediction: a label or the largest of a mapping; None for an
        abstention. The truth beside it says what keys of text are."""
        if y_pred is None:
            return None
        if plain(y_pred) and (type(y_pred) is not float or y_pred == y_pred):
            return self.admitted(y_pred, "y_pred", None)
        # the first test is fast and usually decides
        soft = type(y_pred) is dict or isinstance(y_pred, Mapping)
        if soft and not y_pred:
            return None
        if not soft and is_missing(y_pred):
            return None
        if soft:
            y_pred = most_likely(by_class(y_pred, y_true, self.class_names()))
        return self.admitted(y_pred, "y_pred", None)

    cdef int copy_from(self, LabelIndex other) except -1:
        """Copy the labels of an index of the same configuration, and their order if it is up to date."""
        self.index, self.names = other.index.copy(), other.names.copy()
        self.used, self.fixed, self.binary = other.used, other.fixed, other.binary
        self.vacant, self.lowest = other.vacant, other.lowest
        self.changes += 1
        if other.sorted_at == other.changes:
            set_ranking(self, other.ranking, other.ranked)
        return 0

    cdef int sort(self) except -1:
        """Update `ranking`; runs Python code if labels are new, so the owner opens a section."""
        cdef const int64_t[::1] indices
        if self.sorted_at == self.changes:
            return 0
        names = [(name, i) for i, name in enumerate(self.names) if name is not None and i >= self.fixed]
        order = ordering([name for name, _ in names])
        indices = np.array(list(range(self.fixed)) + [names[a][1] for a in order] + [0], np.int64)
        return set_ranking(self, &indices[0], self.fixed + len(names))

    cdef object shown(self, Py_ssize_t i, const int64_t *type_counts):
        """The label of class i, a number in the narrowest type in which it was seen."""
        cdef Py_ssize_t kind
        name = self.names[i]
        if i >= self.fixed and numeric_kind(name) < 3:
            for kind in range(3):
                if type_counts[kind] > 0:
                    return NUMERIC_KINDS[kind](name)
            return int(name) if name == int(name) else name
        return name

    cdef list type_counts(self, const int64_t *order, Py_ssize_t classes, const int64_t *first, Py_ssize_t stride):
        """How often each label in this order that is a number and not fixed was seen as bool, int and float: three
        each."""
        cdef Py_ssize_t a, i, kind
        cdef list counts = []
        for a in range(classes):
            i = order[a]
            if i >= self.fixed and numeric_kind(self.names[i]) < 3:
                for kind in range(3):
                    counts.append((<const int64_t *> (<const char *> first + i * stride))[kind])
        return counts


cdef void cache_drop(LabelIndex self) noexcept:
    if self.cache != NO_CACHE:
        release_objects(self)
        PyMem_RawFree(self.cache)
        self.cache, self.texts, self.cache_bits = NO_CACHE, <short_index_t *> (NO_CACHE + 2), 1


cdef void release_objects(LabelIndex self) noexcept:
    """Release the cached objects, whose entries are then not valid."""
    cdef Py_ssize_t a
    if self.cached == 0:
        return
    for a in range(<Py_ssize_t> 1 << self.cache_bits):
        if self.cache[a].label != NULL:
            Py_DECREF(<object> self.cache[a].label)
    self.cached = 0


cdef void cache_clear(LabelIndex self) noexcept:
    if self.cached != 0:
        release_objects(self)
        memset(self.cache, 0, ENTRY_SIZE << self.cache_bits)


cdef int cache_resize(LabelIndex self, int bits) except -1:
    """Move the cached objects into a larger cache of 2^bits entries; texts are cached again when they are used."""
    cdef Py_ssize_t a, objects = 0
    cdef IdentityCacheEntry *old = self.cache
    cdef IdentityCacheEntry *place
    cdef int old_bits = self.cache_bits
    cdef IdentityCacheEntry *cache = <IdentityCacheEntry *> allocate(<size_t> 1 << bits, ENTRY_SIZE)
    self.cache, self.texts, self.cache_bits = cache, <short_index_t *> (cache + (<size_t> 1 << bits)), bits
    if old == NO_CACHE:
        return 0
    for a in range(<Py_ssize_t> 1 << old_bits):
        if old[a].label == NULL:
            continue
        place = entry_for(self, <object> old[a].label)
        if place.label == NULL:
            place[0] = old[a]
            objects += 1
        else:
            Py_DECREF(<object> old[a].label)
    self.cached = objects
    PyMem_RawFree(old)
    return 0


cdef void cache_text(LabelIndex self, object name, Py_ssize_t index) noexcept:
    """Cache the index of a label if it is a short text."""
    cdef Py_ssize_t place
    if not is_short_text(name):
        return
    place = text_place(self, <PyObject *> name)
    if self.texts[place] != 0 and self.texts[place] != index + 1:
        place ^= 1
    self.texts[place] = <short_index_t> (index + 1)


cdef int set_ranking(LabelIndex self, const int64_t *ranking, Py_ssize_t ranked) except -1:
    cdef int64_t *copy = <int64_t *> allocate(max(ranked, 1), sizeof(int64_t))
    if ranked:
        memcpy(copy, ranking, ranked * sizeof(int64_t))
    PyMem_RawFree(self.ranking)
    self.ranking, self.ranked, self.sorted_at = copy, ranked, self.changes
    return 0
