"""Agent: decides which categories to accept, learns from outcomes whenever they come, and can say why."""

import os
from collections.abc import Iterable, Mapping

import numpy as np

from profitable.agent.categories import Categories
from profitable.agent.decision import Decision
from profitable.agent.distinct_rewards import EMPTY, DistinctRewards, seen_of
from profitable.agent.draws import ExponentialStream
from profitable.agent.explanation import Standing, explanation
from profitable.agent.observation import Batch, Entry, Rewards, read, reward_array, reward_error
from profitable.common import check
from profitable.common.text_tables import ROWS_SHOWN, html_table, money, number, text_table
from profitable.common.types import FloatArray, IntArray
from profitable.errors import CorrectionError, InputError, ParameterError
from profitable.kernels import agent_table
from profitable.kernels.agent_table import SNAPSHOT, Row
from profitable.kernels.evidence import evidence
from profitable.model.category import Category
from profitable.policy.policies import Policy


class Agent:
    """The agent of the paper's Algorithm 1, for daily use.

    >>> import profitable as pb
    >>> agent = pb.Agent(
    ...     [
    ...         pb.Category("students", pb.Bernoulli(), threshold=0.2),
    ...         pb.Category("shops", pb.Exponential(), threshold=3.0),
    ...     ],
    ...     policy=pb.KLUCB(),
    ... )
    >>> agent.decide().accepted  # round 1 accepts everybody
    ('students', 'shops')
    >>> agent.observe("students", [0] * 40)
    >>> agent.observe("shops", count=10, total=42.0)
    >>> agent.decide().accepted
    ('shops',)
    >>> agent.decide()["students"].next_round
    7525
    """

    def __init__(self, categories: Iterable[Category], *, policy: Policy, seed: int | None = None) -> None:
        self._categories = Categories(policy)
        self._policy = policy
        self._stream = ExponentialStream(seed)
        self._table: FloatArray = np.zeros((len(Row), 0))
        self._snapshot: FloatArray | None = None  # the part of the table that a decision copies
        self._size = 0
        self._round = 0
        self._paused: frozenset[int] = frozenset()
        self._values: list[DistinctRewards] | None = [] if policy.rule.needs_values else None
        if isinstance(categories, Category) or not isinstance(categories, Iterable):
            raise ParameterError("categories", categories, "is no list of categories", "give [Category(...), ...]")
        given = list(categories)
        if not given:
            raise InputError("categories", given, "is empty", "give at least one profitable.Category")
        self.add_category(*given)

    # ------------------------------------------------------------------------------------------ looking

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._policy

    @property
    def round(self) -> int:
        """The number of rounds decided so far."""
        return self._round

    @property
    def names(self) -> tuple[str, ...]:
        """The categories, in the order they were added."""
        return tuple(self._categories.names)

    @property
    def profit(self) -> float:
        """Realised profit over all categories, in money."""
        table = self._table[:, : self._size]
        return float(table[Row.REVENUE].sum() - table[Row.COST].sum())

    @property
    def waiting(self) -> dict[str, int]:
        """Accepted clients whose outcome is still to come, for the categories that have some."""
        row = self._table[Row.WAITING, : self._size]
        return {self._categories.names[k]: int(row[k]) for k in np.flatnonzero(row).tolist()}

    @property
    def memory(self) -> int:
        """Bytes held for what has been observed; with `KLEmpUCB` it grows with the distinct rewards."""
        values = 0 if self._values is None else sum(kept.nbytes for kept in self._values)
        return self._table.nbytes + values

    def category(self, name: str) -> Category:
        """The category as it is now."""
        return self._categories.all[self._categories.position(name)]

    def __len__(self) -> int:
        return self._size

    def __contains__(self, name: object) -> bool:
        return name in self._categories.positions

    def __getitem__(self, name: str) -> Standing:
        return self._standing(self._categories.position(name))

    def _standing(self, k: int) -> Standing:
        numbers = self._table[:, k].tolist()
        clients, total = numbers[Row.CLIENTS], numbers[Row.TOTAL]
        return Standing(
            name=self._categories.names[k],
            threshold=numbers[Row.THRESHOLD],
            clients=int(clients),
            mean=self._categories.view_of(k).statistic.mean_of(total / clients) if clients > 0 else None,
            evidence=numbers[Row.EVIDENCE],
            waiting=int(numbers[Row.WAITING]),
            revenue=numbers[Row.REVENUE],
            cost=numbers[Row.COST],
            paused=k in self._paused,
        )

    # ------------------------------------------------------------------------------------------ deciding

    def decide(self, available: Iterable[str] | None = None) -> Decision:
        """Decide the next round, about all categories or about the `available` ones only."""
        positions = None if available is None else self._categories.select(available)
        if self._round == 0:
            limits: float | FloatArray = np.inf
        elif self._policy.draws:
            limits = self._stream.take(self._size if positions is None else positions.size)
        else:
            limits = self._policy.patience(self._round)
        decision = self._decision(positions, limits)
        self._round += 1
        return decision

    def _decision(self, positions: IntArray | None, limits: float | FloatArray) -> Decision:
        if positions is None:
            if self._snapshot is None:
                self._snapshot = self._table[:SNAPSHOT, : self._size]
            table = self._snapshot.copy()
            values = None if self._values is None else self._values.copy()
        else:
            table = self._table[:SNAPSHOT, positions]
            chosen: list[int] = positions.tolist()
            values = None if self._values is None else [self._values[k] for k in chosen]
        return Decision(self._round + 1, self._categories, table, limits, positions, self._paused, values)

    def explain(self, name: str) -> str:
        """What the agent knows about a category and what it would decide next, in words; the agent does not change."""
        k = self._categories.position(name)
        limit = np.inf if self._round == 0 or self._policy.draws else self._policy.patience(self._round)
        verdict = self._decision(np.array([k]), limit)[name]
        memory = 0 if self._values is None else self._values[k].nbytes
        return explanation(self.category(name), self.policy, self[name], verdict, self._round + 1, memory)

    # ------------------------------------------------------------------------------------------ learning

    def observe(
        self,
        category: str | Mapping[str, Rewards | Batch],
        rewards: Rewards | None = None,
        *,
        count: int | None = None,
        total: float | None = None,
        costs: Rewards | None = None,
    ) -> None:
        """Add outcomes of one category, or of many at once: a mapping from names to rewards or batches.

        Give the rewards, or their `count` and `total`.  Give `costs` if the clients did not cost the category's price.
        If anything is wrong, an error is raised and nothing is added.
        """
        if isinstance(category, str):
            k = self._categories.position(category)
            if rewards is not None and count is None and total is None and costs is None and self._values is None:
                self._absorb(k, rewards)
            else:
                self._enter(k, self._read(k, Batch(rewards=rewards, count=count, total=total, costs=costs)))
            return
        if rewards is not None or count is not None or total is not None or costs is not None:
            raise ParameterError(
                "rewards", rewards, "is given beside a mapping", "put profitable.Batch into the mapping"
            )
        if not isinstance(category, Mapping):
            raise ParameterError("category", category, "is no name", "give a name, or a mapping from names to rewards")
        entries: list[tuple[int, Entry]] = []
        for name, given in category.items():
            k = self._categories.position(name)
            entries.append((k, self._read(k, given if isinstance(given, Batch) else Batch(rewards=given))))
        for k, entry in entries:
            self._enter(k, entry)

    def _absorb(self, k: int, rewards: Rewards) -> None:
        """`_read` and `_enter` in one kernel, for the everyday case: rewards at the category's own price."""
        category = self._categories.all[k]
        values = reward_array(rewards, category)
        bad = agent_table.absorb(self._table, k, self._categories.view_row_of(k), values)
        if bad >= 0:
            raise reward_error(category, values[bad].item(), self._categories.view_of(k).support)

    def _read(self, k: int, batch: Batch) -> Entry:
        categories = self._categories
        return read(batch, categories.all[k], categories.view_of(k), categories.view_row_of(k), self._policy.rule)

    def _enter(self, k: int, entry: Entry) -> None:
        self._add(k, entry, 1.0)
        agent_table.arrive(self._table, k, entry.sums.clients)

    def _add(self, k: int, entry: Entry, sign: float) -> None:
        agent_table.add(self._table, k, self._categories.view_row_of(k), sign, np.array(entry.sums))
        if self._values is not None and entry.values is not None:
            self._values[k] = self._values[k].plus(entry.values, sign)
            self._renew_from_values(k)

    def _renew_from_values(self, k: int) -> None:
        """Compute the evidence of a rule that needs the distinct rewards."""
        assert self._values is not None
        view, numbers = self._categories.view_of(k), self._table[:, k].tolist()
        seen = seen_of(self._policy.rule, view, numbers, self._values[k])
        self._table[Row.EVIDENCE, k] = evidence(self._policy.rule, view.law, seen, numbers[Row.TARGET])

    def expect(self, category: str | Mapping[str, int], clients: int | None = None) -> None:
        """Say how many clients were accepted, so that the agent can show how many outcomes are still to come."""
        if not isinstance(category, str | Mapping):
            raise ParameterError("category", category, "is no name", "give a name, or a mapping from names to numbers")
        numbers = {category: clients} if isinstance(category, str) else category
        told: list[tuple[int, int]] = []
        for name, accepted in numbers.items():
            k = self._categories.position(name)
            try:
                told.append((k, check.whole("clients", accepted, least=0)))
            except ParameterError as error:
                raise error.about(name) from None
        for k, accepted in told:
            self._table[Row.WAITING, k] += accepted

    def correct(
        self,
        name: str,
        *,
        was: Rewards,
        now: Rewards | None = None,
        was_costs: Rewards | None = None,
        now_costs: Rewards | None = None,
    ) -> None:
        """Replace outcomes that were reported wrongly; without `now` they are taken back.

        Without costs, the money is corrected by averages over the category's clients: what one of them cost and, for
        loans, what a repaid one brought.

        >>> import profitable as pb
        >>> agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy=pb.KLUCB())
        >>> agent.observe("a", [1, 1, 0])
        >>> agent.correct("a", was=1, now=0)
        >>> agent["a"].mean
        0.3333333333333333
        """
        k = self._categories.position(name)
        old = self._read(k, Batch(rewards=was, costs=was_costs))
        new = None if now is None else self._read(k, Batch(rewards=now, costs=now_costs))
        self._check_seen(k, name, was, old)
        old = old if was_costs is not None else self._at_average(k, old)
        new = new if new is None or now_costs is not None else self._at_average(k, new)
        self._add(k, old, -1.0)
        if new is not None:
            self._add(k, new, 1.0)

    def _at_average(self, k: int, entry: Entry) -> Entry:
        """The entry at the average terms of the category's clients; a loan's rate may have changed since."""
        numbers = self._table[:, k].tolist()
        category = self._categories.all[k]
        sums = entry.sums._replace(cost=entry.sums.clients * numbers[Row.COST] / numbers[Row.CLIENTS])
        if category.amount is None or not numbers[Row.TOTAL]:
            return entry._replace(sums=sums)
        return entry._replace(sums=sums._replace(revenue=sums.total * numbers[Row.REVENUE] / numbers[Row.TOTAL]))

    def _check_seen(self, k: int, name: str, was: Rewards, old: Entry) -> None:
        """CorrectionError for outcomes that cannot have been observed, as far as the sums show."""
        taken = old.sums
        clients, total = self._table[Row.CLIENTS, k] - taken.clients, self._table[Row.TOTAL, k] - taken.total
        if self._values is not None and old.values is not None:
            possible = bool((self._values[k].plus(old.values, -1.0).counts > 0.0).all())
        elif clients <= 0.0:
            possible = clients == 0.0 and abs(total) <= 1e-9 * abs(taken.total)
        else:
            view = self._categories.view_of(k)
            possible = view.can_sum_to(clients, total, scale=abs(self._table[Row.TOTAL, k]) + abs(taken.total))
        if not possible:
            raise CorrectionError(
                "was",
                was,
                "cannot have been among the outcomes observed",
                "give rewards that were reported",
                name,
            )

    # ------------------------------------------------------------------------------------------ changing

    def add_category(self, *categories: Category) -> None:
        """Add categories: they are accepted until an outcome (or an informative prior) speaks against them."""
        added = self._categories.add(categories)
        start, self._size = self._size, len(self._categories)
        self._snapshot = None
        if self._size > self._table.shape[1]:
            grown = np.zeros((len(Row), max(self._size, 2 * start)))
            grown[:, :start] = self._table[:, :start]
            self._table = grown
        if self._values is not None:
            self._values.extend([EMPTY] * len(added))
        positions = np.arange(start, self._size)
        self._set_terms(positions, added)

    def set_threshold(self, name: str, threshold: float) -> None:
        """Change a threshold because costs changed; past outcomes keep counting, against the new threshold."""
        k = self._categories.position(name)
        self._categories.all[k] = self._categories.all[k].with_threshold(threshold)
        self._set_terms(np.array([k]), [self._categories.all[k]])

    def _set_terms(self, positions: IntArray, categories: list[Category]) -> None:
        known, table = self._categories, self._table
        table[Row.THRESHOLD, positions] = [category.threshold for category in categories]
        table[Row.TARGET, positions] = [
            known.view_of(int(k)).statistic.of_mean(category.threshold)
            for k, category in zip(positions, categories, strict=True)
        ]
        table[Row.WORTH, positions] = [category.worth for category in categories]
        table[Row.PRICE, positions] = [category.price for category in categories]
        self._renew(positions)

    def _renew(self, positions: IntArray) -> None:
        views = np.array(self._categories.view_rows)
        agent_table.renew(self._table, positions, self._categories.which(), views)
        if self._values is not None:
            for k in positions.tolist():
                self._renew_from_values(k)

    def pause(self, name: str) -> None:
        """Do not accept a category until it is resumed; outcomes still count."""
        self._paused |= {self._categories.position(name)}

    def resume(self, name: str) -> None:
        """Let a paused category be accepted again."""
        self._paused -= {self._categories.position(name)}

    # ------------------------------------------------------------------------------------------ keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent to a JSON file, whole or not at all."""
        from profitable.agent.state_file import path_of, save

        save(self, path_of(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Agent":
        """Read an agent back; it goes on exactly as if it had never stopped, Thompson draws included."""
        from profitable.agent.state_file import load, path_of

        return load(path_of(path))

    def __getstate__(self) -> dict[str, object]:
        """The state of a copy or a pickle.  `_snapshot` is left out, because it is a view of this agent's own table."""
        return {**self.__dict__, "_snapshot": None}

    # ------------------------------------------------------------------------------------------ showing

    _HEADERS = ("category", "clients", "mean", "threshold", "evidence", "waiting", "profit", "state")

    def _rows(self) -> list[list[str]]:
        rows: list[list[str]] = []
        for k in range(min(self._size, ROWS_SHOWN)):
            each = self._standing(k)
            numbers = map(number, (each.clients, each.mean, each.threshold, each.evidence, each.waiting))
            rows.append([each.name, *numbers, money(each.profit), "paused" if each.paused else "active"])
        return rows

    def _caption(self) -> str:
        hidden = f" (first {ROWS_SHOWN} shown)" if self._size > ROWS_SHOWN else ""
        size, rounds = number(self._size), number(self._round)
        return f"{self.policy}, {size} categories{hidden}, {rounds} rounds, profit {money(self.profit)}"

    def __str__(self) -> str:
        return f"{self._caption()}\n{text_table(self._HEADERS, self._rows())}"

    def __repr__(self) -> str:
        return f"<Agent {self._caption()}>"

    def _repr_html_(self) -> str:
        return html_table(self._caption(), self._HEADERS, self._rows())
