"""Agent: decides which categories to accept, learns from outcomes, and can say why."""

import copy
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from profitable.agent.band_words import cut_off, on_top
from profitable.agent.categories import Categories
from profitable.agent.changes import Rounds
from profitable.agent.cohorts import LateTerms
from profitable.agent.correction import correct
from profitable.agent.cutoff_table import CutoffTable, cutoff_table
from profitable.agent.decision import LIMIT_ROWS, NOTHING_ELSE, Decision, Kept
from profitable.agent.draws import ExponentialStream
from profitable.agent.explanation import (
    Cells,
    Standing,
    columns_of,
    explanation,
    standing_of,
    table_of,
)
from profitable.agent.ledger import Ledger
from profitable.agent.limit import read_limit
from profitable.agent.loan_book import LEARNED, LoanTerms
from profitable.agent.locking import alone, lock_of
from profitable.agent.observation import Batch, Rewards
from profitable.agent.transfer import transfer
from profitable.common import check
from profitable.common.extras import extra, frame_of
from profitable.common.text_tables import (
    ROWS_SHOWN,
    html_table,
    money_text,
    number_text,
    text_table,
)
from profitable.common.types import FloatArray, IntArray
from profitable.errors import (
    InputError,
    ParameterError,
    ProfitableWarning,
    UnknownCategoryError,
)
from profitable.kernels.agent_table import AgentRow
from profitable.model.category import Category
from profitable.model.lending import Lending
from profitable.policy.policies import Plus, Policy

if TYPE_CHECKING:
    from altair import HConcatChart, VConcatChart


class Agent:
    """Decide which categories to accept, and learn from outcomes whenever they come.

    This is the agent of the paper's Algorithm 1.

    Parameters
    ----------
    categories : iterable of Category
        The categories to decide about, at least one.
    policy : Policy or str
        The policy that decides, or its name as on the command line: "kl-ucb".
    seed : int, optional
        Seed of the draws, for policies that draw; random unless given.
    lending : Lending, optional
        For loans whose outcomes are known late: the agent learns when they default and
        close (docs/late-outcomes.md), and takes no rewards.

    Examples
    --------
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

    def __init__(
        self,
        categories: Iterable[Category],
        *,
        policy: Policy | str,
        seed: int | None = None,
        lending: Lending | None = None,
    ) -> None:
        if isinstance(categories, Category) or not isinstance(categories, Iterable):
            raise ParameterError(
                "categories", categories, "must be a list of Category", "give [Category(...), ...]"
            )
        given = list(categories)
        if not given:
            raise InputError(
                "categories", given, "is empty", "give at least one profitable.Category"
            )
        if lending is not None and not isinstance(lending, Lending):
            raise ParameterError(
                "lending", lending, "must be a Lending", "give profitable.Lending(required=0.05)"
            )
        ledger = Ledger(Categories(Policy.of(policy), lending))
        ledger.add(given)
        self._begin(ledger, ExponentialStream(seed))

    def _begin(self, ledger: Ledger, stream: ExponentialStream) -> None:
        self.ledger = ledger
        self._stream = stream
        # Whether it still has to warn of batches that are too large for its policy.
        self._warns = isinstance(ledger.categories.policy, Plus)
        self._lock = lock_of(self)
        ledger.share_lock(self._lock)

    # -------------------------------------------------------------------------- looking

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self.ledger.categories.policy

    @property
    def lending(self) -> Lending | None:
        """The terms of its loans, for an agent that lends."""
        return self.ledger.categories.lending

    @property
    def round(self) -> int:
        """The number of rounds decided so far."""
        return self.ledger.round

    @property
    def names(self) -> tuple[str, ...]:
        """The categories, in the order they were added."""
        return tuple(self.ledger.categories.names)

    @property
    @alone
    def profit(self) -> float | None:
        """Realised profit over all categories, in money.

        None for an agent that lends: it hears how loans end, not what they pay.
        """
        if self.lending is not None:
            return None
        table = self.ledger.numbers
        return float(table[AgentRow.REVENUE].sum() - table[AgentRow.COST].sum())

    @property
    @alone
    def waiting(self) -> dict[str, int]:
        """Accepted clients whose outcome is still to come, by category.

        Categories without such clients are left out.
        """
        ledger, row = self.ledger, self.ledger.numbers[AgentRow.WAITING]
        return {ledger.categories.names[k]: int(row[k]) for k in np.flatnonzero(row).tolist()}

    @property
    def memory(self) -> int:
        """Bytes held for outcomes; with `KLEmpUCB` it grows with distinct rewards."""
        ledger = self.ledger
        return ledger.raw[:, : len(ledger)].nbytes + sum(
            kept.nbytes for kept in ledger.values or ()
        )

    @property
    @alone
    def orders(self) -> tuple[str, ...]:
        """The orders whose bands some of its categories are."""
        return tuple(self.ledger.categories.bands())

    def category(self, name: str) -> Category:
        """Return the category as it is now.

        Parameters
        ----------
        name : str
            Name of the category.

        Returns
        -------
        Category
            The category, with its present threshold.
        """
        categories = self.ledger.categories
        return categories[categories.position(name)]

    def __len__(self) -> int:
        return len(self.ledger)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.ledger.categories.positions

    @alone
    def __getitem__(self, name: str) -> Standing:
        return standing_of(self.ledger, self.ledger.categories.position(name))

    @alone
    def to_frame(self, backend: str | None = None) -> Any:
        """Return the standings as a dataframe with one row for each category.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow".  Unless it is given, the one that is
            imported already is taken, or else one that is installed.

        Returns
        -------
        dataframe
            The fields of `Standing` as columns, and the profit.
        """
        return frame_of(columns_of(self.ledger, np.arange(len(self))), backend)

    # ------------------------------------------------------------------------- deciding

    def decide(
        self,
        available: Iterable[str] | None = None,
        *,
        budget: float | None = None,
        places: int | None = None,
        demand: Mapping[str, int] | None = None,
        explore: float | None = None,
    ) -> Decision:
        """Decide the next round.

        What a limited round has goes to the accepted categories in the order of what a
        unit of it is expected to earn.

        Parameters
        ----------
        available : iterable of str, optional
            The categories to decide about; all of them unless given.
        budget : float, optional
            Money that accepted clients may cost together.
        places : int, optional
            Number of clients that may be accepted together, in place of a budget.
        demand : mapping from str to int, optional
            How many clients of each category ask; required with a limit.
        explore : float, optional
            Share of the limit for categories that are accepted to learn about them;
            0.1 unless given.

        Returns
        -------
        Decision
            It never changes, whatever the agent learns later.

        Raises
        ------
        InputError
            If a category is unknown, or the limit is not complete.

        Examples
        --------
        >>> import profitable as pb
        >>> family, names = pb.Poisson(), ("a", "b")
        >>> categories = [pb.Category(name, family, threshold=2.0) for name in names]
        >>> agent = pb.Agent(categories, policy="kl-ucb")
        >>> agent.observe({"a": [2, 4, 3], "b": [5, 6, 4]})
        >>> agent.decide(places=8, demand={"a": 5, "b": 6}).granted
        {'a': 2, 'b': 6}
        """
        lock = self._lock
        lock.acquire()  # half the time of `with`
        try:
            ledger, positions, limit = self.ledger, None, None
            if (
                available is None
                and budget is None
                and places is None
                and demand is None
                and explore is None
                and ledger.is_everyday
                and not ledger.cohorts.places
                and not self._warns
            ):
                made = ledger.decide(self._stream)
                ledger.round = round = ledger.round + 1
                return Decision(round, made, ledger.changes)
            if available is not None:
                positions = ledger.categories.select(available)
            if not (budget is None and places is None and demand is None and explore is None):
                limit = read_limit(ledger.categories, positions, budget, places, demand, explore)
            decision = self._drawn(positions, limited=limit is not None)
            if limit is not None:
                decision.share_out(limit, ledger.numbers[LIMIT_ROWS, :])
                ledger.revoke(decision.revoked)
            ledger.advance()
            if self._warns and (crowded := decision.crowded()):
                self._warns = False
                warnings.warn(crowded, ProfitableWarning, stacklevel=2)
            return decision
        finally:
            lock.release()

    def _drawn(self, positions: IntArray | None, *, limited: bool = False) -> Decision:
        """Return the decision about the next round, which has not passed yet."""
        ledger = self.ledger
        if positions is not None or limited or ledger.loans is not None or ledger.shares:
            return self._decision(ledger.decide_some(self._stream, positions), positions)
        made = ledger.decide(self._stream)
        return Decision(ledger.round + 1, made, ledger.changes, self._kept(None))

    def _decision(self, table: FloatArray, positions: IntArray | None) -> Decision:
        """Return a decision whose numbers are known already."""
        ledger = self.ledger
        made = Rounds(ledger.categories, table.shape[1])
        decision = Decision(ledger.round + 1, made, kept=self._kept(positions))
        return decision.with_table(table, positions)

    def _kept(self, positions: IntArray | None) -> Kept:
        """Return what a decision about some categories has to keep."""
        ledger = self.ledger
        if ledger.is_plain and not ledger.cohorts.places and ledger.loans is None:
            return Kept(orders=ledger.orders) if ledger.shares else NOTHING_ELSE
        values = None
        if ledger.values is not None:
            chosen = range(len(ledger)) if positions is None else positions.tolist()
            values = {k: ledger.values[k] for k in chosen}
        window = None if ledger.window is None else ledger.window.snapshot()
        return Kept(values, window, ledger.cohorts.snapshot(), ledger.reading, ledger.orders)

    @alone
    def preview(self, available: Iterable[str] | None = None) -> Decision:
        """Return the next round's decision as far as it is known.

        A policy that draws has not drawn yet.  The agent does not change.

        Parameters
        ----------
        available : iterable of str, optional
            The categories to decide about; all of them unless given.

        Returns
        -------
        Decision
            What `decide` would return without draws.
        """
        ledger = self.ledger
        positions = None if available is None else ledger.categories.select(available)
        return self._decision(ledger.preview(positions), positions)

    @alone
    def explain(self, name: str) -> str:
        """Explain in words what is known of a category and what would be decided next.

        Parameters
        ----------
        name : str
            The category.

        Returns
        -------
        str
            Several lines; the agent does not change.
        """
        k = self.ledger.categories.position(name)
        preview = self.preview([name])
        said = explanation(self.ledger, k, preview[name], preview.patient_again(name))
        if self.policy.draws:  # the draw of the next round decides about its order
            return said
        orders = [each for each in self.ledger.orders if k in each.order.positions]
        cuts = [f"Cut-off: {cut_off(each)}." for each in orders]
        if orders and not preview[name].accepted:
            cuts.append("When it can come back is not known: that depends on the other bands, too.")
        return "\n".join([said, *cuts])

    @alone
    def cutoff(self, order: str | None = None) -> CutoffTable:
        """Return what each band of an order earns, and the best cut-off.

        Parameters
        ----------
        order : str, optional
            Name of the order; may be left out if there is only one.

        Returns
        -------
        CutoffTable
            It prints as a table; the agent does not change.

        Raises
        ------
        InputError
            If no category has this order.
        """
        found = self.ledger.categories.bands()
        if order is None and len(found) == 1:
            order = next(iter(found))
        if order is None or order not in found:
            problem = "is missing" if order is None else "is unknown"
            remedy = f"choose from {', '.join(found)}" if found else "give categories an order"
            raise UnknownCategoryError("order", order, problem, remedy)
        return cutoff_table(self.ledger, order, found[order], decision=self.preview())

    @alone
    def plot(self, path: str | os.PathLike[str] | None = None) -> "HConcatChart":
        """Draw evidence against patience, and each mean against its threshold.

        Parameters
        ----------
        path : str or os.PathLike, optional
            File to write the chart to: SVG, PNG, PDF or HTML, by its ending.

        Returns
        -------
        altair.HConcatChart
            A chart that shows itself in notebooks; its first 40 categories.

        Raises
        ------
        InputError
            If the ending is not known, or an extra is missing.
        NotSavedError
            If the file cannot be written.

        """
        with extra("plot", "charts are drawn with it"):
            from profitable.agent.decision_chart import decision_chart
            from profitable.common.charts import saved
        return saved(decision_chart(self.preview()), path)

    @alone
    def plot_loans(self, path: str | os.PathLike[str] | None = None) -> "VConcatChart":
        """Draw when loans default, what categories can afford, and levels by vintage.

        Parameters
        ----------
        path : str or os.PathLike, optional
            File to write the chart to: SVG, PNG, PDF or HTML, by its ending.

        Returns
        -------
        altair.VConcatChart
            A chart that shows itself in notebooks.

        Raises
        ------
        InputError
            If the agent does not lend, the ending is not known, or an extra is missing.
        NotSavedError
            If the file cannot be written.
        """
        with extra("plot", "charts are drawn with it"):
            from profitable.agent.loan_charts import loan_chart
            from profitable.common.charts import saved
        return saved(loan_chart(*self.ledger.read_book()), path)

    # ------------------------------------------------------------------------- learning

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
        defaulted: int | None = None,
        closed: int | None = None,
        term: int | None = None,
    ) -> None:
        """Add outcomes of one category, or of many at once.

        If anything is wrong, an error is raised and nothing is added.

        Parameters
        ----------
        category : str or mapping
            The category, or a mapping from names to rewards or batches.
        rewards : float or sequence of float, optional
            The reward of each client, [n].
        count, total : int, float, optional
            Number of clients and sum of their rewards, in place of the rewards.
        squares : float, optional
            Sum of the squared rewards, where the policy looks at the spread.
        costs : float or sequence of float, optional
            Cost of each client, [n], or (except for loans) of all together; the
            category's price unless given.
        amounts : float or sequence of float, optional
            What was lent to each client, [n], for categories of `Category.returns`; 1
            unless given.
        accepted_in : int, optional
            The round in which they were accepted, if `expect` opened a cohort; needed
            for loans.
        defaulted, closed : int, optional
            How many loans defaulted, and how many closed (repaid or prepaid) since the
            last decision, for an agent with `lending`.
        term : int, optional
            Term of these loans; needed if several terms were accepted in that round.

        Raises
        ------
        RewardError
            If the family cannot have a reward.
        SumNotEnoughError
            If the policy needs the single rewards and only their sum is given.
        """
        lock = self._lock
        lock.acquire()  # half the time of `with`
        try:
            ledger = self.ledger
            if isinstance(category, str):
                k = ledger.categories.positions.get(category)
                if k is None:
                    raise ledger.categories.unknown(category)
                if (
                    rewards is not None
                    and count is None
                    and total is None
                    and squares is None
                    and costs is None
                    and amounts is None
                    and accepted_in is None
                    and defaulted is None
                    and closed is None
                    and term is None
                ):
                    ledger.observe_one(k, rewards)
                    return
                batch = Batch(
                    rewards=rewards,
                    count=count,
                    total=total,
                    squares=squares,
                    costs=costs,
                    amounts=amounts,
                    accepted_in=accepted_in,
                    defaulted=defaulted,
                    closed=closed,
                    term=term,
                )
                ledger.observe({k: batch})
                return
            more = (count, total, squares, costs, amounts, accepted_in, defaulted, closed, term)
            if rewards is not None or any(each is not None for each in more):
                raise ParameterError(
                    "rewards",
                    rewards,
                    "is given together with a mapping",
                    "put profitable.Batch into the mapping",
                )
            if not isinstance(category, Mapping):
                raise ParameterError(
                    "category",
                    category,
                    "must be a name or a mapping",
                    "give a name, or a mapping from names to rewards",
                )
            ledger.observe(ledger.categories.by_position(category))
        finally:
            lock.release()

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
        term: int | None = None,
        rate: float | None = None,
    ) -> None:
        """Report accepted clients whose outcomes are still to come.

        With `matures`, they are a cohort whose outcomes are all known that many rounds
        after `accepted_in`.

        Parameters
        ----------
        category : str or mapping
            The category, or a mapping from names to numbers of clients.
        clients : int, optional
            Number of clients accepted, unless a mapping is given.
        accepted_in : int, optional
            The round that accepted them; the latest unless given.
        matures : int, optional
            Number of rounds after which all outcomes are known.
        emerges : str or sequence of float, optional
            How clients of the cohort count until then.  "at maturity" (the default):
            known outcomes are kept, and count from then on.  "evenly": a client of age
            a counts as a/matures observations of the promised reward, and what is lost
            is subtracted once it is known.  A list of shares by age, as [0.1, 0.4,
            1.0]: the same with a curve of your own.
        promised : float, optional
            Reward that a client brings if nothing goes wrong; the family's largest
            unless given.  "learned", the default and the only way for an agent with
            `lending`: from when loans of all categories defaulted and closed.
        term : int, optional
            For loans: the number of rounds over which they are repaid.
        rate : float, optional
            For loans: their interest a year, 0.12 for 12 %.  It may be left out if
            `quote` said who asks.

        Raises
        ------
        InputError
            If a category is unknown, or the terms of the cohort do not fit it.

        Examples
        --------
        >>> import profitable as pb
        >>> cars = pb.Category.loan("cars", amount=1_000, rate=0.12)
        >>> agent = pb.Agent([cars], policy="kl-ucb")
        >>> agent.expect("cars", 40, matures=4, emerges="evenly")
        >>> agent.observe("cars", [0], accepted_in=0)
        >>> agent.decide().accepted, agent["cars"].counted, agent["cars"].mean
        (('cars',), 10.0, 0.9)
        """
        given = _numbers(category, clients)
        if self.ledger.loans is None and emerges != LEARNED and term is None and rate is None:
            self.ledger.expect(given, LateTerms(accepted_in, matures, emerges, promised))
            return
        self.ledger.lending_book("emerges", emerges)
        for field, value in (("matures", matures), ("promised", promised)):
            if value is not None:
                raise ParameterError(
                    field, value, "is learnt from the loans", "leave it out, and give term="
                )
        if emerges not in (None, LEARNED):
            raise ParameterError(
                "emerges", emerges, "is not for an agent that lends", 'leave it out: "learned"'
            )
        self.ledger.lend(given, LoanTerms(term, rate, accepted_in))

    @alone
    def quote(
        self,
        category: str | Mapping[str, int],
        clients: int | None = None,
        *,
        term: int,
        rate: float,
    ) -> None:
        """Say who asks for a loan in the coming round, whether accepted or not.

        What a loan must bring depends on today's terms and rates.  Without it, they are
        those of the loans that were accepted last.

        Parameters
        ----------
        category : str or mapping
            The category, or a mapping from names to numbers of clients.
        clients : int, optional
            Number of clients who ask, unless a mapping is given.
        term : int
            Number of rounds over which the loan is repaid.
        rate : float
            Mean interest a year, 0.12 for 12 %.

        Examples
        --------
        >>> import profitable as pb
        >>> cars, lending = pb.Category.returns("cars"), pb.Lending(required=0.05)
        >>> agent = pb.Agent([cars], policy="bayes-ucb", lending=lending)
        >>> agent.quote("cars", 40, term=36, rate=0.12)
        >>> agent.decide().accepted
        ('cars',)
        >>> agent.expect("cars", 30, term=36)
        >>> agent.waiting
        {'cars': 30}
        """
        self.ledger.quote(_numbers(category, clients), LoanTerms(term, rate))

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
        term: int | None = None,
    ) -> None:
        """Replace outcomes that were reported wrongly, or take them back.

        Without costs, the money is corrected by averages over the category's clients:
        the cost of one of them and, for loans, the revenue of a repaid one.  After
        `set_policy`, the agent does not know what an earlier policy had forgotten of
        them; a `Portfolio` does.

        Parameters
        ----------
        name : str
            The category.
        was : float or sequence of float
            The wrong rewards, [n].
        now : float or sequence of float, optional
            The right rewards; without them, the wrong ones are taken back.
        was_costs, now_costs : float or sequence of float, optional
            Costs, as for `observe`.
        was_amounts, now_amounts : float or sequence of float, optional
            Amounts lent.  Outcomes with amounts need `was_amounts`; `now_amounts` are
            the same unless given.
        counted_in : int, optional
            `agent.round` at the time they were reported; needed if the policy forgets.
        accepted_in : int, optional
            Round of their cohort, if they were reported with it and the cohort has
            outcomes to come; for loans, the round that accepted them.
        term : int, optional
            Term of a loan.  Of loans, `was` and `now` are "defaulted" or "closed"; each
            correction is about one loan, and without `now` it is open again.

        Raises
        ------
        CorrectionError
            If the outcomes cannot have been observed.

        Examples
        --------
        >>> import profitable as pb
        >>> category = pb.Category("a", pb.Bernoulli(), threshold=0.5)
        >>> agent = pb.Agent([category], policy=pb.KLUCB())
        >>> agent.observe("a", [1, 1, 0])
        >>> agent.correct("a", was=1, now=0)
        >>> agent["a"].mean
        0.3333333333333333
        """
        k = self.ledger.categories.position(name)
        if self.ledger.loans is not None:
            round = self.round
            if counted_in is not None:
                round = check.whole("counted_in", counted_in, least=0, most=round)
            self.ledger.correct_loan(k, was, now, LoanTerms(term, None, accepted_in), round)
            return
        for field, value in (("now_costs", now_costs), ("now_amounts", now_amounts)):
            if now is None and value is not None:
                raise ParameterError(field, value, "is given without now", "give now=, too", name)
        correct(
            self.ledger,
            k,
            Batch(rewards=was, costs=was_costs, amounts=was_amounts, accepted_in=accepted_in),
            None if now is None else Batch(rewards=now, costs=now_costs, amounts=now_amounts),
            counted_in,
        )

    # ------------------------------------------------------------------------- changing

    @alone
    def add_category(self, *categories: Category) -> None:
        """Add categories; until evidence speaks against them, they are accepted.

        A band becomes the highest of its order; a ProfitableWarning says so.

        Parameters
        ----------
        *categories : Category
            The categories, whose names must be new.

        Raises
        ------
        DuplicateNameError
            If a name is taken; then none is added.
        """
        start = len(self)
        self.ledger.add(categories)
        for doubt in on_top(self.ledger.categories, start):
            warnings.warn(doubt, ProfitableWarning, stacklevel=3)

    @alone
    def remove_category(self, name: str) -> Standing:
        """Remove a category and everything known about it, its profit included.

        Outcomes that come later are refused.  `pause` keeps a category and stops
        accepting it.

        Parameters
        ----------
        name : str
            The category.

        Returns
        -------
        Standing
            The category's last standing.

        Raises
        ------
        InputError
            If it is unknown, or the only one.

        Examples
        --------
        >>> import profitable as pb
        >>> family, names = pb.Bernoulli(), ("a", "b")
        >>> categories = [pb.Category(name, family, threshold=0.5) for name in names]
        >>> agent = pb.Agent(categories, policy="kl-ucb")
        >>> agent.remove_category("a").clients, agent.names
        (0, ('b',))
        """
        k = self.ledger.categories.position(name)
        if len(self) == 1:
            raise InputError(
                "category", name, "is the only one", "add another category before you remove it"
            )
        standing = standing_of(self.ledger, k)
        self.ledger.drop(k)
        return standing

    @alone
    def set_threshold(self, name: str, threshold: float) -> None:
        """Change a threshold because costs changed; past outcomes keep counting.

        Parameters
        ----------
        name : str
            The category.
        threshold : float
            The new threshold, against which past outcomes count, too.
        """
        ledger = self.ledger
        k = ledger.categories.position(name)
        changed = ledger.categories[k].with_threshold(threshold)
        ledger.categories.replace(k, changed)
        ledger.set_terms(np.array([k]), [changed])

    @alone
    def set_policy(self, policy: Policy | str) -> None:
        """Let another policy decide from the next round on.

        Past outcomes and rounds keep counting.

        Parameters
        ----------
        policy : Policy or str
            The new policy, or its name.

        Raises
        ------
        SumNotEnoughError
            If the policy needs more than the sums that were kept.

        Examples
        --------
        >>> import profitable as pb
        >>> category = pb.Category("a", pb.Bernoulli(), threshold=0.5)
        >>> agent = pb.Agent([category], policy="kl-ucb")
        >>> agent.observe("a", [0, 0, 0])
        >>> agent.set_policy("ts")
        >>> round(agent["a"].evidence, 2)  # -log P(mean >= 0.5 after three failures)
        3.41
        """
        self.ledger = transfer(self.ledger, Policy.of(policy))
        self.ledger.share_lock(self._lock)
        self._warns = self._warns or isinstance(self.policy, Plus)

    @alone
    def pause(self, name: str) -> None:
        """Stop accepting a category until it is resumed; outcomes still count.

        Parameters
        ----------
        name : str
            The category.
        """
        self.ledger.writable_column(self.ledger.categories.position(name))[AgentRow.PAUSED] = 1.0

    @alone
    def resume(self, name: str) -> None:
        """Let a paused category be accepted again.

        Parameters
        ----------
        name : str
            The category.
        """
        self.ledger.writable_column(self.ledger.categories.position(name))[AgentRow.PAUSED] = 0.0

    # -------------------------------------------------------------------------- keeping

    @alone
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent to a JSON file, whole or not at all.

        Parameters
        ----------
        path : str or os.PathLike
            The file; an existing one is replaced.

        Raises
        ------
        StateFileError
            If the file cannot be written.
        """
        from profitable.agent.state_file import path_of, save

        save(self, path_of(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Agent":
        """Read an agent back.

        It continues exactly as if it had never stopped, Thompson draws included.

        Parameters
        ----------
        path : str or os.PathLike
            A file that `save` wrote.

        Returns
        -------
        Agent
            The agent as it was saved.

        Raises
        ------
        BrokenStateError
            If the file is damaged, or not a saved agent.
        NewerStateError
            If a later version wrote it.
        """
        from profitable.agent.state_file import load, path_of

        return load(path_of(path))

    def __copy__(self) -> "Agent":
        """Return an independent copy: outcomes of one do not reach the other."""
        return copy.deepcopy(self)

    @alone
    def __deepcopy__(self, memo: dict[int, Any]) -> "Agent":
        twin = type(self).__new__(type(self))
        twin.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy or a pickle: everything but the lock."""
        return {key: value for key, value in self.__dict__.items() if key != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = lock_of(self)
        self.ledger.share_lock(self._lock)

    # -------------------------------------------------------------------------- showing

    @alone
    def _table(self) -> Cells:
        return table_of(self.ledger, min(len(self), ROWS_SHOWN))

    def _caption(self) -> str:
        hidden = f" (first {ROWS_SHOWN} shown)" if len(self) > ROWS_SHOWN else ""
        return (
            f"{self.policy}, {number_text(len(self))} categories{hidden}, "
            f"{number_text(self.round)} rounds, profit {money_text(self.profit)}"
        )

    def __str__(self) -> str:
        return f"{self._caption()}\n{text_table(*self._table())}"

    def __repr__(self) -> str:
        return f"<Agent {self._caption()}>"

    def _repr_html_(self) -> str:
        return html_table(self._caption(), *self._table())


def _numbers(category: object, clients: object) -> Mapping[str, Any]:
    """Return numbers of clients by category, as `expect` and `quote` take them."""
    if isinstance(category, str):
        return {category: clients}
    if not isinstance(category, Mapping):
        raise ParameterError(
            "category",
            category,
            "must be a name or a mapping",
            "give a name, or a mapping from names to numbers",
        )
    if clients is not None:
        raise ParameterError(
            "clients",
            clients,
            "is given together with a mapping",
            "put the numbers into the mapping",
        )
    return cast("Mapping[str, Any]", category)
