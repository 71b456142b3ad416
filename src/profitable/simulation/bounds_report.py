"""The theorems for a scenario, as a table.

It has the lower bound, and the finite-time bounds at a horizon.
"""

import math
from collections.abc import Callable
from typing import Any

from profitable.common import check
from profitable.common.text_tables import number_text, text_table
from profitable.errors import InputError, MissingLibraryError
from profitable.policy.shared_orders import orders_of
from profitable.simulation.scenario import Scenario, Truth
from profitable.theory import regret_bounds
from profitable.theory.order_bound import ordered_lower_bound
from profitable.theory.regret_bounds import LowerBound


class BoundsReport:
    """Theorems 1, 2 and 4 and section 7 for a scenario.

    Theorem 3 (Bayes-UCB-4P) is left out because it needs constants of the prior that
    the paper leaves open.  Its leading term tends to the same asymptotic upper bound.

    >>> from profitable import Bernoulli, Category, Truth
    >>> coin = Truth(Category("coin", Bernoulli(), threshold=0.6), mean=0.5, clients=4)
    >>> report = BoundsReport(Scenario("one coin", [coin]), horizon=10**9)
    >>> round(report.to_dict()["lower_bound_per_log_t"], 3)
    4.899
    """

    def __init__(self, scenario: Scenario, *, horizon: int = 10_000) -> None:
        if not isinstance(scenario, Scenario):
            raise InputError(
                "scenario",
                scenario,
                "must be a Scenario",
                "give Scenario(...) or Scenario.load(path)",
            )
        if not scenario.fits_theorems:
            raise InputError(
                "scenario",
                scenario.name,
                "has means that change, and the bounds are about means that do not"
                if scenario.moves
                else "is about loans, and the bounds are about outcomes that are known at once",
                "give one mean for each category",
            )
        self.scenario = scenario
        self.horizon = check.whole("horizon", horizon, least=3, most=10**15)
        self.rows = [self._row(truth) for truth in scenario.truths]
        self.note = ""
        self.ordered = self._ordered() if orders_of(scenario.categories) else None

    def _ordered(self) -> LowerBound | None:
        """Return the bound for policies that know the orders; None if means fall."""
        truths = self.scenario.truths
        try:
            bound = ordered_lower_bound(
                self.scenario.categories,
                [truth.fixed_mean for truth in truths],
                sigmas=[truth.sigma for truth in truths],
            )
        except MissingLibraryError:
            raise
        except InputError as error:
            self.note = f"There is no bound with the order: {error}\n"
            return None
        self.note = (
            "With the order: the same for policies that know it. Only bands that settle the "
            "cut-off\nneed be explored.\n"
        )
        for row, clients, regret in zip(
            self.rows, bound.clients_per_log_t, bound.regret_per_log_t, strict=True
        ):
            row |= {"ordered_clients_per_log_t": clients, "ordered_regret_per_log_t": regret}
        return bound

    def _row(self, truth: Truth) -> dict[str, Any]:
        category, arrivals = truth.category, truth.clients.bounds()
        row: dict[str, Any] = {
            "category": category.name,
            "family": str(category.family),
            "mean": truth.fixed_mean,
            "threshold": category.threshold,
            "profitable": truth.profitable,
            "loss_per_client": truth.loss,
            "clients_per_round": {
                "smallest": arrivals.smallest,
                "average": arrivals.average,
                "largest": _finite(arrivals.largest),
            },
            "information": None,
            "clients_per_log_t": 0.0,
            "regret_per_log_t": 0.0,
            "upper_regret_per_log_t": 0.0,
            "kl_ucb": None,
            "kl_ucb_turned_away": None,
            "thompson": None,
        }
        horizon = float(self.horizon)
        model = (category.family, truth.fixed_mean, category.threshold)
        if truth.profitable:
            row["kl_ucb_turned_away"] = _if_it_applies(
                lambda: _finite(regret_bounds.kl_ucb_profitable(horizon=horizon, arrivals=arrivals))
            )
            return row
        nats = regret_bounds.information(*model, sigma=truth.sigma)
        row["information"] = _finite(nats)
        if not 0.0 < nats < math.inf:
            return row
        row["clients_per_log_t"] = 1.0 / nats
        row["regret_per_log_t"] = truth.loss / nats
        row["upper_regret_per_log_t"] = truth.loss / nats * arrivals.average / arrivals.smallest
        row["thompson"] = _if_it_applies(
            lambda: regret_bounds.thompson_unprofitable(*model, horizon=horizon, arrivals=arrivals)
        )
        upper = _if_it_applies(
            lambda: regret_bounds.kl_ucb_unprofitable(*model, horizon=horizon, arrivals=arrivals)
        )
        if upper is not None:
            row["kl_ucb"] = {
                "clients": _finite(upper.clients),
                "leading": _finite(upper.leading),
                "epsilon": upper.epsilon,
                "vacuous": upper.vacuous,
                **{key: _finite(value) for key, value in upper.constants.items()},
            }
        return row

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready values."""
        return {
            "scenario": self.scenario.name,
            "horizon": self.horizon,
            "lower_bound_per_log_t": self.scenario.lower_bound().total,
            **({"ordered_lower_bound_per_log_t": self.ordered.total} if self.ordered else {}),
            "upper_bound_per_log_t": math.fsum(row["upper_regret_per_log_t"] for row in self.rows),
            "categories": self.rows,
        }

    def table(self) -> str:
        """Return the report as text."""
        headers = (
            "category",
            "mean",
            "threshold",
            "d(mean, thr.)",
            "clients/log t",
            "regret/log t",
            "upper regret/log t",
        )
        rows = [
            [
                row["category"] + (" (+)" if row["profitable"] else " (-)"),
                number_text(row["mean"]),
                number_text(row["threshold"]),
                number_text(row["information"]),
                number_text(row["clients_per_log_t"]) if row["clients_per_log_t"] else "-",
                number_text(row["regret_per_log_t"]) if row["regret_per_log_t"] else "-",
                number_text(row["upper_regret_per_log_t"])
                if row["upper_regret_per_log_t"]
                else "-",
            ]
            for row in self.rows
        ]
        totals = self.to_dict()
        sums = (totals["lower_bound_per_log_t"], totals["upper_bound_per_log_t"])
        rows.append(["sum", "", "", "", "", *(number_text(each) for each in sums)])
        if self.ordered is not None:
            headers += ("with the order",)
            regrets = [*self.ordered.regret_per_log_t, self.ordered.total]
            for row, regret in zip(rows, regrets, strict=True):
                row.append(number_text(regret) if regret else "-")
        finite = [
            [
                row["category"] + (" (+)" if row["profitable"] else " (-)"),
                number_text(self.horizon * row["clients_per_round"]["average"]),
                "-" if row["kl_ucb"] is None else _clients(row["kl_ucb"]["clients"]),
                *(
                    "-" if row["kl_ucb"] is None else _clients(row["kl_ucb"][key])
                    for key in ("epsilon", "H_1", "beta_1")
                ),
                "-" if row["kl_ucb"] is None else ("yes" if row["kl_ucb"]["vacuous"] else "no"),
                _clients(row["kl_ucb_turned_away"]),
                _clients(row["thompson"]),
            ]
            for row in self.rows
        ]
        finite_headers = (
            "category",
            "all clients",
            "Thm 2 (i)",
            "epsilon",
            "H_1",
            "beta_1",
            "vacuous",
            "Thm 2 (ii)",
            "Thm 4 (i)",
        )
        return (
            f"{self.scenario.name}\n\n"
            "Per log t, in the limit ((+) profitable, (-) unprofitable): "
            "Theorem 1 below, section 7 above.\n"
            f"{text_table(headers, rows)}\n{self.note}\n"
            f"At T = {number_text(self.horizon)}, expected clients: kl-UCB-4P with c = 3 accepts "
            "at "
            "most Thm 2 (i) of an\n"
            "unprofitable category and turns away at most Thm 2 (ii) of a profitable one (needs "
            "bounded arrivals);\n"
            "Thm 4 (i) is the leading term for TS-4P.\n"
            f"{text_table(finite_headers, finite)}"
        )


def _if_it_applies(bound: Callable[[], Any]) -> Any:
    """Return a theorem's value; None where its conditions do not hold."""
    try:
        return bound()
    except InputError:
        return None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _clients(value: float | None) -> str:
    return "-" if value is None else number_text(float(f"{value:.4g}"))
