"""How thorough the property tests are: quick, unless HYPOTHESIS_PROFILE=thorough asks for more."""

import os

from hypothesis import settings

settings.register_profile("quick", max_examples=10, deadline=None, derandomize="CI" in os.environ)
settings.register_profile("thorough", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
