"""``python -m stream_metrics`` is the command ``stream-metrics``."""

from __future__ import annotations

import sys

from stream_metrics.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
