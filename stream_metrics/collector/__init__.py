"""States of many workers, posted over HTTP, become one that is stored and shown: the collector, and the worker's side.

Not here: what an aggregate is (`containers/`), and how a view is served (`monitor/serve/`).
"""
