"""Everything this package raises on purpose, and how it says numbers of things.

The three input errors are also ``ValueError``, so a caller can catch bad data without importing this module.
Errors are told apart by their type and fields; the message is made from the fields.
"""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Mapping
from typing import Any, NoReturn, Self

SHORT = reprlib.Repr()
SHORT.maxother = SHORT.maxstring = SHORT.maxlong = 60  # characters
PLAIN = (type(None), bool, int, float, str, bytes)
VOWELS = ("A", "E", "I", "O")
_FRAME = (("to_frame", "`to_frame()`"), ("snapshot", "`snapshot().to_frame()`"))
_READ = (("keys", "a key, such as `s['accuracy']`"), ("get", "`get()` or `snapshot()`"), ("snapshot", "`snapshot()`"))
_BYTES = (("to_bytes", "`to_bytes()`"), ("to_json", "`to_json()`"))
PEER_NAMES = {  # what other libraries call a method: what to use instead, of an object that has the attribute before it
    **dict.fromkeys(("compute", "result"), _READ),
    **dict.fromkeys(("save", "dump", "dumps", "state_dict"), _BYTES),
    **dict.fromkeys(("load", "loads", "load_state_dict"), (("to_bytes", "`stream_metrics.from_bytes(data)`"),)),
    **dict.fromkeys(("to_pandas", "to_dataframe", "to_polars"), _FRAME),
    **dict.fromkeys(("add_batch", "partial_fit", "learn_one"), (("update_many", "`update()` or `update_many()`"),)),
    **dict.fromkeys(("as_dict", "todict"), (("to_dict", "`to_dict()`"),)),
}
SPELLED = ("F", "H", "L", "M", "N", "R", "S", "X")  # letters whose names begin with a vowel: "an MCC"


class StreamMetricsError(Exception):
    """Base of all errors of this package; never raised itself.

    Parameters
    ----------
    message : str, optional
        The whole text, for an error that is not about one argument. Otherwise the text is made from the fields:
        "Expected `argument` at position `position` `expected`, but got `got`".
    argument : str, optional
        The argument that was refused.
    position : int, optional
        The row of a batch, from 0.
    expected : str, optional
        What is allowed, as the rest of a sentence: "to be a finite number".
    got : object, optional
        The value that was refused. It is kept only if it is None, a number, text or bytes, and as text otherwise, so an
        error can be pickled and does not keep data alive.
    subject : str, optional
        What the sentence starts with instead of the argument: "every score".
    but : str, optional
        What the sentence ends with instead of "got" and the value: "it is missing".
    position_last : bool, default False
        Whether the position is at the end of the sentence and not after the subject.
    place : str, optional
        What the rows are counted in, if not in the batch: "partition 3", or a file.

    Attributes
    ----------
    argument, position, expected, got, place : str or None, int or None, str or None, object, str or None
        The fields.
    rule : str
        What was expected: the sentence without position and value.

    Examples
    --------
    >>> import stream_metrics as sm
    >>> try:
    ...     sm.Accuracy().update_many([1, float("nan")], [1, 1])
    ... except sm.StreamMetricsError as error:
    ...     error.argument, error.position
    ('y_true', 1)
    """

    def __init__(
        self,
        message: str | None = None,
        *,
        argument: str | None = None,
        position: int | None = None,
        expected: str | None = None,
        got: object = None,
        subject: str | None = None,
        but: str | None = None,
        position_last: bool = False,
        place: str | None = None,
    ) -> None:
        self.argument, self.expected, self.place = argument, expected, place
        self.position = None if position is None else int(position)
        self.got = got if type(got) in PLAIN else f"{got!r:.60}"
        self._subject = f"`{argument}`" if subject is None else subject
        but = f"got {got!r:.60}" if but is None else but
        self._fields: dict[str, Any] = {"message": message, "argument": argument, "position": position, "place": place}
        self._fields |= {"expected": expected, "got": self.got, "subject": self._subject, "but": but}
        self._fields["position_last"] = position_last
        at = "" if position is None else f" at position {position}"
        if place is not None:
            at += f" in {place}" if position is None else f" of {place}"
        self.rule = (message or "") if expected is None else f"Expected {self._subject} {expected}"
        if expected is None:
            text = (message or "") + at
        elif position_last:
            text = f"Expected {self._subject} {expected}, but {but}{at}"
        else:
            text = f"Expected {self._subject}{at} {expected}, but {but}"
        super().__init__(text)

    def with_position(self, position: int | None, place: str | None = None) -> Self:
        """Return the same error about a row of a batch.

        Parameters
        ----------
        position : int or None
            The row, from 0; None if it is unknown.
        place : str, optional
            What the rows are counted in, if not in the batch.

        Returns
        -------
        Self
            A new error with the other fields of this one.
        """
        return self._with(position=position, place=place)

    def with_subject(self, subject: str) -> Self:
        """Return the same error with another name for the argument.

        Parameters
        ----------
        subject : str
            What the sentence starts with.

        Returns
        -------
        Self
            A new error with the fields of this one.
        """
        return self._with(subject=subject)

    def with_argument(self, argument: str) -> Self:
        """Return the same error about an argument of another name.

        Parameters
        ----------
        argument : str
            What the caller names the argument.

        Returns
        -------
        Self
            A new error with the other fields of this one.
        """
        subject = self._subject.replace(f"`{self.argument}`", f"`{argument}`")
        return self._with(argument=argument, subject=subject)

    def _with(self, **changed: object) -> Self:
        return type(self)(**{**self._fields, **changed})


class LabelError(StreamMetricsError, ValueError):
    """A true or predicted label is none: wrong type, NaN, missing, or outside the fixed set."""


class OptionError(StreamMetricsError, ValueError):
    """An option has a value that a window cannot have, or that does not follow from what a state has counted."""


class ScoreError(StreamMetricsError, ValueError):
    """A score is not a finite number."""


class TimeError(StreamMetricsError, ValueError):
    """A value is not a time, or is outside the supported range."""


class WeightError(StreamMetricsError, ValueError):
    """A weight is negative, not finite, or makes a counter overflow, or more is taken away than was counted."""


class MergeError(StreamMetricsError):
    """Two states with different configurations, or of different kinds, cannot become one."""


def options_differ(
    mine: Mapping[str, object], theirs: Mapping[str, object], reconfigurable: Collection[str] = (), note: str = ""
) -> MergeError:
    """Return the error of a merge of two objects whose options differ; it names each of them with both values.

    Parameters
    ----------
    mine, theirs : mapping from str to object
        The options of both by name.
    reconfigurable : collection of str, default ()
        The options that `reconfigured` can change; the message says so of those that differ.
    note : str, default ""
        What follows from the options, as the end of a sentence.

    Returns
    -------
    MergeError
        The error. Its argument is the first option that differs.
    """
    names = [name for name in mine if repr(mine[name]) != repr(theirs.get(name))] or list(mine)
    values = [f"{_shown(mine[name])} in one and {_shown(theirs[name])} in the other" for name in names]
    subjects = [f"`{name}` " for name in names] if names[1:] else [""]
    but = "got " + ", ".join(f"{name}{value}" for name, value in zip(subjects, values, strict=True))
    but += note
    changes = ", ".join(f"{name}=..." for name in names if name in reconfigurable)
    if changes:
        but += f"; reconfigured({changes}) returns a state with other options where the counts allow it"
    subject = " and ".join(f"`{name}`" for name in names)
    got = theirs[names[0]]
    return MergeError(argument=names[0], subject=subject, expected="to be the same in both", got=got, but=but)


def _shown(option: object) -> str:
    return "nothing" if option is None else SHORT.repr(option)


class DecodeError(StreamMetricsError):
    """Bytes that this package did not write, or that were damaged since."""


class ReportError(StreamMetricsError):
    """A state that a collector did not take, or may not have taken.

    Parameters
    ----------
    message : str
        The whole text.
    status : int, optional
        The HTTP status of the answer.

    Attributes
    ----------
    status : int or None
        The HTTP status of the answer; None if there was no answer.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.status)


class UnknownKeyError(StreamMetricsError, KeyError):
    """There is nothing under a key: a metric, a class, a group or a worker."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would show it in quotes


def no_attribute(self: object, name: str) -> NoReturn:
    """Raise what reading an attribute raises that does not exist; names of other libraries get a hint.

    It is the `__getattr__` of results.

    Parameters
    ----------
    self : object
        The object, or a class.
    name : str
        The name that was read.

    Raises
    ------
    AttributeError
        With the hint in its text.
    """
    owner = self if isinstance(self, type) else type(self)
    if owner is not self and hasattr(owner, name):  # a property that raised by itself
        object.__getattribute__(self, name)
    hints = [text for attribute, text in PEER_NAMES.get(name, ()) if hasattr(owner, attribute)]
    hint = f"; use {hints[0]}" if hints else ""
    raise AttributeError(f"{owner.__name__!r} has no attribute {name!r}{hint}", name=name, obj=self)


def other_kind(mine: str | type, theirs: object, verb: str = "merge") -> MergeError:
    """Return the error of a merge of two objects of different kinds.

    Parameters
    ----------
    mine : str or type
        The kind that was expected.
    theirs : object
        What was given.
    verb : str, default "merge"
        What was to be done with it.

    Returns
    -------
    MergeError
        The error. Its argument is `other`.
    """
    got, but = type(theirs).__name__, f"got {with_article(type(theirs))}"
    return MergeError(argument="other", subject=f"to {verb}", expected=with_article(mine), got=got, but=but)


def unexpected_label(key: str, label: object) -> UnknownKeyError:
    """Return the error of a label beside the key of one value.

    Parameters
    ----------
    key : str
        The key.
    label : object
        The label.

    Returns
    -------
    UnknownKeyError
        The error. Its argument is `label`.
    """
    expected = f"for {key!r}, which is one value"
    return UnknownKeyError(argument="label", subject="no label", expected=expected, got=label)


def quantity(count: int, noun: str, separator: str = "") -> str:
    """Return a number of things in words.

    Parameters
    ----------
    count : int
        How many.
    noun : str
        What one of them is called.
    separator : str, default ""
        What stands between thousands.

    Returns
    -------
    str
        The words: "1 sample", "2 classes".
    """
    plural = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{f'{count:,}'.replace(',', separator)} {noun}{plural}"


def with_article(name: str | type) -> str:
    """Return a name behind "a" or "an", as it is spoken.

    Parameters
    ----------
    name : str or type
        A name, or a class with one.

    Returns
    -------
    str
        The words: "an Accuracy", "an MCC", "a Rolling".
    """
    name = name if isinstance(name, str) else name.__name__
    spelled = name[:1] in SPELLED and (len(name) == 1 or name[1].isupper() or name[1].isdigit())
    return f"{'an' if spelled or name[:1].upper() in VOWELS else 'a'} {name}"
