"""What a number, or a row of numbers, may be: one rule for scores, weights and options.

Numbers are those of Python and of NumPy, and arrays and tensors without dimensions, which stand for the item in them.
Other objects with `__float__` or `__index__` (Decimal, Fraction) are numbers too; text, times and complex numbers are
not.
"""


cdef object as_number(object value):
    """An object with `__index__` or `__float__` for a value that is a number, else None."""
    kind = type(value)
    if kind is float or kind is int or kind is bool:
        return value
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        if getattr(getattr(value, "dtype", None), "kind", None) in ("M", "m", "c"):
            return None  # the item of a time is a number for some units
        try:
            value = value.item()
        except (TypeError, ValueError, RuntimeError):
            return None
    elif getattr(value, "shape", ()) != ():
        return None
    if isinstance(value, (str, bytes, bytearray)):
        return None
    return value if hasattr(value, "__index__") or hasattr(value, "__float__") else None


cdef bint read_number(object value, double *x) except -1:
    number = as_number(value)
    if number is None:
        return False
    try:
        x[0] = float(number)
    except OverflowError:
        x[0] = float("inf")
    except (TypeError, ValueError, RuntimeError):
        return False
    return True


def real_number(value):
    """The double that a number stands for; None if the value is no number."""
    cdef double x = 0.0
    return x if to_double(value, &x) else None


def whole(value, argument, least, most):
    """An option that is a whole number, as an int; ValueError for anything else, a truth value included."""
    try:
        number = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise ValueError(f"Expected `{argument}` to be a whole number from {least} to {most}, but got {value!r:.60}")
    return number


cpdef list row_values(object scores):
    """The items of a sequence; None for anything else: text, single values, mappings, and sets, which have no order."""
    if isinstance(scores, (list, tuple)):
        return list(scores)
    if isinstance(scores, (str, bytes, bytearray, Set, Mapping)) or getattr(scores, "shape", None) == ():
        return None
    if hasattr(scores, "tolist") and getattr(getattr(scores, "dtype", None), "kind", "") not in ("m", "M"):
        return list(scores.tolist())  # but of times, of which some units would be numbers
    if hasattr(scores, "__array__") and not isinstance(scores, Iterable):
        return list(np.asarray(scores).tolist())
    return list(scores) if isinstance(scores, Iterable) else None
