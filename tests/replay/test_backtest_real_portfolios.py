"""docs/real-portfolios.md says what the two real files say: the numbers without chance,
replayed anew.
"""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import profitable as pb
from tests.past.tables import SHARED

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/real-portfolios.md").read_text(encoding="utf-8")
SCRIPT = ROOT / "docs/renew_real_portfolios.py"
ONCE = {"replays": 0, "shuffles": 0, "progress": False}
WITHOUT_CHANCE = [
    "kl-ucb",
    "kl-ucb+:count=rounds",
    "bayes-ucb",
    "optimal:horizon",
    "kl-ucb:forget=0.97",
]

pytestmark = pytest.mark.skipif(
    not SHARED.exists(), reason="the real portfolios are not here: no folder shared/data"
)


@pytest.fixture(scope="module")
def columns() -> dict[str, Any]:
    """Return the layouts of the script that makes the page."""
    found = spec_from_file_location("renew_real_portfolios", SCRIPT)
    assert found is not None
    assert found.loader is not None
    script = module_from_spec(found)
    found.loader.exec_module(script)
    return {
        name: {key: value for key, value in run.items() if key != "policies"}
        for name, run in script.RUNS.items()
    }


@pytest.fixture(scope="module")
def loans() -> pd.DataFrame:
    return pd.read_csv(SHARED / "lendingclub_2007_2011.csv.gz")


def said(table: str, column: int) -> dict[str, float]:
    """The differences of a table of the page, by policy."""
    text = PAGE.partition(f"<!-- table: {table} -->")[2].partition("<!-- end -->")[0]
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| `")]
    return {row[1].strip(" `"): float(row[1 + column].split()[0].replace("−", "-")) for row in rows}


@pytest.mark.parametrize(
    ("column", "name", "family"),
    [
        (1, "loans-at-once", ""),
        (2, "loans", ""),
        (3, "loans-at-maturity", ""),
        (1, "loans-at-once", "-normal"),
        (2, "loans", "-normal"),
    ],
)
def test_loans_by_purpose(
    loans: pd.DataFrame, columns: dict[str, Any], column: int, name: str, family: str
) -> None:
    found = pb.backtest(loans, **columns[name + family], **ONCE, policies=WITHOUT_CHANCE)
    assert found["accept all"].profit == pytest.approx(13_950_706.24)
    page = said(f"loans{family}", column)
    for entry in found:
        if "cross" not in entry.name and entry.name != "accept all":
            assert round(entry.difference.middle / 1e6, 2) == page[entry.name], entry.name
    # By hand: what accepting the purposes that lose costs.
    by_purpose = (loans.pv5 - loans.funded_amnt).groupby(loans.purpose).sum()
    assert found["hindsight"].difference.middle == pytest.approx(
        -by_purpose[by_purpose < 0.0].sum()
    )


@pytest.mark.parametrize("category", ["purpose", "grade", "addr_state"])
def test_the_default_loses_nothing_at_real_dates(
    loans: pd.DataFrame, columns: dict[str, Any], category: str
) -> None:
    """As they come, kl-ucb lost 2.0 to 7.2 M."""
    given = {**columns["loans-at-maturity"], "category": category, **ONCE}
    found = pb.backtest(loans, **given)
    assert [entry.name for entry in found.policies] == ["kl-ucb", "kl-ucb:forget=0.97"]
    assert found.past.learns_from == 38
    for entry in found.policies:
        assert abs(entry.difference.middle) < 0.01 * found["accept all"].profit


def test_a_promise_is_per_unit_lent(loans: pd.DataFrame, columns: dict[str, Any]) -> None:
    """As money for each client, 1.14 is nothing: all policies stop at once, and lose
    all that there is to earn.
    """
    late = {**columns["late-open-value"], "open_value": 1.14, **ONCE}
    found = pb.backtest(loans, **late, policies="kl-ucb")["kl-ucb"]
    assert found.difference.middle == pytest.approx(0.0, abs=1e-6)


def test_calls_by_job(columns: dict[str, Any]) -> None:
    calls = pd.read_csv(SHARED / "bank_marketing_full.csv.gz")
    found = pb.backtest(calls, **columns["calls"], **ONCE, policies=WITHOUT_CHANCE)
    assert found["accept all"].profit == 10 * calls.y.sum() - len(calls) == 7_679
    page = said("calls", 1)
    for entry in found.policies:
        assert round(entry.difference.middle / 1e3, 1) == page[entry.name], entry.name


def test_traps(loans: pd.DataFrame) -> None:
    """Return the profit of accepting everybody if rows are left out, or a default is a
    total loss, by pandas.
    """
    profit = loans.pv5 - loans.funded_amnt
    meets = ~loans.loan_status.str.startswith("Does not meet")
    lost = loans.loan_status.str.contains("Charged Off")
    wrong = [
        ("do not meet the credit policy", profit[meets].sum()),
        ("have no last payment", profit[loans.last_pymnt_d.notna()].sum()),
        ("A default counted as total loss", np.where(lost, -loans.funded_amnt, profit).sum()),
    ]
    for words, value in wrong:
        line = next(line for line in PAGE.splitlines() if words in line and line.startswith("| "))
        right, false = re.findall(r"(−?[\d.]+) M", line)[-2:]
        assert float(right) == round(profit.sum() / 1e6, 2)
        assert float(false.replace("−", "-")) == round(value / 1e6, 2)


@pytest.mark.parametrize("name", ["loans", "loans-at-once"])
def test_cells_decide_as_rows_do(loans: pd.DataFrame, columns: dict[str, Any], name: str) -> None:
    """The months of the file are texts; sums of money per unit lent agree up to
    rounding.
    """
    layout = columns[name]
    cells = pb.backtest.cells(loans.assign(row=loans.index), id="row", **layout)
    rows, added = (
        pb.backtest(data, **more, **ONCE, policies=WITHOUT_CHANCE)
        for data, more in ((loans, layout), (cells, dict[str, Any]()))
    )
    for one, other in zip(rows.policies, added.policies, strict=True):
        np.testing.assert_array_equal(other.decided, one.decided)  # type: ignore[arg-type]
        assert other.profit == pytest.approx(one.profit)
    assert added["hindsight"].profit == pytest.approx(rows["hindsight"].profit)
    assert cells.past.left_out == rows.past.left_out
