"""What builds the pages is beside them, in docs/hooks."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "docs" / "hooks"))
os.environ.setdefault("KERAS_BACKEND", "jax" if find_spec("jax") else "torch")  # its own default is TensorFlow
