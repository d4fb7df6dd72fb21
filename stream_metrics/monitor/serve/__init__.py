"""A site for a monitor: its page, views as JSON and events, Prometheus, what programs post; and dashboards for Grafana.

Not here: what a view says (`view/`), and the files of the page (`page/`).
"""
