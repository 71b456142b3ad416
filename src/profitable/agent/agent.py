"""Agent: decides which categories to accept, learns from outcomes whenever they come, and can say why."""

import copy
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from profitable.agent.categories import Categories
from profitable.agent.cohorts import LateTerms
from profitable.agent.decision import Decision
from profitable.agent.draws import NO_DRAWS, ExponentialStream
from profitable.agent.explanation import Cells, Facts, Standing, columns_of, explanation, standing_of, table_of
from profitable.agent.ledger import Ledger
from profitable.agent.limit import read_limit
from profitable.agent.observation import Batch, Rewards
from profitable.agent.one_at_a_time import alone, lock_of
from profitable.agent.transfer import transfer
from profitable.common.frames import frame_of
from profitable.common.text_tables import ROWS_SHOWN, html_table, money, number, text_table
from profitable.common.types import FloatArray, IntArray
from profitable.errors import InputError, ParameterError, ProfitableWarning
from profitable.kernels.agent_table import Row
from profitable.kernels.patience import LAST_ROUND
from profitable.model.category import Category
from profitable.policy.policies import Plus, Policy

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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

    _told = False  # whether it has warned of batches that are too large for its policy

    def __init__(self, categories: Iterable[Category], *, policy: Policy | str, seed: int | None = None) -> None:
        if isinstance(categories, Category) or not isinstance(categories, Iterable):
            raise ParameterError("categories", categories, "is no list of categories", "give [Category(...), ...]")
        given = list(categories)
        if not given:
            raise InputError("categories", given, "is empty", "give at least one profitable.Category")
        ledger = Ledger(Categories(Policy.of(policy)))
        ledger.add(given)
        self._begin(ledger, ExponentialStream(seed))

    def _begin(self, ledger: Ledger, stream: ExponentialStream) -> None:
        self._ledger = ledger
        self._stream = stream
        self._lock = lock_of(self)

    # ------------------------------------------------------------------------------------------ looking

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._ledger.categories.policy

    @property
    def round(self) -> int:
        """The number of rounds decided so far."""
        return self._ledger.round

    @property
    def names(self) -> tuple[str, ...]:
        """The categories, in the order they were added."""
        return tuple(self._ledger.categories.names)

    @property
    @alone
    def profit(self) -> float:
        """Realised profit over all categories, in money."""
        table = self._ledger.table
        return float(table[Row.REVENUE].sum() - table[Row.COST].sum())

    @property
    @alone
    def waiting(self) -> dict[str, int]:
        """Accepted clients whose outcome is still to come, for the categories that have some."""
        ledger, row = self._ledger, self._ledger.table[Row.WAITING]
        return {ledger.categories.names[k]: int(row[k]) for k in np.flatnonzero(row).tolist()}

    @property
    def memory(self) -> int:
        """Bytes held for what has been observed; with `KLEmpUCB` it grows with the distinct rewards."""
        ledger = self._ledger
        values = 0 if ledger.values is None else sum(kept.nbytes for kept in ledger.values)
        return ledger.table.nbytes + values

    def category(self, name: str) -> Category:
        """The category as it is now."""
        categories = self._ledger.categories
        return categories[categories.position(name)]

    def __len__(self) -> int:
        return len(self._ledger)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._ledger.categories.positions

    @alone
    def __getitem__(self, name: str) -> Standing:
        return standing_of(self._ledger, self._ledger.categories.position(name))

    @alone
    def to_frame(self, backend: str | None = None) -> Any:
        """What the agent knows, as a dataframe with one row for each category.

        `backend` is "pandas", "polars" or "pyarrow".  Unless it is given, the one that is imported already is taken, or
        else one that is installed.
        """
        return frame_of(columns_of(self._ledger, np.arange(len(self))), backend)

    # ------------------------------------------------------------------------------------------ deciding

    def decide(
        self,
        available: Iterable[str] | None = None,
        *,
        budget: float | None = None,
        places: int | None = None,
        demand: Mapping[str, int] | None = None,
        explore: float | None = None,
    ) -> Decision:
        """Decide the next round, about all categories or about the `available` ones only.

        If money or places are scarce, give the `budget` or the number of `places`, and the `demand`: how many clients
        of each category ask.  What there is goes to the accepted categories in the order of what a unit of it is
        expected to earn.  The share `explore`, 0.1 unless given, is for those that are accepted to learn about them.

        >>> import profitable as pb
        >>> agent = pb.Agent([pb.Category(name, pb.Poisson(), threshold=2.0) for name in "ab"], policy="kl-ucb")
        >>> agent.observe({"a": [2, 4, 3], "b": [5, 6, 4]})
        >>> agent.decide(places=8, demand={"a": 5, "b": 6}).granted
        {'a': 2, 'b': 6}
        """
        with self._lock:
            ledger = self._ledger
            positions = None if available is None else ledger.categories.select(available)
            is_free = budget is None and places is None and demand is None and explore is None
            limit = None if is_free else read_limit(ledger.categories, positions, budget, places, demand, explore)
            decision = self._drawn(positions)
            if limit is not None:
                ledger.revoke(decision.share_out(limit, ledger.table[[Row.WORTH, Row.PRICE, Row.ROUNDS]]))
            ledger.advance()
            if not self._told and isinstance(ledger.categories.policy, Plus) and (crowded := decision.crowded()):
                self._told = True
                warnings.warn(crowded, ProfitableWarning, stacklevel=2)
            return decision

    def _drawn(self, positions: IntArray | None) -> Decision:
        """The policy's decision about the next round, with its draws; the round has not passed yet."""
        ledger, policy, decided = self._ledger, self._ledger.categories.policy, self._ledger.round
        if decided >= LAST_ROUND:
            raise InputError("round", decided, "is the last that can be counted", "start a new agent")
        times = int(decided > 0 and policy.draws) + int(policy.floor > 0.0)
        size = len(ledger) if positions is None else positions.size
        draws = self._stream.take(times * size) if times else NO_DRAWS
        return self._decision(ledger.decide(draws, positions), positions)

    def _decision(self, table: FloatArray, positions: IntArray | None) -> Decision:
        ledger, values = self._ledger, None
        if ledger.values is not None:
            values = [ledger.values[k] for k in (range(len(ledger)) if positions is None else positions.tolist())]
        window = None if ledger.window is None else ledger.window.snapshot()
        cohorts = ledger.cohorts.snapshot()
        return Decision(ledger.round + 1, ledger.categories, table, positions, values, window, cohorts)

    def _preview(self, positions: IntArray | None = None) -> Decision:
        """The next round's decision as far as it is known: a policy that draws has not drawn yet."""
        return self._decision(self._ledger.preview(positions), positions)

    @alone
    def explain(self, name: str) -> str:
        """What the agent knows about a category and what it would decide next, in words; the agent does not change."""
        ledger = self._ledger
        k = ledger.categories.position(name)
        preview = self._preview(np.array([k]))
        verdict, patient = preview[name], preview.patient_again(name)
        memory = 0 if ledger.values is None else ledger.values[k].nbytes
        kept = ledger.cohorts.tally(k, self.round).kept
        facts = Facts(patient, self.round + 1, memory, ledger.per_round(k), ledger.spread_of(k), kept)
        return explanation(self.category(name), self.policy, self[name], verdict, facts)

    @alone
    def plot(self, path: str | os.PathLike[str] | None = None) -> "Figure":
        """Draw evidence against patience, and what is known of each mean against its threshold.

        With a path, the picture is also written there (PNG, SVG or PDF, by its ending).
        """
        from profitable.agent.plots import draw

        return draw(self._preview(), path)

    # ------------------------------------------------------------------------------------------ learning

    def observe(
        self,
        category: str | Mapping[str, Rewards | Batch],
        rewards: Rewards | None = None,
        *,
        count: int | None = None,
        total: float | None = None,
        squares: float | None = None,
        costs: Rewards | None = None,
        amounts: Rewards | None = None,
        accepted_in: int | None = None,
    ) -> None:
        """Add outcomes of one category, or of many at once: a mapping from names to rewards or batches.

        Give the rewards, or their `count` and `total`, and `squares` (the sum of the squared rewards) where the policy
        looks at the spread.  Give `costs` if the clients did not cost the category's price:
        a list with one cost for each client or, except for loans, one number: what they cost together.
        `amounts` are what was lent to each client, for categories of `Category.returns`; 1 unless given.
        Give `accepted_in`, the round in which they were accepted, if `expect` opened a cohort that matures.
        If anything is wrong, an error is raised and nothing is added.
        """
        with self._lock:
            ledger = self._ledger
            plain = count is None and total is None and squares is None and costs is None
            plain = plain and amounts is None and accepted_in is None
            if isinstance(category, str):
                k = ledger.categories.position(category)
                if plain and rewards is not None and ledger.values is None and ledger.window is None:
                    ledger.absorb(k, rewards)
                else:
                    sums = Batch(rewards=rewards, count=count, total=total, squares=squares)
                    ledger.observe(k, replace(sums, costs=costs, amounts=amounts, accepted_in=accepted_in))
                return
            if rewards is not None or not plain:
                raise ParameterError(
                    "rewards", rewards, "is given beside a mapping", "put profitable.Batch into the mapping"
                )
            if not isinstance(category, Mapping):
                raise ParameterError(
                    "category", category, "is no name", "give a name, or a mapping from names to rewards"
                )
            ledger.observe_all(category)

    @alone
    def expect(
        self,
        category: str | Mapping[str, int],
        clients: int | None = None,
        *,
        accepted_in: int | None = None,
        matures: int | None = None,
        emerges: str | Sequence[float] | None = None,
        promised: float | None = None,
    ) -> None:
        """Say how many clients were accepted, so that the agent can show how many outcomes are still to come.

        With `matures`, they are a cohort whose outcomes are all known that many rounds after `accepted_in` (the latest
        round unless given).  `emerges` says how its clients count until then:

        - "at maturity" (the default): what is known is kept, and counts from then on.
        - "evenly": a client of age a counts as a/matures observations of the `promised` reward (the family's largest
          unless given), and what is lost is subtracted once it is known.
        - a list of shares by age, as [0.1, 0.4, 1.0]: the same with a curve of your own.

        >>> import profitable as pb
        >>> agent = pb.Agent([pb.Category.loan("cars", amount=1_000, rate=0.12)], policy="kl-ucb")
        >>> agent.expect("cars", 40, matures=4, emerges="evenly")
        >>> agent.observe("cars", [0], accepted_in=0)
        >>> agent.decide().accepted, agent["cars"].counted, agent["cars"].mean
        (('cars',), 10.0, 0.9)
        """
        if not isinstance(category, str | Mapping):
            raise ParameterError("category", category, "is no name", "give a name, or a mapping from names to numbers")
        if isinstance(category, Mapping) and clients is not None:
            raise ParameterError("clients", clients, "is given beside a mapping", "put the numbers into the mapping")
        told = {category: clients} if isinstance(category, str) else category
        self._ledger.expect(told, LateTerms(accepted_in, matures, emerges, promised))

    @alone
    def correct(
        self,
        name: str,
        *,
        was: Rewards,
        now: Rewards | None = None,
        was_costs: Rewards | None = None,
        now_costs: Rewards | None = None,
        was_amounts: Rewards | None = None,
        now_amounts: Rewards | None = None,
        counted_in: int | None = None,
        accepted_in: int | None = None,
    ) -> None:
        """Replace outcomes that were reported wrongly; without `now` they are taken back.

        If the policy forgets, say since when they count: `counted_in` is `agent.round` at the time they were reported.
        Give `accepted_in` if they were reported with it and their cohort has outcomes to come.  After `set_policy`,
        what an earlier policy had forgotten of them cannot be said here; a `Portfolio` knows it.

        Without costs, the money is corrected by averages over the category's clients: what one of them cost and, for
        loans, what a repaid one brought.  Outcomes with amounts need `was_amounts`; `now_amounts` are the same unless
        given.  Nothing can be taken back that was not booked.

        >>> import profitable as pb
        >>> agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy=pb.KLUCB())
        >>> agent.observe("a", [1, 1, 0])
        >>> agent.correct("a", was=1, now=0)
        >>> agent["a"].mean
        0.3333333333333333
        """
        k = self._ledger.categories.position(name)
        for field, value in (("now_costs", now_costs), ("now_amounts", now_amounts)):
            if now is None and value is not None:
                raise ParameterError(field, value, "is given without now", "give now=, too", name)
        replacement = None if now is None else Batch(rewards=now, costs=now_costs, amounts=now_amounts)
        wrong = Batch(rewards=was, costs=was_costs, amounts=was_amounts, accepted_in=accepted_in)
        self._ledger.correct(k, wrong, replacement, counted_in)

    # ------------------------------------------------------------------------------------------ changing

    @alone
    def add_category(self, *categories: Category) -> None:
        """Add categories: they are accepted until an outcome (or an informative prior) speaks against them."""
        self._ledger.add(categories)

    @alone
    def remove_category(self, name: str) -> Standing:
        """Forget a category and everything about it, its profit too; returns what was known.

        Outcomes that come later are refused.  `pause` keeps a category and stops accepting it.

        >>> import profitable as pb
        >>> categories = [pb.Category(name, pb.Bernoulli(), threshold=0.5) for name in ("a", "b")]
        >>> agent = pb.Agent(categories, policy="kl-ucb")
        >>> agent.remove_category("a").clients, agent.names
        (0, ('b',))
        """
        k = self._ledger.categories.position(name)
        if len(self) == 1:
            raise InputError("category", name, "is the only one", "add another category before you remove it")
        standing = standing_of(self._ledger, k)
        self._ledger.drop(k)
        return standing

    @alone
    def set_threshold(self, name: str, threshold: float) -> None:
        """Change a threshold because costs changed; past outcomes keep counting, against the new threshold."""
        ledger = self._ledger
        k = ledger.categories.position(name)
        changed = ledger.categories[k].with_threshold(threshold)
        ledger.categories.replace(k, changed)
        ledger.set_terms(np.array([k]), [changed])

    @alone
    def set_policy(self, policy: Policy | str) -> None:
        """Let another policy decide from the next round on; past outcomes and rounds keep counting.

        A policy that needs more than the sums that were kept is refused (SumNotEnoughError).

        >>> import profitable as pb
        >>> agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy="kl-ucb")
        >>> agent.observe("a", [0, 0, 0])
        >>> agent.set_policy("ts")
        >>> round(agent["a"].evidence, 2)  # -log P(mean >= 0.5 after three failures)
        3.41
        """
        self._ledger = transfer(self._ledger, Policy.of(policy))

    @alone
    def pause(self, name: str) -> None:
        """Do not accept a category until it is resumed; outcomes still count."""
        self._ledger.table[Row.PAUSED, self._ledger.categories.position(name)] = 1.0

    @alone
    def resume(self, name: str) -> None:
        """Let a paused category be accepted again."""
        self._ledger.table[Row.PAUSED, self._ledger.categories.position(name)] = 0.0

    # ------------------------------------------------------------------------------------------ keeping

    @alone
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent to a JSON file, whole or not at all."""
        from profitable.agent.state_file import path_of, save

        save(self, path_of(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Agent":
        """Read an agent back; it goes on exactly as if it had never stopped, Thompson draws included."""
        from profitable.agent.state_file import load, path_of

        return load(path_of(path))

    def __copy__(self) -> "Agent":
        """A copy is an agent of its own: what one of them learns, the other does not know."""
        return copy.deepcopy(self)

    @alone
    def __deepcopy__(self, memo: dict[int, Any]) -> "Agent":
        twin = type(self).__new__(type(self))
        twin.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """The state of a copy or a pickle: everything but the lock."""
        return {key: value for key, value in self.__dict__.items() if key != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = lock_of(self)

    # ------------------------------------------------------------------------------------------ showing

    @alone
    def _table(self) -> Cells:
        return table_of(self._ledger, min(len(self), ROWS_SHOWN))

    def _caption(self) -> str:
        hidden = f" (first {ROWS_SHOWN} shown)" if len(self) > ROWS_SHOWN else ""
        size, rounds = number(len(self)), number(self.round)
        return f"{self.policy}, {size} categories{hidden}, {rounds} rounds, profit {money(self.profit)}"

    def __str__(self) -> str:
        return f"{self._caption()}\n{text_table(*self._table())}"

    def __repr__(self) -> str:
        return f"<Agent {self._caption()}>"

    def _repr_html_(self) -> str:
        return html_table(self._caption(), *self._table())
