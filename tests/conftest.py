"""Hypothesis tries the same examples in every run; `make soak` tries new and many more."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from profitable.model.families import FAMILIES
from profitable.policy.policies import POLICIES

settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=300)
settings.register_profile("soak", deadline=None, max_examples=6_000)
settings.load_profile("soak" if os.environ.get("PROFITABLE_SOAK") == "1" else "fixed")

LONGEST = ("tests/test_guide.py", "tests/paper/test_command.py", "tests/kernels/test_compile.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that two processes end at about the same time."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


@pytest.fixture
def own_classes() -> Iterator[None]:
    """Policies and families that a test defines are forgotten after it."""
    policies, families = dict(POLICIES), dict(FAMILIES)
    yield
    POLICIES.clear()
    POLICIES.update(policies)
    FAMILIES.clear()
    FAMILIES.update(families)
