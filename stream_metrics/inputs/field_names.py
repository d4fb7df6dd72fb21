"""The names of the fields of a record, the same for ``run`` and ``monitor``: defaults, and their other spellings.

A record that lacks a default name may have another spelling of it, such as `truth` for `y_true`. A name that a user
chose has no other spelling.
"""

from __future__ import annotations

from collections.abc import Container

Y_TRUE, Y_PRED, SCORES, WEIGHT, GROUP, TIME, ID = "y_true", "y_pred", "scores", "weight", "group", "time", "id"
OTHER_SPELLINGS = {Y_TRUE: ("truth",), Y_PRED: ("prediction",)}


def spellings(name: str) -> tuple[str, ...]:
    """Return a name and its other spellings, in the order in which a record is searched for them."""
    return name, *OTHER_SPELLINGS.get(name, ())


def field_in(names: Container[str], name: str) -> str:
    """Return the spelling of a name that is among `names`; the name itself if none is."""
    return next((spelling for spelling in spellings(name) if spelling in names), name)
