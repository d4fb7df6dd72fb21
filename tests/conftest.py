"""How thorough the property tests are: quick, unless HYPOTHESIS_PROFILE=thorough asks for more.

The quick profile draws the same examples in every run, so that a result depends on the code alone. The thorough one,
which runs every night, draws new ones; what it finds becomes an `@example` or a test.
"""

import os

from hypothesis import settings

settings.register_profile("quick", max_examples=10, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
