"""docs/real-portfolios.md says what the two real files say: the numbers without chance, replayed anew."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import profitable as pb
from tests.replay.tables import SHARED

ROOT = Path(__file__).parents[2]
DATA = SHARED
PAGE = (ROOT / "docs/real-portfolios.md").read_text(encoding="utf-8")
LOANS: dict[str, Any] = {"category": "purpose", "time": "issue_d", "reward": "pv5", "amount": "funded_amnt"}
CALLS: dict[str, Any] = {
    "category": "job",
    "time": ["year", "month", "day"],
    "date_format": "%Y %b %d",
    "round": "day",
    "reward": "y",
    "cost": 1,
    "revenue": 10,
}
ONCE = {"replays": 0, "shuffles": 0, "progress": False}
WITHOUT_CHANCE = ["kl-ucb", "kl-ucb+", "bayes-ucb", "optimal:horizon", "kl-ucb:forget=0.97"]

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the real portfolios are not here: no folder shared/data")


@pytest.fixture(scope="module")
def loans() -> pd.DataFrame:
    return pd.read_csv(DATA / "lendingclub_2007_2011.csv.gz")


def said(table: str, column: int) -> dict[str, float]:
    """The differences of a table of the page, by policy."""
    text = PAGE.partition(f"<!-- table: {table} -->")[2].partition("<!-- end -->")[0]
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| `")]
    return {row[1].strip(" `"): float(row[1 + column].split()[0].replace("−", "-")) for row in rows}


@pytest.mark.parametrize(("column", "dates"), [(1, {}), (2, {"known": "last_pymnt_d"})], ids=["at once", "real dates"])
@pytest.mark.parametrize("family", [None, "normal"])
def test_loans_by_purpose(loans: pd.DataFrame, column: int, dates: dict[str, Any], family: str | None) -> None:
    found = pb.backtest(loans, **LOANS, **dates, **ONCE, family=family, policies=WITHOUT_CHANCE)
    assert found["accept all"].profit == pytest.approx(13_950_706.24)
    page = said("loans" if family is None else "loans-normal", column)
    for entry in found:
        if "cross" not in entry.name and entry.name != "accept all":
            assert round(entry.difference.middle / 1e6, 2) == page[entry.name], entry.name
    # By hand: what accepting the purposes that lose costs.
    by_purpose = (loans.pv5 - loans.funded_amnt).groupby(loans.purpose).sum()
    assert found["hindsight"].difference.middle == pytest.approx(-by_purpose[by_purpose < 0.0].sum())


def test_calls_by_job() -> None:
    calls = pd.read_csv(DATA / "bank_marketing_full.csv.gz")
    found = pb.backtest(calls, **CALLS, **ONCE, policies=WITHOUT_CHANCE)
    assert found["accept all"].profit == 10 * calls.y.sum() - len(calls) == 7_679
    page = said("calls", 1)
    for entry in found.policies:
        assert round(entry.difference.middle / 1e3, 1) == page[entry.name], entry.name


def test_traps(loans: pd.DataFrame) -> None:
    """What accepting everybody earns if rows are left out, or a default is a total loss, by pandas."""
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
