"""Agent: decides which categories to accept, learns from outcomes whenever they come, and can say why."""

import os
from collections.abc import Iterable, Mapping

import numpy as np

from profitable import check
from profitable.batch import Batch, Entry, Rewards, read, reward_array, reward_error
from profitable.category import Category
from profitable.decision import Decision
from profitable.errors import CorrectionError, InputError, ParameterError
from profitable.explain import explanation
from profitable.kernels import ledger
from profitable.kernels import rule as rules
from profitable.policies import Policy
from profitable.roster import Roster
from profitable.sample import EMPTY, Sample
from profitable.standing import Standing
from profitable.stream import ExponentialStream
from profitable.tables import ROWS_SHOWN, html_table, money, number, text_table
from profitable.types import FloatArray, IntArray


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
        self._roster = Roster(policy)
        self._policy = policy
        self._stream = ExponentialStream(seed)
        self._table: FloatArray = np.zeros((ledger.ROWS, 0))
        self._view: FloatArray | None = None  # the part of the table that a decision copies
        self._size = 0
        self._round = 0
        self._paused: frozenset[int] = frozenset()
        self._samples: list[Sample] | None = [] if policy.rule == rules.EMPIRICAL else None
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
        return tuple(self._roster.names)

    @property
    def profit(self) -> float:
        """Realised profit over all categories, in money."""
        table = self._table[:, : self._size]
        return float(table[ledger.REVENUE].sum() - table[ledger.COST].sum())

    @property
    def waiting(self) -> dict[str, int]:
        """Accepted clients whose outcome is still to come, for the categories that have some."""
        row = self._table[ledger.WAITING, : self._size]
        return {self._roster.names[k]: int(row[k]) for k in np.flatnonzero(row).tolist()}

    @property
    def memory(self) -> int:
        """Bytes held for what has been observed; with `KLEmpUCB` it grows with the distinct rewards."""
        samples = 0 if self._samples is None else sum(sample.nbytes for sample in self._samples)
        return self._table.nbytes + samples

    def category(self, name: str) -> Category:
        """The category as it is now."""
        return self._roster.categories[self._roster.position(name)]

    def __len__(self) -> int:
        return self._size

    def __contains__(self, name: object) -> bool:
        return name in self._roster.positions

    def __getitem__(self, name: str) -> Standing:
        return self._standing(self._roster.position(name))

    def _standing(self, k: int) -> Standing:
        numbers = self._table[:, k].tolist()
        clients, total = numbers[ledger.CLIENTS], numbers[ledger.TOTAL]
        return Standing(
            name=self._roster.names[k],
            threshold=numbers[ledger.THRESHOLD],
            clients=int(clients),
            mean=self._roster.lens_of(k).mean_of_statistic(total / clients) if clients > 0 else None,
            evidence=numbers[ledger.EVIDENCE],
            waiting=int(numbers[ledger.WAITING]),
            revenue=numbers[ledger.REVENUE],
            cost=numbers[ledger.COST],
            paused=k in self._paused,
        )

    # ------------------------------------------------------------------------------------------ deciding

    def decide(self, available: Iterable[str] | None = None) -> Decision:
        """Decide the next round, about all categories or about the `available` ones only."""
        positions = None if available is None else self._roster.select(available)
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
            if self._view is None:
                self._view = self._table[: ledger.SNAPSHOT, : self._size]
            table = self._view.copy()
            samples = None if self._samples is None else self._samples.copy()
        else:
            table = self._table[: ledger.SNAPSHOT, positions]
            chosen: list[int] = positions.tolist()
            samples = None if self._samples is None else [self._samples[k] for k in chosen]
        return Decision(self._round + 1, self._roster, table, limits, positions, self._paused, samples)

    def explain(self, name: str) -> str:
        """What the agent would say about a category if the next round were decided now; nothing moves."""
        k = self._roster.position(name)
        limit = np.inf if self._round == 0 or self._policy.draws else self._policy.patience(self._round)
        verdict = self._decision(np.array([k]), limit)[name]
        memory = 0 if self._samples is None else self._samples[k].nbytes
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
        """Take in outcomes: of one category, or of many at once as a mapping from names to rewards or batches.

        Give the rewards, or their `count` and `total`; `costs` if the clients cost something else than the price.
        If anything is wrong, nothing at all is taken in.
        """
        if isinstance(category, str):
            k = self._roster.position(category)
            if rewards is not None and count is None and total is None and costs is None and self._samples is None:
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
            k = self._roster.position(name)
            entries.append((k, self._read(k, given if isinstance(given, Batch) else Batch(rewards=given))))
        for k, entry in entries:
            self._enter(k, entry)

    def _absorb(self, k: int, rewards: Rewards) -> None:
        """The everyday case, `_enter` of `_read` in one kernel: rewards at the category's own price."""
        category = self._roster.categories[k]
        values = reward_array(rewards, category)
        bad = ledger.absorb(self._policy.rule, self._table, k, self._roster.lens_row_of(k), values)
        if bad >= 0:
            raise reward_error(category, values[bad].item(), self._roster.lens_of(k).support)

    def _read(self, k: int, batch: Batch) -> Entry:
        roster = self._roster
        return read(batch, roster.categories[k], roster.lens_of(k), roster.lens_row_of(k), self._policy.rule)

    def _enter(self, k: int, entry: Entry) -> None:
        self._add(k, entry, 1.0)
        ledger.arrive(self._table, k, entry.clients)

    def _add(self, k: int, entry: Entry, sign: float) -> None:
        *numbers, sample = entry
        ledger.add(self._policy.rule, self._table, k, self._roster.lens_row_of(k), sign, *numbers)
        if self._samples is not None and sample is not None:
            self._samples[k] = self._samples[k].plus(sample, sign)
            self._renew_empirical(k)

    def _renew_empirical(self, k: int) -> None:
        assert self._samples is not None
        sample = self._samples[k]
        numbers = self._table[:, k].tolist()
        self._table[ledger.EVIDENCE, k] = rules.evidence(
            self._policy.rule,
            *self._roster.lens_of(k).law_numbers,
            numbers[ledger.CLIENTS],
            numbers[ledger.TOTAL],
            0.0,
            sample.values,
            sample.counts,
            numbers[ledger.TARGET],
        )

    def expect(self, category: str | Mapping[str, int], clients: int | None = None) -> None:
        """Say how many clients were accepted, so that the agent can show whose outcomes are still to come."""
        if not isinstance(category, str | Mapping):
            raise ParameterError("category", category, "is no name", "give a name, or a mapping from names to numbers")
        numbers = {category: clients} if isinstance(category, str) else category
        told = [
            (self._roster.position(name), check.whole(f"clients of {name!r}", number, least=0))
            for name, number in numbers.items()
        ]
        for k, accepted in told:
            self._table[ledger.WAITING, k] += accepted

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

        Without costs, money is corrected at what the category's clients cost, and a reward of 1 brought, on average.

        >>> import profitable as pb
        >>> agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy=pb.KLUCB())
        >>> agent.observe("a", [1, 1, 0])
        >>> agent.correct("a", was=1, now=0)
        >>> agent["a"].mean
        0.3333333333333333
        """
        k = self._roster.position(name)
        old = self._read(k, Batch(rewards=was, costs=was_costs))
        new = None if now is None else self._read(k, Batch(rewards=now, costs=now_costs))
        self._check_seen(k, name, was, old)
        old = old if was_costs is not None else self._at_average(k, old)
        new = new if new is None or now_costs is not None else self._at_average(k, new)
        self._add(k, old, -1.0)
        if new is not None:
            self._add(k, new, 1.0)

    def _at_average(self, k: int, entry: Entry) -> Entry:
        """The entry at the terms its clients had on average; a loan's rate may have changed since."""
        numbers = self._table[:, k].tolist()
        category = self._roster.categories[k]
        cost = entry.clients * numbers[ledger.COST] / numbers[ledger.CLIENTS]
        if category.amount is None or not numbers[ledger.TOTAL]:
            return entry._replace(cost=cost)
        return entry._replace(cost=cost, revenue=entry.total * numbers[ledger.REVENUE] / numbers[ledger.TOTAL])

    def _check_seen(self, k: int, name: str, was: Rewards, old: Entry) -> None:
        """Refuse to take back what cannot have been observed, as far as the sums tell."""
        clients, total = self._table[ledger.CLIENTS, k] - old.clients, self._table[ledger.TOTAL, k] - old.total
        if self._samples is not None and old.sample is not None:
            possible = bool((self._samples[k].plus(old.sample, -1.0).counts > 0.0).all())
        elif clients <= 0.0:
            possible = clients == 0.0 and abs(total) <= 1e-9 * abs(old.total)
        else:
            lens = self._roster.lens_of(k)
            possible = lens.can_sum_to(clients, total, scale=abs(self._table[ledger.TOTAL, k]) + abs(old.total))
        if not possible:
            raise CorrectionError(
                f"was of {name!r}",
                was,
                "cannot have been among the outcomes observed",
                "give rewards that were reported",
            )

    # ------------------------------------------------------------------------------------------ changing

    def add_category(self, *categories: Category) -> None:
        """Add categories: they are accepted until an outcome (or an informative prior) speaks against them."""
        added = self._roster.add(categories)
        start, self._size = self._size, len(self._roster)
        self._view = None
        if self._size > self._table.shape[1]:
            grown = np.zeros((ledger.ROWS, max(self._size, 2 * start)))
            grown[:, :start] = self._table[:, :start]
            self._table = grown
        if self._samples is not None:
            self._samples.extend([EMPTY] * len(added))
        positions = np.arange(start, self._size)
        self._set_terms(positions, added)

    def set_threshold(self, name: str, threshold: float) -> None:
        """Costs changed: past outcomes keep counting, against the new threshold."""
        k = self._roster.position(name)
        self._roster.categories[k] = self._roster.categories[k].with_threshold(threshold)
        self._set_terms(np.array([k]), [self._roster.categories[k]])

    def _set_terms(self, positions: IntArray, categories: list[Category]) -> None:
        roster, table = self._roster, self._table
        table[ledger.THRESHOLD, positions] = [category.threshold for category in categories]
        table[ledger.TARGET, positions] = [
            roster.lens_of(int(k)).statistic_of_mean(category.threshold)
            for k, category in zip(positions, categories, strict=True)
        ]
        table[ledger.WORTH, positions] = [category.worth for category in categories]
        table[ledger.PRICE, positions] = [category.price for category in categories]
        self._renew(positions)

    def _renew(self, positions: IntArray) -> None:
        if self._samples is None:
            ledger.renew_many(
                self._policy.rule, self._table, positions, self._roster.which(), np.array(self._roster.lens_rows)
            )
        else:
            for k in positions.tolist():
                self._renew_empirical(k)

    def pause(self, name: str) -> None:
        """Do not accept a category until it is resumed; outcomes still count."""
        self._paused |= {self._roster.position(name)}

    def resume(self, name: str) -> None:
        """Let a paused category be accepted again."""
        self._paused -= {self._roster.position(name)}

    # ------------------------------------------------------------------------------------------ keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent to a JSON file, whole or not at all."""
        from profitable.state import path_of, save

        save(self, path_of(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Agent":
        """Read an agent back; it goes on exactly as if it had never stopped, Thompson draws included."""
        from profitable.state import load, path_of

        return load(path_of(path))

    def __getstate__(self) -> dict[str, object]:
        """What a copy or a pickle takes along: not the view, which would be of the old table."""
        return {**self.__dict__, "_view": None}

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
