"""Helpers of several test modules: oracles, streams, workers in processes, pages in a browser.

A test module imports it as `support.NAME`. Files here hold no tests; one that is run as a script says so at its top.
"""
