"""The backtest: read past clients, replay policies over them, and compare.

Confidence intervals are those of a paired bootstrap: in each replicate, all policies
and baselines have the same Poisson weights of clients.  Each is replayed and
compared with accepting everybody in the same replicate.  So the interval is about the
difference over new portfolios of the same law, and what both have in common cancels.
"""

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import indent
from typing import Any, ParamSpec, Protocol, cast

import numpy as np

from profitable.common.declared_options import parameters_section
from profitable.common.progress import Progress
from profitable.common.types import FloatArray, IntArray
from profitable.errors import ParameterError, ProfitableError, ProfitableWarning
from profitable.model.category_table import known_fields
from profitable.past.aggregate import cells
from profitable.past.cell_options import CellArguments
from profitable.past.cells import Cells, GroupedClients, holds_cells
from profitable.past.first_look import FirstLook
from profitable.past.late_outcomes import LateOutcomes
from profitable.past.layout import FIELDS, Layout
from profitable.past.leaks import check_categories
from profitable.past.past import Past, PastClients, SingleClients
from profitable.past.read import read
from profitable.past.source import PARQUET_ENDINGS, open_source
from profitable.policy.in_words import in_words
from profitable.policy.policies import Policy
from profitable.replay.backtest_advice import advise
from profitable.replay.backtest_entry import (
    BASELINE,
    POLICY,
    BacktestEntry,
    ShuffledDifference,
    varying,
)
from profitable.replay.backtest_options import (
    LATE_POLICIES,
    LENDING_POLICIES,
    ORDERED_POLICIES,
    POLICIES_TRIED,
    RUN_OPTIONS,
    BacktestArguments,
    RunOptions,
    grouping_name,
)
from profitable.replay.backtest_result import Backtest
from profitable.replay.baselines import ALL, BASELINES_IN_WORDS, Setup, baselines_for
from profitable.replay.cutoffs import doubt_order
from profitable.replay.describe import Description, describe, doubts
from profitable.replay.family_choice import Alternative, FamilyChoice, choose_family
from profitable.replay.off_policy import AcceptanceLog, evaluate
from profitable.replay.replay import OpenTerms, Replay, replay

MOST_TABLED = 2_000_000  # beyond it, the evidence of a replay is not kept
# Twenty folds vary like 20/19 of their mixtures, and with 19 degrees of freedom 2.093
# takes the place of 1.960.
WIDER = (20.0 / 19.0) ** 0.5 * 2.0930 / 1.9600
WEIGHTS = 3  # names the random stream of bootstrap weights
DATA_PARAMETER = """data : file, folder, pattern, list of them, dataframe or Cells
    Past clients, one row each, or the cells that `backtest.cells` has made.
"""
FRAME_PARAMETER = """frame : dataframe
    Any table that narwhals knows: a DuckDB relation, a Polars LazyFrame, a frame of
    Dask, PySpark or Ibis, or one in memory.
"""
Shown = bool | Callable[[float], object] | None
Arguments = ParamSpec("Arguments")
Aggregating = ParamSpec("Aggregating")


def _backtest(
    data: Any, *, progress: Shown = None, command: str | None = None, **given: Any
) -> Backtest:
    """Replay policies over past clients, and compare what they would have earned.

    A policy sees only the outcomes of clients whom it accepts, and only when they were
    known.

    {parameters}

    Returns
    -------
    Backtest
        Profit of every policy and baseline with confidence intervals.

    Raises
    ------
    InputError
        If an option or a row cannot be used; it names the file, the row and the column.

    Examples
    --------
    >>> import pandas as pd
    >>> import profitable as pb
    >>> calls = pd.DataFrame(
    ...     {
    ...         "week": [week for week in range(1, 21) for _ in range(20)],
    ...         "job": ["student", "clerk"] * 200,
    ...         "bought": [1, 0, 1, 0, 0, 0, 1, 0] * 50,
    ...     }
    ... )
    >>> columns = dict(category="job", time="week", reward="bought")
    >>> found = pb.backtest(calls, **columns, cost=1, revenue=5, policies="kl-ucb")
    >>> print(found["kl-ucb"].sentence())
    Upper confidence bound (kl-ucb) earned 180.0 more than accepting everybody
    (difference 180.0, 95 %: 156.1 to 211.0).

    """
    past, options = prepare(data, given, progress)
    others = other_groupings(data, past, options, given)
    return run(past, options, others=others, progress=progress, command=command)


def prepare(data: Any, given: Mapping[str, Any], progress: Shown = None) -> tuple[Past, RunOptions]:
    """Check the arguments of a backtest and read the clients."""
    known_fields(given, (*FIELDS, *RUN_OPTIONS), "backtest")
    if (added := _cells_in(data)) is not None:
        return _prepare_cells(added, given)
    layout, options = Layout.of(given), RunOptions.of(given)
    chosen = given.get("policies")
    if layout.by_hazards and chosen is None:
        options = replace(options, policies=LENDING_POLICIES)
    options.check(layout)
    shown = False if callable(progress) else progress
    with Progress(total=1, shown=shown, title="reading") as reading:
        source = open_source(data)
        past = read(source, layout, progress=reading.update)
    past.warnings.extend(doubts(source, layout))
    return past, options if chosen is not None else replace(options, policies=usual_policies(past))


def other_groupings(
    data: Any, past: Past, options: RunOptions, given: Mapping[str, Any]
) -> Iterator[tuple[Past, RunOptions]]:
    """Read the clients once more for each further grouping."""
    if not options.groupings:
        return
    source = open_source(data)
    if not source.again:
        raise ParameterError(
            "groupings",
            [grouping_name(each) for each in options.groupings],
            "need the clients once for each, and a stream is read only once",
            "give a file or a table",
        )
    for category in options.groupings:
        other = read(source, replace(past.layout, category=category, order=None))
        chosen = options.policies if given.get("policies") else usual_policies(other)
        yield other, replace(options, policies=chosen)


def usual_policies(past: Past) -> tuple[str, ...]:
    """Return the policies that are tried unless some are given."""
    if past.layout.by_hazards:
        return LENDING_POLICIES
    if past.late.is_late:
        return LATE_POLICIES
    return ORDERED_POLICIES if past.order is not None and not past.is_late else POLICIES_TRIED


def _cells_in(data: Any) -> Cells | None:
    """Return the cells that are given or that a file holds; None if it holds rows."""
    if isinstance(data, Cells):
        return data
    several = cast("Sequence[Any]", data) if isinstance(data, list | tuple) else [data]
    given = several[0] if len(several) == 1 else None
    if not isinstance(given, str | Path) or not str(given).endswith(PARQUET_ENDINGS):
        return None
    return Cells.load(given) if holds_cells(Path(given)) else None


def _prepare_cells(added: Cells, given: Mapping[str, Any]) -> tuple[Past, RunOptions]:
    """Check that options fit cells; what needs rows is refused."""
    for key, value in given.items():
        if value is not None and key in FIELDS:
            raise ParameterError(
                key,
                value,
                "cannot be combined with cells",
                "leave it out: the cells know it, or make them again",
            )
        if value is not None and key in ("budget", "places", "explore"):
            raise ParameterError(
                key, value, "needs single rows, and cells have none", "replay the rows"
            )
    options = RunOptions.of(given)
    # What is added up has one order only, and without folds no intervals.
    options = replace(
        options,
        policies=options.policies if given.get("policies") else usual_policies(added.past),
        family=options.family or added.family,
        shuffles=0,
        replays=0 if added.clients.folds == 1 else options.replays,
    )
    options.check(added.past.layout)
    return added.past, options


def run(
    past: Past,
    options: RunOptions,
    *,
    others: Iterable[tuple[Past, RunOptions]] = (),
    progress: Shown = None,
    command: str | None = None,
) -> Backtest:
    """Replay everything over what was read, and over other groupings of it."""
    work_to_do = [(past, options), *others]  # all are read before the first is replayed
    found: list[Backtest] = []
    tables: list[FloatArray | None] = []
    for place, (each, chosen) in enumerate(work_to_do):
        terms = choose_family(each, family=chosen.family, bound=chosen.bound)
        work = _Work(each, terms, chosen, _part_of(progress, place, len(work_to_do)))
        found.append(work.run(command))
        tables.append(work.estimated)
    advice = advise(
        [each.past for each in found],
        level=options.stop_level,
        dates=options.splits,
        seed=options.seed,
        earned=tables,
    )
    if callable(progress):
        progress(1.0)
    return found[0].advised(advice, found[1:])


def _part_of(progress: Shown, place: int, parts: int) -> Shown:
    """Return the progress of one of several parts of the work."""
    if not callable(progress):
        return progress
    return lambda share: progress((place + share) / parts)


def weights_of(
    clients: PastClients, log: AcceptanceLog | None, seed: int, replicate: int
) -> IntArray:
    """Draw how often each row of clients counts in a replicate, [n].

    They depend on the seed and the number of the replicate only.

    >>> clients = SingleClients.of(
    ...     names=("a",), labels=("1",), round=[1] * 8, category=[0] * 8,
    ...     known=[1] * 8, reward=[1] * 8, profit=[1] * 8,
    ... )
    >>> weights_of(clients, None, seed=1, replicate=0).tolist()
    [0, 0, 2, 0, 1, 1, 2, 1]
    """
    generator = np.random.default_rng([seed, WEIGHTS, replicate])
    return (clients if log is None else log).draw_weights(generator)


class _Work:
    """One backtest under way."""

    def __init__(
        self, past: Past, terms: FamilyChoice, options: RunOptions, progress: Shown
    ) -> None:
        self.past, self.terms, self.options, self.shown = past, terms, options, progress
        self.clients: PastClients = past.clients
        self.late: OpenTerms | None = OpenTerms.of(past.layout, past.late)
        self.counted = past.late.counted(self.clients)
        self.log = None
        if self.clients.logged is not None and self.clients.propensity is not None:
            assert isinstance(self.clients, SingleClients)
            self.log = AcceptanceLog.of(self.clients)
        self.wider = WIDER if self.clients.folds is not None else 1.0
        self.policies = options.tried
        self.baselines = baselines_for(self.clients, options.limits, options.commit, past.bands)
        self.said = check_categories(past) + doubt_order(past)
        self.warned: set[str] = set()  # policies whose warnings are in `said`
        if isinstance(self.clients, GroupedClients):
            for policy in self.policies:
                view = policy.view(terms.categories[0])
                self.clients.check_policy(
                    view.statistic, policy.rule.under(view.law).needs_values, str(policy)
                )

    def run(self, command: str | None) -> Backtest:
        options = self.options
        draws = [options.seeds if self._is_drawn(policy) else 1 for policy in self.policies]
        shuffles = options.shuffles if self.log is None else 0
        again = sum(self._is_drawn(policy) for policy in self.policies) * options.replays
        total = sum(draws) + len(self.policies) * (options.replays + shuffles) + again + 1
        with Progress(total=total, shown=self.shown, title="replaying") as self.progress:
            everybody = self.baselines[ALL](self._setup()).table
            entries = [
                self._entry(policy, seeds, everybody)
                for policy, seeds in zip(self.policies, draws, strict=True)
            ]
            found = {name: baseline(self._setup()) for name, baseline in self.baselines.items()}
            differences, variances = self._resample()
            mixed = self._shuffle(shuffles)
        entries = [
            replace(
                entry,
                resampled=differences[entry.name],
                seed_variance=variances.get(entry.name),
                shuffled=mixed.get(entry.name),
            )
            for entry in entries
        ]
        entries += [
            BacktestEntry(
                name,
                BASELINE,
                each.table,
                everybody,
                each.clients(),
                words=BASELINES_IN_WORDS.get(name, ""),
                unit=options.currency or "",
                resampled=differences[name],
                seed_variance=variances.get(name),
                splits=each.splits,
                split_error=each.split_error,
                is_best=each.is_best,
                wider=self.wider,
            )
            for name, each in found.items()
        ]
        terms = replace(self.terms, alternative=self._alternative(entries[0]))
        return Backtest(self.past, terms, options, entries, self.said, command)

    def _alternative(self, entry: BacktestEntry) -> Alternative | None:
        """Return what the first policy would have earned with the other family."""
        other = self.terms.alternative
        if other is None or self.log is not None:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ProfitableWarning)
                found = replay(
                    self.clients,
                    other.categories,
                    self.policies[0],
                    seed=self.options.seed,
                    late=self.late,
                    limits=self.options.limits,
                )
        except ProfitableError:  # a policy that is not defined for this family
            return None
        earned = self._earned(self.clients, found, self._setup().profit)
        return replace(
            other,
            policy=entry.name,
            difference=replace(entry, earned=earned).difference.middle,
            instead=entry.difference.middle,
        )

    @property
    def estimated(self) -> FloatArray | None:
        """What accepting all earned by the estimate of a log, [R, K]; None without."""
        return None if self.log is None else self._setup().profit

    def _is_drawn(self, policy: Policy) -> bool:
        """Whether its seed makes a difference."""
        return policy.draws or policy.floor > 0.0 or self.options.limits is not None

    def _setup(self, weights: Any = None, replicate: int = 0) -> Setup:
        options = self.options
        price = self.terms.categories[0].price
        seed = options.seed + replicate
        return Setup(
            self.clients, weights, options.limits, self.log, price, seed, counted=self.counted
        )

    def _replay(
        self,
        clients: PastClients,
        policy: Policy,
        seed: int,
        weights: Any = None,
        *,
        late: OpenTerms | None = None,
        trace: bool = False,
    ) -> Replay:
        with warnings.catch_warnings(record=True) as caught:
            # What the first replay says is enough.
            warnings.simplefilter(
                "ignore" if str(policy) in self.warned else "always", ProfitableWarning
            )
            found = replay(
                clients,
                self.terms.categories,
                policy,
                seed=seed,
                late=late or self.late,
                lending=self.terms.lending,
                limits=self.options.limits,
                weights=weights,
                trace=trace,
            )
        self.warned.add(str(policy))
        for each in caught:
            if issubclass(each.category, ProfitableWarning):
                self.said.append(f"{policy}: {each.message}")
            else:
                warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
        self.progress.update(self.progress.done + 1, title=f"replaying {policy}")
        return found

    def _earned(
        self, clients: PastClients, found: Replay, profit: FloatArray | None = None
    ) -> FloatArray:
        """Return the profit of a replay by cell, [R, K].

        `profit` is that of accepting everybody without a limit.
        """
        if found.taken is not None:
            return clients.by_cell(found.taken * clients.profit)
        return np.where(found.accepted, clients.profit_by_cell if profit is None else profit, 0.0)

    def _entry(self, policy: Policy, seeds: int, everybody: FloatArray) -> BacktestEntry:
        profit, clients = self._setup().profit, self.clients
        first: Replay | None = None
        accepted, earned = np.zeros(everybody.shape), np.zeros(everybody.shape)
        totals: list[float] = []
        number = 0.0
        for seed in range(seeds):
            trace = first is None and everybody.size <= MOST_TABLED
            found = self._replay(clients, policy, self.options.seed + seed, trace=trace)
            first = first or found
            table = self._earned(clients, found, profit)
            accepted += found.accepted
            earned += table
            totals.append(float(table.sum()))
            number += float(found.by_cell(clients).sum())
        assert first is not None
        return BacktestEntry(
            str(policy),
            POLICY,
            earned / seeds,
            everybody,
            number / seeds,
            words=in_words(policy),
            unit=self.options.currency or "",
            seeds=seeds,
            seed_error=float(np.std(totals, ddof=1) / np.sqrt(seeds)) if seeds > 1 else None,
            varying=self._varying(accepted / seeds),
            accepted=accepted / seeds,
            evidence=first.evidence,
            patience=first.patience,
            decided=first.accepted,
            defaults=first.defaults,
            affordable=first.affordable,
            off_policy=None if self.log is None else evaluate(self.log, accepted / seeds),
            wider=self.wider,
        )

    def _varying(self, accepted: FloatArray) -> float | None:
        """Count the refused clients whose profit stands out.

        None where a log or a limit decides, too.
        """
        if self.log is not None or self.options.limits is not None:
            return None
        clients = self.clients.counts
        refused = ((1.0 - accepted) * clients).sum(axis=0) / np.maximum(clients.sum(axis=0), 1.0)
        return varying(self.clients.standing_out(), refused)

    def _resample(self) -> tuple[dict[str, FloatArray], dict[str, float]]:
        """Return bootstrap differences to accepting all, [B, R], and seed variances.

        A policy that draws at random is replayed twice in each.  The difference is the
        mean of the two, and how far they are apart says what a seed brings.  So it is
        with two splits into halves, where a baseline is cross-fitted.
        """
        options, size = self.options, (self.options.replays, self.clients.rounds)
        found = {name: np.empty(size) for name in (*map(str, self.policies), *self.baselines)}
        apart = {str(policy) for policy in self.policies if self._is_drawn(policy)}
        variances: dict[str, list[float]] = {}
        for replicate in range(options.replays):
            weights = weights_of(self.clients, self.log, options.seed, replicate)
            setup = self._setup(weights, replicate)
            everybody = self.baselines[ALL](setup).table.sum(axis=1)
            for name, baseline in self.baselines.items():
                once = baseline(setup)
                found[name][replicate] = once.table.sum(axis=1) - everybody
                if once.split_variance is not None:
                    variances.setdefault(name, []).append(once.split_variance)
            for policy in self.policies:
                name, first = str(policy), options.seed + options.seeds + 2 * replicate
                times = [
                    self._earned(
                        self.clients,
                        self._replay(self.clients, policy, seed, weights),
                        setup.profit,
                    )
                    for seed in range(first, first + (2 if name in apart else 1))
                ]
                found[name][replicate] = np.mean(times, axis=0).sum(axis=1) - everybody
                if name in apart:
                    variance = float((times[0] - times[1]).sum()) ** 2 / 2.0
                    variances.setdefault(name, []).append(variance)
        return found, {name: float(np.mean(each)) for name, each in variances.items()}

    def _shuffle(self, number: int) -> dict[str, ShuffledDifference]:
        """Return the difference to accepting all with time shuffled, by policy."""
        if not number:
            return {}
        assert isinstance(self.clients, SingleClients)
        found: dict[str, list[float]] = {str(policy): [] for policy in self.policies}
        for each in range(number):
            clients = self.clients.shuffled(self.options.seed, each)
            setup = Setup(
                clients,
                None,
                self.options.limits,
                None,
                self.terms.categories[0].price,
                self.options.seed,
            )
            everybody = float(self.baselines[ALL](setup).table.sum())
            layout = self.past.layout
            late = OpenTerms.of(layout, LateOutcomes.of(clients, layout))
            for policy in self.policies:
                once = self._replay(clients, policy, self.options.seed + each, late=late)
                found[str(policy)].append(float(self._earned(clients, once).sum()) - everybody)
        root = number**0.5
        return {
            name: ShuffledDifference(float(np.mean(values)), float(np.std(values, ddof=1)) / root)
            for name, values in found.items()
        }


class _Backtesting(Protocol[Arguments, Aggregating]):
    """`backtest`, with `backtest.cells` and `backtest.describe`."""

    def __call__(
        self, data: Any, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Backtest: ...

    def cells(self, frame: Any, *args: Aggregating.args, **kwargs: Aggregating.kwargs) -> Cells: ...

    def describe(self, data: Any, **given: Any) -> Description | FirstLook: ...


def _declare(function: Any, data: str, arguments: type[Any], result: type[Any]) -> None:
    """Give a function the signature and the documentation of its declared arguments."""
    name = data.partition(" : ")[0]
    first = inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    declared = inspect.signature(arguments).parameters.values()
    function.__signature__ = inspect.Signature([first, *declared], return_annotation=result)
    section = f"Parameters\n----------\n{data}{parameters_section(arguments)}"
    function.__doc__ = function.__doc__ and function.__doc__.replace(
        "{parameters}", indent(section, "    ").strip()
    )


def _declared(
    arguments: Callable[Arguments, Any], aggregating: Callable[Aggregating, Any]
) -> _Backtesting[Arguments, Aggregating]:
    """Return `backtest` with its functions, as type checkers and readers see them."""
    function: Any = _backtest
    function.__name__ = function.__qualname__ = "backtest"
    function.cells = cells
    function.describe = describe
    _declare(function, DATA_PARAMETER, BacktestArguments, Backtest)
    _declare(cells, FRAME_PARAMETER, CellArguments, Cells)
    return function


backtest = _declared(BacktestArguments, CellArguments)
