"""What snapshots with a report have in common: its text, its HTML, and their data as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

from stream_metrics.catalog.table import ALIASES, CATALOG
from stream_metrics.errors import no_attribute
from stream_metrics.labels.json_names import json_data

if TYPE_CHECKING:
    from stream_metrics.report.document import Element, Medium


class Rendered:
    """A snapshot with `to_dict` and `_document`, what its report says."""

    __slots__ = ()

    if not TYPE_CHECKING:  # for type checkers an unknown attribute is an error

        def __getattr__(self, name: str) -> NoReturn:
            if name in CATALOG or name in ALIASES:
                text = f"{type(self).__name__!r} has no attribute {name!r}; metrics are read by key: [{name!r}]"
                raise AttributeError(text, name=name, obj=self)
            no_attribute(self, name)

    def __eq__(self, other: object) -> bool:
        """Tell whether both have the same counters and show the same of them."""
        if type(other) is not type(self):
            return NotImplemented
        return self is other or self.__reduce__()[1] == other.__reduce__()[1]

    __hash__ = None  # type: ignore[assignment]  # equal by value

    def _document(self, medium: Medium) -> list[Element]:
        """Return the elements of the report."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python types."""
        raise NotImplementedError

    def to_json(self, indent: int | None = None) -> str:
        """Return `to_dict()` as JSON text; nan becomes null.

        Parameters
        ----------
        indent : int, optional
            Spaces by which nested values are indented; one line by default.

        Returns
        -------
        str
            JSON.
        """
        data = self.to_dict()
        try:
            return json.dumps(data, indent=indent, allow_nan=False)
        except ValueError:
            return json.dumps(json_data(data), indent=indent, allow_nan=False)

    def report(self, width: int | None = None) -> str:
        """Return the report as text.

        Parameters
        ----------
        width : int, optional
            Columns, at least 40; the width of the terminal by default.

        Returns
        -------
        str
            The report.
        """
        from stream_metrics.report.document import text

        return text(self._document, width)

    def __str__(self) -> str:
        """Return the text report at the width of the terminal."""
        return self.report()

    def _repr_html_(self) -> str:
        """Return the report as HTML for notebooks."""
        from stream_metrics.report.document import html

        return html(self._document)
