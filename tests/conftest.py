"""How thorough the property tests are: a quick profile, and a slow one to be asked for by HYPOTHESIS_PROFILE=thorough."""

import os

from hypothesis import settings

settings.register_profile("quick", max_examples=25, deadline=None, derandomize="CI" in os.environ)
settings.register_profile("thorough", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
