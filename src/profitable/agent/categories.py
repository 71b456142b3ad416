"""The categories of an agent, in order, and what its policy sees of each.

Categories are added, never removed or reordered.  So a position means the same category for ever, and a decision can
share this list with the agent that made it.
"""

from collections.abc import Iterable

import numpy as np

from profitable.common.types import FloatArray, IntArray
from profitable.errors import DuplicateNameError, ParameterError, UnknownCategoryError
from profitable.kernels.view import row
from profitable.model.category import Category
from profitable.model.view import View
from profitable.policy.policies import Policy


class Categories:
    """Categories by name and position, with one row of numbers for each distinct view."""

    def __init__(self, policy: Policy) -> None:
        if not isinstance(policy, Policy):
            raise ParameterError("policy", policy, "is not a policy", "give for example profitable.ThompsonSampling()")
        self.policy = policy
        self.all: list[Category] = []
        self.names: list[str] = []
        self.positions: dict[str, int] = {}
        self.views: list[View] = []
        self.view_rows: list[FloatArray] = []
        self._which: list[int] = []
        self._which_array: IntArray = np.empty(0, dtype=np.int64)
        self._numbers: dict[View, int] = {}
        self._seen: dict[object, int] = {}

    def __len__(self) -> int:
        return len(self.names)

    def add(self, categories: Iterable[Category]) -> list[Category]:
        """Append categories, all or none."""
        added = list(categories)
        names: set[str] = set()
        which: list[int] = []
        for category in added:
            if not isinstance(category, Category):
                raise ParameterError("category", category, "is not a category", "give profitable.Category(...)")
            if category.name in self.positions or category.name in names:
                raise DuplicateNameError(
                    "name", category.name, "belongs to another category", "give every category its own name"
                )
            names.add(category.name)
            which.append(self._view_number(category))
        for category, number in zip(added, which, strict=True):
            self.positions[category.name] = len(self.names)
            self.names.append(category.name)
            self.all.append(category)
            self._which.append(number)
        return added

    def _view_number(self, category: Category) -> int:
        # A view depends on these alone, so a million categories that are alike share one.
        key = (category.family, category.bound, category.prior)
        if key not in self._seen:
            view = self.policy.view(category)
            if view not in self._numbers:
                self._numbers[view] = len(self.views)
                self.views.append(view)
                self.view_rows.append(row(view.coded(self.policy.rule)))
            self._seen[key] = self._numbers[view]
        return self._seen[key]

    def view_of(self, position: int) -> View:
        """The view of the category at a position."""
        return self.views[self._which[position]]

    def view_row_of(self, position: int) -> FloatArray:
        """The view of the category at a position, as a row of numbers for the kernels."""
        return self.view_rows[self._which[position]]

    def which(self) -> IntArray:
        """The view number of every category, [K]."""
        if self._which_array.size != len(self._which):
            self._which_array = np.array(self._which, dtype=np.int64)
        return self._which_array

    def position(self, name: str) -> int:
        """The position of the category with that name."""
        try:
            return self.positions[name]
        except (KeyError, TypeError):
            raise UnknownCategoryError("category", name, "is unknown", f"choose from {_some(self.names)}") from None

    def select(self, names: Iterable[str]) -> IntArray:
        """The positions of several categories, each at most once, in increasing order.

        The order of `names` does not matter: a set has none, and Thompson's draws must not depend on it.
        """
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise ParameterError("available", names, "is no list of names", "give a list of names")
        positions = sorted(self.position(name) for name in names)
        if len(set(positions)) != len(positions):
            raise DuplicateNameError("available", names, "names a category twice", "name each once")
        return np.array(positions, dtype=np.int64)


def _some(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown}, ... ({len(names)} in all)"
