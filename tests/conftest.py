"""Property tests try the same inputs in every run; `pytest --hypothesis-profile=random` tries others, and more."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True)
settings.register_profile("random", max_examples=1000, deadline=None)
settings.load_profile("repeatable")
