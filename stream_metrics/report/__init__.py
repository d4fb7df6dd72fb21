"""A snapshot for people: as text for a terminal, as HTML for a notebook.

layout.py    widths, shortening and numbers in fixed-width text
table.py     the table of every report: columns, marks, intervals, footnotes
content.py   what is worth showing: scores beside baselines, weakest classes, most frequent confusions
sections.py  the tables of that content, for text and HTML alike
text.py      the text report
html.py      the notebook report
"""
