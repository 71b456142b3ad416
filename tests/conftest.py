"""Shared setup: Hypothesis profiles, signals, and classes that a test registers.

Hypothesis tries the same examples in every run; `make soak` tries new ones, and more.
"""

import atexit
import gc
import os
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

from profitable.model.families import FAMILIES
from profitable.policy.policies import POLICIES
from tests.waiting import heed_ctrl_c

heed_ctrl_c()
settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=300)
settings.register_profile("soak", deadline=None, max_examples=6_000)
settings.load_profile("soak" if os.environ.get("PROFITABLE_SOAK") == "1" else "fixed")

LONGEST = (
    *("same_law", "pool_cluster", "paper/test_command", "test_guide", "past/test_cells"),
    *("test_site", "test_costs", "test_extras", "test_package"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that all processes end together."""
    items.sort(key=lambda item: not any(name in item.nodeid for name in LONGEST))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Never look for garbage among tests and modules, which stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        atexit.register(gc.unfreeze)  # then Python takes everything apart
        gc.enable()


@pytest.fixture
def own_classes() -> Iterator[None]:
    """Policies and families that a test defines are forgotten after it."""
    policies, families = dict(POLICIES), dict(FAMILIES)
    yield
    POLICIES.clear()
    POLICIES.update(policies)
    FAMILIES.clear()
    FAMILIES.update(families)
