"""Cut-off tables: what each band of an order earns, and where to cut it.

Two kinds of numbers stand side by side.  The mean of a band is its own, with the middle
of its own posterior.  The *fit* is what its neighbours make of it: the isotonic
regression of all bands, with the interval of `kernels/order_fit.py`.

What is accepted at a cut-off is the band and all above it.  Its profit is that of their
applicants at the mean of each band; its interval combines those of the bands (Zou and
Donner 2008): squared distances from the mean add up.

The best cut-off is the one that earns most if the fit is right.  Nobody knows that
beforehand: the best of many looks better than it is.

>>> own = {"left": False, "worth": 1.0, "threshold": 0.8}
>>> seen = (0.7, 0.58, 0.81), (0.9, 0.83, 0.95)  # means with intervals; so is the fit
>>> low = CutoffRow("low", 60, *seen[0], *seen[0], applicants=60.0, **own)
>>> high = CutoffRow("high", 90, *seen[1], *seen[1], applicants=90.0, **own)
>>> table = CutoffTable("score", [low, high], round=3, per="round")
>>> [round(row.profit, 6) for row in table.rows]  # of a cut-off below each of them
[3.0, 9.0]
>>> table.best
'high'
"""

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from profitable.agent.decision import Decision
from profitable.agent.explanation import Verdict
from profitable.agent.ledger import Ledger
from profitable.common.extras import extra
from profitable.common.text_tables import html_table, money_text, number_text, several, text_table
from profitable.common.types import FloatArray, IntArray
from profitable.errors import UnknownCategoryError
from profitable.kernels.agent_table import AgentRow
from profitable.kernels.order import BandRow, new_bands
from profitable.kernels.order_fit import fit_intervals, weigh_posteriors
from profitable.model.posterior import Posterior
from profitable.model.view import View
from profitable.policy.policies import TRUST

if TYPE_CHECKING:
    from altair import HConcatChart

BAND_SHARE = 0.95  # of a posterior that an interval holds
PER_ROUND, PER_CLIENTS = "round", "clients"  # what profits are counted by
BAND_HEADERS = (
    *("band", "clients", "mean", "95 %", "fit", "95 %", "threshold"),
    *("accepted", "mean above", "profit", "95 %", "pays"),
)


@dataclass(frozen=True, slots=True)
class CutoffRow:
    """One band of an order, and what a cut-off below it accepts.

    Attributes
    ----------
    name : str
        The band.
    clients : int
        Known outcomes.
    mean, low, high : float or None
        Their mean reward, and the middle 95 % of its posterior.
    fit, fit_low, fit_high : float or None
        The isotonic fit with its interval; None outside the order.
    threshold : float
        The mean that pays.
    left : bool
        Whether it left the order, because the order would have to be wrong otherwise.
    applicants : float
        How many clients ask: in a round, or among those that are counted.
    worth : float
        Money for each unit of reward of one client.
    acceptance : float or None
        Share of all applicants in this band and those above.
    mean_above : float or None
        Mean reward of these applicants.
    profit, profit_low, profit_high : float or None
        What they earn.
    pays : float or None
        Probability that the band pays, under the order.
    evidence, patience : float or None
        Of the next decision.
    accepted : bool or None
        Whether that accepts it; for a policy that draws, in most rounds.
    """

    name: str
    clients: int
    mean: float | None
    low: float | None
    high: float | None
    fit: float | None
    fit_low: float | None
    fit_high: float | None
    threshold: float
    left: bool
    applicants: float
    worth: float
    acceptance: float | None = None
    mean_above: float | None = None
    profit: float | None = None
    profit_low: float | None = None
    profit_high: float | None = None
    pays: float | None = None
    evidence: float | None = None
    patience: float | None = None
    accepted: bool | None = None


class CutoffTable:
    """The bands of an order, from the lowest to the highest, and the best cut-off.

    `Agent.cutoff` makes it.  It prints as a table with the highest band at the top.

    Attributes
    ----------
    order : str
        Name of the order.
    rows : list of CutoffRow
        Its bands.
    round : int
        The rounds decided so far.
    per : str
        "round" if profits are those of a round, or "clients" if they are those of the
        clients that are counted.

    Examples
    --------
    >>> import profitable as pb
    >>> bands = [
    ...     pb.Category(f"{low}-{low + 20}", pb.Bernoulli(), threshold=0.8, order="s")
    ...     for low in (600, 620, 640)
    ... ]
    >>> agent = pb.Agent(bands, policy="kl-ucb")
    >>> agent.observe("600-620", count=40, total=26)
    >>> agent.observe("620-640", count=50, total=42)
    >>> agent.observe("640-660", count=30, total=27)
    >>> table = agent.cutoff("s")
    >>> table.best
    '620-640'
    >>> round(table["620-640"].pays, 3)
    0.754
    """

    def __init__(self, order: str, rows: Sequence[CutoffRow], *, round: int, per: str) -> None:
        self.order, self.round, self.per = order, round, per
        self.rows = _accumulated(list(rows))

    def __getitem__(self, name: str) -> CutoffRow:
        for row in self.rows:
            if row.name == name:
                return row
        raise UnknownCategoryError(
            "band",
            name,
            f"is not in the order {self.order!r}",
            f"choose from {', '.join(row.name for row in self.rows)}",
        )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def best(self) -> str | None:
        """The band from which on accepting earns most by the fit; None if none pays."""
        total, most, best = 0.0, 0.0, None
        for row in reversed(self.rows):
            mean = row.mean if row.fit is None else row.fit
            if mean is not None:
                total += row.applicants * row.worth * (mean - row.threshold)
            if total > most:
                most, best = total, row.name
        return best

    @property
    def left(self) -> list[str]:
        """The bands that left the order."""
        return [row.name for row in self.rows if row.left]

    def sentence(self) -> str:
        """Say where to cut.

        Returns
        -------
        str
            One or two sentences.
        """
        best = self.best
        if best is None:
            said = "No cut-off pays so far." if self._known else "No outcome is known yet."
        else:
            row = self[best]
            assert row.profit is not None
            span = ""
            if row.profit_low is not None and row.profit_high is not None:
                span = f" (95 %: {_money(row.profit_low)} to {_money(row.profit_high)})"
            who = "each round earns" if self.per == PER_ROUND else "they earn"
            share = "" if row.acceptance is None else f"{100.0 * row.acceptance:.3g} % of the "
            said = (
                f"Best cut-off so far: {best} and better. It accepts {share}applicants, and "
                f"{who} {_money(row.profit)}{span}."
            )
        if self.left:
            why = "it contradicts it" if len(self.left) == 1 else "they contradict it"
            said += (
                f" {several(len(self.left), 'band')} left the order, because {why}: "
                f"{', '.join(self.left)}."
            )
        return said

    @property
    def _known(self) -> bool:
        return any(row.mean is not None for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON-ready values.

        Returns
        -------
        dict
            The order, the best cut-off, and one entry for each band.
        """
        return {
            "order": self.order,
            "round": self.round,
            "per": self.per,
            "best": self.best,
            "sentence": self.sentence(),
            "bands": [
                {
                    key: None if isinstance(value, float) and not math.isfinite(value) else value
                    for key, value in asdict(row).items()
                }
                for row in self.rows
            ],
        }

    def plot(self, path: str | os.PathLike[str] | None = None) -> "HConcatChart":
        """Draw means and fit against thresholds, and evidence against patience.

        Parameters
        ----------
        path : str or os.PathLike, optional
            File to write the chart to: SVG, PNG, PDF or HTML, by its ending.

        Returns
        -------
        altair.HConcatChart
            A chart that shows itself in notebooks.

        Raises
        ------
        InputError
            If the ending is not known, or an extra is missing.
        NotSavedError
            If the file cannot be written.
        """
        with extra("plot", "charts are drawn with it"):
            from profitable.agent.cutoff_chart import cutoff_chart
            from profitable.common.charts import saved
        return saved(cutoff_chart(self.to_dict()), path)

    def _cells(self) -> list[list[str]]:
        return [
            [
                row.name,
                number_text(row.clients),
                number_text(row.mean),
                _span(row.low, row.high),
                "left" if row.left else number_text(row.fit),
                _span(row.fit_low, row.fit_high),
                number_text(row.threshold),
                "-" if row.acceptance is None else f"{100.0 * row.acceptance:.3g} %",
                number_text(row.mean_above),
                "-" if row.profit is None else money_text(row.profit),
                _span(row.profit_low, row.profit_high, money_text),
                "-" if row.pays is None else f"{row.pays:.2f}",
            ]
            for row in reversed(self.rows)
        ]

    def __str__(self) -> str:
        return f"{text_table(BAND_HEADERS, self._cells())}\n{self.sentence()}"

    def __repr__(self) -> str:
        return f"<CutoffTable {self.order}: {self.sentence()}>"

    def _repr_html_(self) -> str:
        return html_table(self.sentence(), BAND_HEADERS, self._cells())


def _span(low: float | None, high: float | None, text: Any = number_text) -> str:
    return "-" if low is None or high is None else f"{text(low)} to {text(high)}"


def _money(value: float) -> str:
    return f"{value:,.{1 if abs(value) < 1e4 else 0}f}".replace(",", " ")


def _accumulated(rows: list[CutoffRow]) -> list[CutoffRow]:
    """Return the rows with what follows for each of them and all above."""
    everybody = sum(row.applicants for row in rows)
    asked = known = total = profit = below = above = 0.0
    is_sure, found = True, list[CutoffRow]()
    for row in reversed(rows):
        asked += row.applicants
        unit = row.applicants * row.worth
        if row.mean is not None and row.applicants > 0.0:
            known += row.applicants
            total += row.applicants * row.mean
            profit += unit * (row.mean - row.threshold)
            if row.low is None or row.high is None:
                is_sure = False
            else:
                below += (unit * max(row.mean - row.low, 0.0)) ** 2
                above += (unit * max(row.high - row.mean, 0.0)) ** 2
        found.append(
            replace(
                row,
                acceptance=asked / everybody if everybody > 0.0 else None,
                mean_above=total / known if known > 0.0 else None,
                profit=profit if known > 0.0 else None,
                profit_low=profit - math.sqrt(below) if known > 0.0 and is_sure else None,
                profit_high=profit + math.sqrt(above) if known > 0.0 and is_sure else None,
            )
        )
    return found[::-1]


# ------------------------------------------------------------------------- of an agent


def cutoff_table(
    ledger: Ledger,
    order: str,
    positions: IntArray,
    *,
    decision: Decision | None = None,
    applicants: FloatArray | None = None,
) -> CutoffTable:
    """Return the table of the bands at these positions, [M].

    `decision` is about these bands, and adds evidence and patience.  `applicants` are
    how many clients ask in each band; unless given, those of a round, or if the agent
    has not seen a round, the known clients.
    """
    categories, columns = ledger.categories, ledger.numbers[:, positions]
    views = [categories.view_of(k) for k in list[int](positions.tolist())]
    bands, ends = _weighed(columns, views, categories.policy.trust or TRUST, float(ledger.round))
    per, asked = PER_CLIENTS, applicants
    if asked is None:
        per, asked = _applicants(columns)
    rows: list[CutoffRow] = []
    for place, (k, view) in enumerate(zip(list[int](positions.tolist()), views, strict=True)):
        mean, low, high = _own(view, columns[:, place])
        fit, fit_low, fit_high = (
            None if math.isnan(value) else float(view.statistic.mean_of(value))
            for value in (bands[BandRow.FIT, place], *ends[:, place].tolist())
        )
        nats = bands[BandRow.EVIDENCE, place]
        rows.append(
            CutoffRow(
                name=categories.names[k],
                clients=int(columns[AgentRow.KNOWN, place]),
                mean=mean,
                low=low,
                high=high,
                fit=fit,
                fit_low=fit_low,
                fit_high=fit_high,
                threshold=float(columns[AgentRow.THRESHOLD, place]),
                left=bool(bands[BandRow.LEFT, place]),
                applicants=float(asked[place]),
                worth=float(columns[AgentRow.WORTH, place]) * _unit(ledger, k),
                pays=math.exp(-nats) if bands[BandRow.CLIENTS].any() else None,
            )
        )
    if decision is not None:
        rows = [_decided(row, decision[row.name], decision.policy.draws) for row in rows]
    return CutoffTable(order, rows, round=ledger.round, per=per)


def _weighed(
    columns: FloatArray, views: Sequence[View], trust: float, t: float
) -> tuple[FloatArray, FloatArray]:
    """Return the weighed bands, [rows, M], and the intervals of their fit, [2, M]."""
    bands = new_bands(len(views))
    for row, own in (
        (BandRow.CLIENTS, AgentRow.CLIENTS),
        (BandRow.TOTAL, AgentRow.TOTAL),
        (BandRow.CARRY, AgentRow.CARRY),
        (BandRow.TARGET, AgentRow.TARGET),
    ):
        bands[row] = columns[own]
    bands[BandRow.IMAGINARY] = [view.prior_clients for view in views]
    bands[BandRow.IMAGINARY_TOTAL] = [view.prior_total for view in views]
    ends = fit_intervals(views[0].law, trust, t, bands)
    weigh_posteriors(views[0].law, trust, t, bands)
    return bands, ends


def _own(view: View, column: FloatArray) -> tuple[float | None, float | None, float | None]:
    """Return the mean of a band and the middle of its own posterior."""
    clients, total = column[AgentRow.CLIENTS], column[AgentRow.TOTAL]
    if clients <= 0.0:
        return None, None, None
    mean = float(view.statistic.mean_of(total / clients))
    posterior = Posterior(view.with_prior(clients + view.prior_clients, total + view.prior_total))
    if not posterior.is_proper:
        return mean, None, None
    return (
        mean,
        posterior.quantile(0.5 - 0.5 * BAND_SHARE),
        posterior.quantile(0.5 + 0.5 * BAND_SHARE),
    )


def _applicants(columns: FloatArray) -> tuple[str, FloatArray]:
    """Return the clients of a round in each band, [M], or else the known ones."""
    came = columns[AgentRow.KNOWN] + columns[AgentRow.WAITING]
    rounds, since = columns[AgentRow.ROUNDS], came - columns[AgentRow.EARLIER]
    if (rounds > 0.0).all() and since.any():
        return PER_ROUND, since / rounds
    return PER_CLIENTS, came


def _unit(ledger: Ledger, k: int) -> float:
    """Return the unit of a client: 1, or the mean amount, if clients weigh as much."""
    lent, known = ledger.column(k)[AgentRow.LENT], ledger.column(k)[AgentRow.KNOWN]
    is_plain = not ledger.categories.view_of(k).by_money or ledger.categories.policy.forgets
    return ledger.unit(k) if is_plain or not known else lent / known


def _decided(row: CutoffRow, verdict: Verdict, draws: bool) -> CutoffRow:
    accepted = (verdict.propensity or 0.0) >= 0.5 if draws else verdict.accepted
    return replace(
        row, evidence=verdict.evidence, patience=verdict.patience, accepted=bool(accepted)
    )
