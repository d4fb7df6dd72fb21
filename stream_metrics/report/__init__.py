"""A snapshot for people: as text for a terminal, as HTML for a notebook.

layout.py    widths, shortening and numbers in fixed-width text
table.py     the table of every report: columns, marks, intervals, footnotes
content.py   what is worth showing: scores beside baselines, weakest classes, most frequent confusions
document.py  the elements of a report, each written as text and as HTML
sections.py  the report of a snapshot; groups.py, comparison.py and multilabel.py those of others
matrix.py    the confusion matrix, or the most frequent confusions
headlines.py, intervals.py  which metrics come first, and how intervals are written
data.py      snapshots as dictionaries for JSON and as pandas tables
"""
