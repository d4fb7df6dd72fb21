"""Adapters to other libraries, one module each, imported by name and never by `import stream_metrics`."""
