"""A site for a monitor: its page, views as JSON and events, Prometheus, and what programs post.

Not here: what a view says (`view/`), and the files of the page (`page/`).
"""
