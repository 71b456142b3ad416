"""backtest: read past clients, replay policies over them, compare, and say how sure it is."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from profitable.common.progress import Progress
from profitable.common.types import FloatArray
from profitable.errors import ParameterError, ProfitableWarning
from profitable.model.family import Family
from profitable.policy.policies import Policy
from profitable.replay.bootstrap import shuffled, weights_of
from profitable.replay.cells import Cells, holds_cells
from profitable.replay.clients import Clients
from profitable.replay.crowd import Crowd
from profitable.replay.entry import POLICY, RIVAL, Entry, Shuffled, varying_of
from profitable.replay.gather import cells
from profitable.replay.grouped import Grouped
from profitable.replay.layout import FIELDS, Layout, known_field
from profitable.replay.leaks import check_categories
from profitable.replay.off_policy import Log, evaluate
from profitable.replay.options import Options, late_of
from profitable.replay.past import Past
from profitable.replay.read import read
from profitable.replay.replay import Late, Replay, replay
from profitable.replay.result import Backtest
from profitable.replay.rivals import ALL, Scene, rivals
from profitable.replay.source import PARQUET_ENDINGS
from profitable.replay.terms import Terms, make_terms

OPTIONS = tuple(Options.__dataclass_fields__)
MOST_TABLED = 2_000_000  # beyond it, the evidence of a replay is not kept
# Twenty folds vary like 20/19 of their mixtures, and with 19 degrees of freedom 2.093 takes the place of 1.960.
WIDER = (20.0 / 19.0) ** 0.5 * 2.0930 / 1.9600
MANY_CLIENTS = 1_000_000  # beyond it, cross-fitting takes fewer splits
Shown = bool | Callable[[float], object] | None


def _backtest(data: Any, *, progress: Shown = None, command: str | None = None, **given: Any) -> Backtest:
    """What would policies have earned on past clients?  Each sees only outcomes of clients whom it accepts.

    `data` is a file, a folder, a pattern such as "loans-*.parquet", a list of them, a dataframe of any library, or the
    `Cells` that `backtest.cells` has made where the data are.  The
    other arguments say what its columns mean (`Layout`: category, reward, time, known, cost or amount ...), and what is
    replayed (`Options`: policies, family, seed, replays, budget ...).

    >>> import pandas as pd
    >>> import profitable as pb
    >>> calls = pd.DataFrame(
    ...     {
    ...         "week": [week for week in range(1, 21) for _ in range(20)],
    ...         "job": ["student", "clerk"] * 200,
    ...         "bought": [1, 0, 1, 0, 0, 0, 1, 0] * 50,
    ...     }
    ... )
    >>> found = pb.backtest(
    ...     calls, category="job", time="week", reward="bought", cost=1, revenue=5, policies=["kl-ucb", "ts"]
    ... )
    >>> print(found["kl-ucb"].sentence())
    kl-ucb earned 180.0 more than accepting everybody (95 %: 156.1 to 211.0).
    """
    past, options = prepare(data, given, progress)
    return run(past, options, progress=progress, command=command)


def prepare(data: Any, given: Mapping[str, Any], progress: Shown = None) -> tuple[Past, Options]:
    """Check the arguments of a backtest and read the clients."""
    for key, value in given.items():
        known_field(key, value, (*FIELDS, *OPTIONS), "backtest")
    if (added := _cells_in(data)) is not None:
        return _prepare_cells(added, given)
    layout = Layout.from_fields({key: value for key, value in given.items() if key not in OPTIONS}, "backtest")
    options = Options(**{key: value for key, value in given.items() if key in OPTIONS})
    options.check(layout)
    with Progress(total=1, shown=False if callable(progress) else progress, title="reading") as reading:
        return read(data, layout, progress=reading.update), options


def _cells_in(data: Any) -> Cells | None:
    """The cells that are given, or that a file holds; None if it holds rows."""
    if isinstance(data, Cells):
        return data
    given: Any = data
    if isinstance(data, list | tuple):
        several = cast("Sequence[Any]", data)
        given = several[0] if len(several) == 1 else None
    if isinstance(given, str | Path) and str(given).endswith(PARQUET_ENDINGS) and holds_cells(Path(given)):
        return Cells.load(given)
    return None


def _prepare_cells(added: Cells, given: Mapping[str, Any]) -> tuple[Past, Options]:
    """Check that options fit cells; what needs rows is refused."""
    for key in FIELDS:
        if given.get(key) is not None:
            remedy = "leave it out: the cells know it, or make them anew"
            raise ParameterError(key, given[key], "is given beside cells", remedy)
    for key in ("budget", "places", "explore"):
        if given.get(key) is not None:
            raise ParameterError(key, given[key], "needs single rows, and cells have none", "replay the rows")
    chosen = dict(given)
    if added.family is not None and chosen.get("family") is None:
        chosen["family"] = added.family
    options = replace(Options(**chosen), shuffles=0)  # what is added up has one order only
    if added.clients.folds == 1:
        options = replace(options, replays=0)
    options.check(added.past.layout)
    return added.past, options


def run(past: Past, options: Options, *, progress: Shown = None, command: str | None = None) -> Backtest:
    """Replay everything over what was read."""
    terms = make_terms(past, family=options.family, bound=options.bound)
    return _Work(past, terms, options, progress).run(command)


class _Work:
    """One backtest under way."""

    def __init__(self, past: Past, terms: Terms, options: Options, progress: Shown) -> None:
        self.past, self.terms, self.options, self.shown = past, terms, options, progress
        self.clients: Crowd = past.clients
        self.late: Late | None = late_of(past.layout)
        self.log = None
        if self.clients.logged is not None and self.clients.propensity is not None:
            assert isinstance(self.clients, Clients)
            self.log = Log.of(self.clients)
        self.wider = WIDER if self.clients.folds is not None else 1.0
        self.policies = options.tried
        self.rivals = rivals(self.clients, options.limits, options.commit)
        self.said = check_categories(past)
        self.heard: set[str] = set()  # policies whose warnings were heard
        if isinstance(self.clients, Grouped):
            for policy in self.policies:
                view = policy.view(terms.categories[0])
                self.clients.check_policy(view.statistic, policy.rule.under(view.law).needs_values, str(policy))

    def run(self, command: str | None) -> Backtest:
        options = self.options
        draws = [self._seeds(policy) for policy in self.policies]
        shuffles = options.shuffles if self.log is None else 0
        again = sum(self._is_drawn(policy) for policy in self.policies) * options.replays
        total = sum(draws) + len(self.policies) * (options.replays + shuffles) + again + 1
        with Progress(total=total, shown=self.shown, title="replaying") as self.progress:
            everybody = self.rivals[ALL](self._scene()).table
            entries = [
                self._entry(policy, seeds, everybody) for policy, seeds in zip(self.policies, draws, strict=True)
            ]
            found = {name: rival(self._scene()) for name, rival in self.rivals.items()}
            differences, variances = self._resample()
            mixed = self._shuffle(shuffles)
        for place, entry in enumerate(entries):
            name = entry.name
            entries[place] = replace(
                entry, resampled=differences[name], seed_variance=variances.get(name), shuffled=mixed.get(name)
            )
        entries += [
            Entry(name, RIVAL, each.table, everybody, each.clients(), resampled=differences[name], wider=self.wider)
            for name, each in found.items()
        ]
        return Backtest(self.past, self.terms, options, entries, self.said, command)

    def _is_drawn(self, policy: Policy) -> bool:
        """Whether its seed makes a difference."""
        return policy.draws or policy.floor > 0.0 or self.options.limits is not None

    def _seeds(self, policy: Policy) -> int:
        """How many seeds make a difference."""
        return self.options.seeds if self._is_drawn(policy) else 1

    def _scene(self, weights: Any = None, replicate: int = 0) -> Scene:
        options = self.options
        splits = 1 if weights is not None else 10 if len(self.clients) <= MANY_CLIENTS else 2
        price = self.terms.categories[0].price
        return Scene(self.clients, weights, options.limits, self.log, price, options.seed + replicate, splits)

    def _replay(self, clients: Crowd, policy: Policy, seed: int, weights: Any = None, *, trace: bool = False) -> Replay:
        with warnings.catch_warnings(record=True) as heard:
            # What the first replay says is enough.
            warnings.simplefilter("ignore" if str(policy) in self.heard else "always", ProfitableWarning)
            found = replay(
                clients,
                self.terms.categories,
                policy,
                seed=seed,
                late=self.late,
                limits=self.options.limits,
                weights=weights,
                trace=trace,
            )
        self.heard.add(str(policy))
        for each in heard:
            if issubclass(each.category, ProfitableWarning):
                self.said.append(f"{policy}: {each.message}")
            else:
                warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
        self.progress.update(self.progress.done + 1, title=f"replaying {policy}")
        return found

    def _earned(self, clients: Crowd, found: Replay, profit: FloatArray | None = None) -> FloatArray:
        """The profit of a replay by cell, [R, K]; `profit` is that of accepting everybody without a limit."""
        if found.taken is not None:
            return clients.by_cell(found.taken * clients.profit)
        return np.where(found.accepted, clients.profit_by_cell() if profit is None else profit, 0.0)

    def _entry(self, policy: Policy, seeds: int, everybody: FloatArray) -> Entry:
        profit, clients = self._scene().profit, self.clients
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
        return Entry(
            str(policy),
            POLICY,
            earned / seeds,
            everybody,
            number / seeds,
            seeds=seeds,
            seed_error=float(np.std(totals, ddof=1) / np.sqrt(seeds)) if seeds > 1 else None,
            varying=self._varying(accepted / seeds),
            accepted=accepted / seeds,
            evidence=first.evidence,
            patience=first.patience,
            decided=first.accepted,
            off_policy=None if self.log is None else evaluate(self.log, accepted / seeds),
            wider=self.wider,
        )

    def _varying(self, accepted: FloatArray) -> float | None:
        """How many clients whose profit stands out are refused; unknown where a log or a limit decides, too."""
        if self.log is not None or self.options.limits is not None:
            return None
        clients = self.clients.counts
        refused = ((1.0 - accepted) * clients).sum(axis=0) / np.maximum(clients.sum(axis=0), 1.0)
        return varying_of(self.clients.standing_out(), refused)

    def _resample(self) -> tuple[dict[str, FloatArray], dict[str, float]]:
        """The differences to accepting all in bootstrap portfolios by round, [B, R], and their variance over seeds.

        A policy that draws at random is replayed twice in each.  The difference is the mean of the two, and how far
        they are apart says what a seed brings.
        """
        options, size = self.options, (self.options.replays, self.clients.rounds)
        found = {name: np.empty(size) for name in (*map(str, self.policies), *self.rivals)}
        apart: dict[str, list[float]] = {str(policy): [] for policy in self.policies if self._is_drawn(policy)}
        for replicate in range(options.replays):
            weights = weights_of(self.clients, self.log, options.seed, replicate)
            scene = self._scene(weights, replicate)
            everybody = self.rivals[ALL](scene).table.sum(axis=1)
            for name, rival in self.rivals.items():
                found[name][replicate] = rival(scene).table.sum(axis=1) - everybody
            for policy in self.policies:
                name, first = str(policy), options.seed + options.seeds + 2 * replicate
                times = [
                    self._earned(self.clients, self._replay(self.clients, policy, seed, weights), scene.profit)
                    for seed in range(first, first + (2 if name in apart else 1))
                ]
                found[name][replicate] = np.mean(times, axis=0).sum(axis=1) - everybody
                if name in apart:
                    apart[name].append(float((times[0] - times[1]).sum()))
        return found, {name: float(np.mean(np.square(gaps)) / 2.0) for name, gaps in apart.items() if gaps}

    def _shuffle(self, number: int) -> dict[str, Shuffled]:
        """The difference to accepting all when time is shuffled, by policy."""
        if not number:
            return {}
        assert isinstance(self.clients, Clients)
        found: dict[str, list[float]] = {str(policy): [] for policy in self.policies}
        for each in range(number):
            clients = shuffled(self.clients, self.options.seed, each)
            scene = Scene(clients, None, self.options.limits, None, self.terms.categories[0].price, self.options.seed)
            everybody = float(self.rivals[ALL](scene).table.sum())
            for policy in self.policies:
                once = self._replay(clients, policy, self.options.seed + each)
                found[str(policy)].append(float(self._earned(clients, once).sum()) - everybody)
        root = number**0.5
        return {
            name: Shuffled(float(np.mean(values)), float(np.std(values, ddof=1)) / root)
            for name, values in found.items()
        }


class _Backtesting(Protocol):
    """`backtest`, and `backtest.cells` beside it."""

    def __call__(self, data: Any, *, progress: Shown = None, command: str | None = None, **given: Any) -> Backtest: ...

    def cells(
        self,
        frame: Any,
        *,
        id: str | None = None,
        fold: str | None = None,
        bins: int | None = None,
        family: Family | str | None = None,
        **layout: Any,
    ) -> Cells: ...


_backtest.__name__ = _backtest.__qualname__ = "backtest"
_backtest.cells = cells  # type: ignore[attr-defined]
backtest = cast("_Backtesting", _backtest)
