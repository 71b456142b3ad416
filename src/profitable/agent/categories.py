"""The categories of an agent, in order, and what its policy sees of each.

Categories are only ever appended to this list.  So a position means the same category
for ever, and a decision can share the list with the agent that made it.  To remove a
category or to change the policy, the agent takes a new list (`without`, `under`);
earlier decisions keep the old one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from profitable.agent.loan_book import check_category, check_policy
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import DuplicateNameError, ParameterError, UnknownCategoryError
from profitable.kernels.coded_view import row
from profitable.kernels.evidence import Rule
from profitable.model.category import Category, Weight, said_before
from profitable.model.families import Family
from profitable.model.lending import Lending
from profitable.model.prior import Prior
from profitable.model.view import View
from profitable.policy.policies import Policy
from profitable.policy.shared_orders import check_no_order, shared_orders

T = TypeVar("T")


class CategoryKind(NamedTuple):
    """Everything that a policy's view of a category depends on.

    A million categories that are alike share one kind.
    """

    family: Family
    bound: float | None
    prior: Prior | None
    weight: Weight | None
    order: str | None = None


class LazyCategory(NamedTuple):
    """A category that was read from a file and that nobody has asked for yet."""

    kind: CategoryKind
    threshold: float
    worth: float
    amount: float | None
    recovery: float

    def named(self, name: str) -> Category:
        """Return the category with these terms."""
        family, bound, prior, weight, order = self.kind
        with said_before():
            return Category(
                name,
                family,
                threshold=self.threshold,
                bound=bound,
                worth=self.worth,
                prior=prior,
                amount=self.amount,
                recovery=self.recovery,
                weight=weight,
                order=order,
            )


class KnownOrder(NamedTuple):
    """An order of an agent whose bands share evidence, from the lowest mean up."""

    name: str
    positions: IntArray  # of its bands, [B]
    names: list[str]


class Categories:
    """Categories by name and position, and one view for each kind."""

    def __init__(self, policy: Policy, lending: Lending | None = None) -> None:
        self.policy = policy
        self.lending = lending
        self.patience = policy.coded_patience
        if lending is not None:
            check_policy(policy)
            if policy.rule.is_posterior:
                self.patience = self.patience._replace(most=lending.most_patience)
        self.terms: FloatArray = np.array(self.patience, dtype=np.float64)
        self.names: list[str] = []
        self.positions: dict[str, int] = {}
        self.kinds: dict[CategoryKind, int] = {}
        self.views: list[View] = []
        self.rules: list[Rule] = []  # the policy's rule, as it is under the law of each view
        self.view_rows: list[FloatArray] = []
        self._entries: list[Category | LazyCategory] = []
        self.kind_numbers: list[int] = []
        self.orders: list[KnownOrder] = []  # whose bands share evidence
        self._which_array: IntArray = np.empty(0, dtype=np.int64)
        self._view_table: FloatArray = np.empty((0, 0))

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, position: int) -> Category:
        entry = self._entries[position]
        if isinstance(entry, LazyCategory):
            entry = self._entries[position] = entry.named(self.names[position])
        return entry

    def add(self, categories: Iterable[Category]) -> list[Category]:
        """Append categories, all or none."""
        added = list(categories)
        names: set[str] = set()
        for category in added:
            if not isinstance(category, Category):
                raise ParameterError(
                    "category", category, "is not a category", "give profitable.Category(...)"
                )
            if category.name in self.positions or category.name in names:
                raise DuplicateNameError(
                    "name",
                    category.name,
                    "belongs to another category",
                    "give every category its own name",
                )
            if self.lending is not None:
                check_category(category)
            names.add(category.name)
        self._check_bands(added)
        self.append(
            [category.name for category in added],
            added,
            [self.add_kind(category) for category in added],
        )
        return added

    def append(
        self, names: Sequence[str], entries: Sequence[Category | LazyCategory], which: Sequence[int]
    ) -> None:
        """Append categories that were checked, apart from their names, before.

        `which` has the numbers of their kinds.
        """
        start = len(self.names)
        self.positions.update(zip(names, range(start, start + len(names)), strict=True))
        self._entries.extend(entries)
        self.kind_numbers.extend(which)
        self.names.extend(names)
        if any(kind.order is not None for kind in self.kinds):
            self.orders = self._orders()
        if len(self.positions) != len(self.names):
            raise DuplicateNameError(
                "name",
                next(name for k, name in enumerate(self.names) if self.positions[name] != k),
                "belongs to two categories",
                "give every category its own name",
            )

    def _check_bands(self, added: list[Category]) -> None:
        """ParameterError if categories to be added cannot be bands of their orders."""
        if all(category.order is None for category in added):
            return
        if self.lending is not None:
            check_no_order(added)
        shared_orders(self.policy, [*self._bands().values(), *added])

    def _bands(self) -> dict[int, Category]:
        """Return the categories that belong to an order, by position."""
        numbers = {number for kind, number in self.kinds.items() if kind.order is not None}
        return {k: self[k] for k, number in enumerate(self.kind_numbers) if number in numbers}

    def bands(self) -> dict[str, IntArray]:
        """Return the positions of the bands of each order, which need not share."""
        found: dict[str, list[int]] = {}
        if any(kind.order is not None for kind in self.kinds):
            for k, category in self._bands().items():
                found.setdefault(str(category.order), []).append(k)
        return {order: np.array(positions, np.int64) for order, positions in found.items()}

    def _orders(self) -> list[KnownOrder]:
        """Return the orders whose bands share evidence under the policy."""
        bands = self._bands()
        positions = np.array([*bands], np.int64)
        return [
            KnownOrder(
                order.name,
                positions[list(order.positions)],
                [self.names[k] for k in positions[list(order.positions)].tolist()],
            )
            for order in shared_orders(self.policy, list(bands.values()))
        ]

    def add_kind(self, example: Category) -> int:
        """Return the number of a category's kind; the category itself is not added."""
        kind = CategoryKind(
            example.family, example.bound, example.prior, example.weight, example.order
        )
        if kind not in self.kinds:
            view = replace(self.policy.view(example), by_money=example.by_money)
            self.kinds[kind] = len(self.views)
            self.views.append(view)
            coded = view.coded(self.policy.rule)
            self.rules.append(coded.rule)
            self.view_rows.append(np.concatenate([row(coded), self.terms]))
        return self.kinds[kind]

    def without(self, position: int) -> "Categories":
        """Return a new list without one of the categories."""
        return self._rebuilt(self.policy, [k for k in range(len(self)) if k != position])

    def under(self, policy: Policy, names: Iterable[str] | None = None) -> "Categories":
        """Return a new list of all or some categories, as another policy sees them."""
        return self._rebuilt(
            policy, range(len(self)) if names is None else [self.position(name) for name in names]
        )

    def _rebuilt(self, policy: Policy, kept: Sequence[int]) -> "Categories":
        new = Categories(policy, self.lending)
        examples = {self.kind_numbers[k]: k for k in reversed(kept)}  # of each kind, the first
        numbers = {old: new.add_kind(self[k]) for old, k in examples.items()}
        new.append(
            [self.names[k] for k in kept],
            [self._entries[k] for k in kept],
            [numbers[self.kind_numbers[k]] for k in kept],
        )
        return new

    def replace(self, position: int, category: Category) -> None:
        """Change the terms of a category; its kind stays."""
        self._entries[position] = category

    def terms_of(self, field: str) -> list[Any]:
        """Return a field of each category, such as the amount of a loan."""
        return [getattr(entry, field) for entry in self._entries]

    def view_of(self, position: int) -> View:
        """Return the view of the category at a position."""
        return self.views[self.kind_numbers[position]]

    def rule_of(self, position: int) -> Rule:
        """Return the policy's rule for a category: its needs may depend on the law."""
        return self.rules[self.kind_numbers[position]]

    def keep_squares(self) -> BoolArray:
        """Whether the sum of the squares is kept for each category, [K]."""
        return np.array([rule.needs_spread for rule in self.rules], dtype=np.bool_)[self.which()]

    def view_row_of(self, position: int) -> FloatArray:
        """Return the view of a category as a row of numbers for the kernels."""
        return self.view_rows[self.kind_numbers[position]]

    def which(self) -> IntArray:
        """Return the number of every category's kind, and of its view, [K]."""
        if self._which_array.size != len(self.kind_numbers):
            self._which_array = np.array(self.kind_numbers, dtype=np.int64)
        return self._which_array

    def view_table(self) -> FloatArray:
        """All views as rows of numbers for the kernels."""
        if len(self._view_table) != len(self.view_rows):
            self._view_table = np.array(self.view_rows)
        return self._view_table

    def by_view(self, positions: IntArray) -> Iterator[tuple[View, BoolArray]]:
        """Each view among some categories, with a mask [M] of those that have it."""
        which = self.which()[positions]
        numbers: list[int] = np.unique(which).tolist()
        for number in numbers:
            yield self.views[number], which == number

    def imaginary(self, positions: IntArray) -> FloatArray:
        """Return the imaginary clients of the priors of some categories, [M]."""
        return np.array([view.prior_clients for view in self.views])[self.which()[positions]]

    def means(
        self, positions: IntArray, clients: FloatArray, totals: FloatArray
    ) -> list[float | None]:
        """Return the mean rewards as the views see them, [M]; None without clients."""
        means = np.full(positions.size, np.nan)
        for view, chosen in self.by_view(positions):
            seen = chosen & (clients > 0.0)
            means[seen] = view.statistic.means_of(totals[seen] / clients[seen])
        return [
            mean if known else None
            for mean, known in zip(means.tolist(), (clients > 0.0).tolist(), strict=True)
        ]

    def position(self, name: str) -> int:
        """Return the position of the category with that name."""
        try:
            return self.positions[name]
        except (KeyError, TypeError):
            raise self.unknown(name) from None

    def by_position(self, given: Mapping[str, T]) -> dict[int, T]:
        """Return a mapping from names as a mapping from positions, in its order."""
        positions = self.positions
        try:
            return {positions[name]: each for name, each in given.items()}
        except KeyError as error:
            raise self.unknown(error.args[0]) from None

    def unknown(self, name: object) -> UnknownCategoryError:
        """Return the error for a name that no category has."""
        known = ", ".join(repr(name) for name in self.names[:5])
        if len(self.names) > 5:
            known = f"{known}, ... ({len(self.names)} in all)"
        return UnknownCategoryError("category", name, "is unknown", f"choose from {known}")

    def select(self, names: Iterable[str]) -> IntArray:
        """Return the positions of several categories, once each, in increasing order.

        The order of `names` does not matter: a set has none, and Thompson's draws must
        not depend on it.
        """
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise ParameterError(
                "available", names, "must be a list of names", "give a list of names"
            )
        positions = sorted(self.position(name) for name in names)
        if len(set(positions)) != len(positions):
            raise DuplicateNameError("available", names, "names a category twice", "name each once")
        return np.array(positions, dtype=np.int64)
