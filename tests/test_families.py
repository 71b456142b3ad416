"""Every family beyond the agent: added up in an engine, shared out by expected means.

`tests/matrix.py` has the families; a new row there is tested here, too.
"""

import math
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import profitable as pb
from profitable.errors import InputError, ParameterError
from profitable.kernels.coded_view import Support
from profitable.kernels.law import GAMMA, Law
from profitable.kernels.statistic import Statistic
from profitable.model.posterior import expected_means
from profitable.model.view import View
from profitable.past.layout import Layout
from profitable.past.read import read
from profitable.replay.family_choice import choose_family
from profitable.replay.replay import replay
from tests import formulas
from tests.matrix import FAMILIES, FamilyRow

every_family = pytest.mark.parametrize("row", FAMILIES, ids=str)
ENGINES = {
    "pandas": lambda table: table,
    "polars": lambda table: pl.from_pandas(table).lazy(),
    "duckdb": lambda table: duckdb.connect().from_arrow(
        pa.Table.from_pandas(table, preserve_index=False)
    ),
}


def past_of(
    row: FamilyRow, rounds: int = 12, clients: int = 9
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Clients of two categories, one below its threshold and one at it, and what their
    columns mean.
    """
    size = rounds * clients
    halves = [row.rewards(size, seed=1), row.rewards(size, seed=2, mean=row.threshold)]
    table = pd.DataFrame(
        {
            "week": np.tile(np.repeat(np.arange(1, rounds + 1), clients), 2),
            "segment": np.repeat(["low", "even"], size),
            "back": np.concatenate(halves).astype(np.float64),
        }
    )
    layout = {
        "category": "segment",
        "time": "week",
        "reward": "back",
        "cost": row.threshold,
        "revenue": 1.0,
    }
    return table, layout


@pytest.mark.parametrize("engine", ENGINES)
@every_family
def test_cells_are_what_rows_are(row: FamilyRow, engine: str) -> None:
    """The sums are those of an independent formula, and a replay has the same evidence
    in every round.
    """
    table, layout = past_of(row)
    past = read(table, Layout(**layout))
    cells = pb.backtest.cells(ENGINES[engine](table), family=row.family, **layout)
    for k, name in enumerate(cells.clients.names):
        by_hand = math.fsum(map(row.statistic, table["back"][table["segment"] == name]))
        assert cells.clients.by_category("total")[k] == pytest.approx(by_hand, rel=1e-9)
    terms = choose_family(past, family=row.family).categories
    rows, added = (
        replay(each, terms, pb.KLUCB(), seed=1, trace=True)
        for each in (past.clients, cells.clients)
    )
    assert rows.evidence is not None
    assert rows.evidence.max() > 0.5
    np.testing.assert_allclose(added.evidence, rows.evidence, rtol=1e-7, atol=1e-7)  # type: ignore[arg-type]
    first, second = (
        pb.backtest(each, policies=["kl-ucb"], family=row.family, replays=0, **more)
        for each, more in ((table, {**layout, "shuffles": 0}), (cells, {}))
    )
    assert second["kl-ucb"].profit == pytest.approx(first["kl-ucb"].profit, rel=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@every_family
def test_cells_refuse_the_rewards_that_rows_refuse(row: FamilyRow, engine: str) -> None:
    """Not the engine: it is asked for no logarithm of a negative number."""
    table, layout = past_of(row, rounds=3, clients=4)
    for bad in (each for each in row.illegal if abs(each) < 1e100):
        wrong = table.assign(back=table["back"].where(table.index != 5, bad))
        with pytest.raises(InputError) as of_rows:
            pb.backtest(wrong, policies=["kl-ucb"], family=row.family, **layout)
        cells = pb.backtest.cells(ENGINES[engine](wrong), family=row.family, **layout)
        with pytest.raises(InputError) as of_cells:
            pb.backtest(cells, policies=["kl-ucb"], family=row.family)
        assert str(of_cells.value).partition(" = ")[2] == str(of_rows.value).partition(" = ")[2]


@pytest.mark.usefixtures("own_classes")
def test_a_statistic_that_does_not_say_how_an_engine_computes_it_is_refused() -> None:
    class Root(Statistic):
        code = 99

        def range(self, low: float, high: float) -> tuple[float, float]:
            return 0.0, math.inf

        def of_mean(self, mean: float) -> float:
            return math.sqrt(mean)

        def mean_of(self, value: float) -> float:
            return value**2

    class Rooted(pb.Family):
        name = "rooted"

        def make_view(self) -> View:
            return View(Law(GAMMA, size=1.0), Root(), Support(0.0, open=True))

    table, layout = past_of(FAMILIES[5])
    with pytest.raises(InputError) as caught:
        pb.backtest.cells(table, family=Rooted(), **layout)
    assert "Rooted()" in str(caught.value)
    assert "backtest the rows" in str(caught.value)


@every_family
def test_the_expected_mean_is_that_of_an_independent_formula(row: FamilyRow) -> None:
    """By which places and budgets are shared out."""
    for size, seed in ((12, 3), (60, 4)):
        rewards = row.rewards(size, seed).tolist()
        total = math.fsum(map(row.statistic, rewards))
        found = expected_means(row.family.view(), np.array([float(size)]), np.array([total]))
        assert found[0] == pytest.approx(formulas.expected_mean(row, rewards), rel=1e-5)


@pytest.mark.parametrize("row", [row for row in FAMILIES if row.domain is not None], ids=str)
def test_a_conjugate_prior_of_a_transformed_family_is_about_the_statistic(row: FamilyRow) -> None:
    """Not about the rewards; the explanation says so.

    Against SciPy's law of the prior itself.
    """
    target = row.of_mean(row.threshold)
    priors: dict[str, tuple[pb.Prior, Any]] = {
        "inverse-gamma": (
            pb.Prior.inverse_gamma(shape=3.0, scale=target),
            stats.invgamma(3.0, scale=target),
        ),
        "normal": (pb.Prior.normal(mean=target - 0.4, sd=0.5), stats.norm(target - 0.4, 0.5)),
    }
    kind = "inverse-gamma" if row.family.view().law.code == GAMMA else "normal"
    prior, law = priors.pop(kind)
    category = row.category(prior=prior)
    agent = pb.Agent([category], policy=pb.BayesUCB())
    assert agent["it"].evidence == pytest.approx(-law.logsf(target), rel=1e-9)
    assert f"Believed before: {prior}, of the statistic and not of the rewards." in agent.explain(
        "it"
    )
    with pytest.raises(ParameterError, match="is not conjugate"):
        row.category(prior=priors.popitem()[1][0])
    like = pb.Prior.like(clients=7, mean=row.mean)
    clients, total = like.imaginary_clients(row.family)
    assert (clients, total) == pytest.approx((7.0, 7.0 * row.of_mean(row.mean)), rel=1e-12)
    told = pb.Agent([row.category(prior=like)], policy=pb.BayesUCB())
    assert f"Believed before: {like}." in told.explain("it")
