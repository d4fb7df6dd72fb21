"""What is shown of a monitor, as types, and how it is computed from counts, and as text.

Not here: how views are served (`serve/`), the page that draws them (`page/`), and rules over them (`alerts/`).
"""
