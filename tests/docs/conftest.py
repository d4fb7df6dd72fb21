"""What builds the pages is beside them, in docs/hooks."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "docs" / "hooks"))
