"""``python -m stream_metrics`` is the command ``stream-metrics``."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    from stream_metrics.cli.main import main  # here, because the processes of `run --jobs` import this module again

    sys.exit(main())
