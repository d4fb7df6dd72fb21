"""What is counted of joined pairs: a total, windows of panes, groups, and the predictions whose label is missing.

Not here: which events make a pair (`join/`), what is shown of counts (`view/`), and old panes (`archive/`).
"""
