"""Hypothesis tries the same examples in every run; `make soak` tries new and many more."""

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=600)
settings.register_profile("soak", deadline=None, max_examples=6_000)
settings.load_profile("soak" if os.environ.get("PROFITABLE_SOAK") == "1" else "fixed")
