"""A first look at files of other people, and the command to start from."""

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable.errors import InputError
from profitable.past.first_look import FirstLook, first_look
from profitable.past.layout import Layout
from profitable.past.read import read
from tests.cli.test_app import call
from tests.past.exports import EXPORTS, lending_club, mailing, prosper, small_business
from tests.past.tables import CALLS, LOANS, needs_calls, needs_loans, write_csv

QUICK = ("--policy", "kl-ucb", "--replays", "0", "--shuffles", "0", "--json")
# What the command must say of each file, and what it may not decide by.
EXPECTED: dict[str, dict[str, Any]] = {
    "lending_club": {
        "category": "purpose",
        "time": "issue_d",
        "date_format": "%b-%Y",
        "reward": "total_pymnt",
        "amount": "loan_amnt",
        "required": 0,
        "known": "last_pymnt_d",
    },
    "small_business": {
        "category": "State",
        "time": "ApprovalDate",
        "date_format": "%d-%b-%y",
        "reward": "DisbursementGross - ChgOffPrinGr",
        "amount": "DisbursementGross",
    },
    "prosper": {
        "category": "Occupation",
        "time": "LoanOriginationDate",
        "reward": "LP_CustomerPayments",
        "amount": "LoanOriginalAmount",
        "known": "ClosedDate",
        "open": "LoanStatus == 'Current'",
    },
    "german_credit": {"category": "purpose", "reward": "class=1", "round": 20},
    "home_credit": {"category": "NAME_CONTRACT_TYPE", "reward": "TARGET=0"},
    "bank_calls": {
        "category": "job",
        "time": ["year", "month", "day"],
        "date_format": "%Y %b %d",
        "reward": "y=yes",
    },
    "mailing": {"reward": "spend", "treated": "mailed", "cost": 0},
    "card_limits": {
        "category": "segment",
        "time": "contract date",
        "date_format": "%d.%m.%Y",
        "reward": "net_profit",
        "cost": 0,
    },
}
AFTERWARDS = {
    "lending_club": {"loan_status", "total_rec_prncp", "recoveries"},
    "small_business": {"MIS_Status", "ChgOffDate", "ChgOffPrinGr"},
    "prosper": {"LoanStatus", "LP_GrossPrincipalLoss"},
    "bank_calls": {"duration"},
}


def words(look: FirstLook) -> list[str]:
    """The printed command, as a shell would split it."""
    return shlex.split(look.command.replace("\\\n", " "))


@pytest.mark.parametrize("name", sorted(EXPORTS))
def test_the_printed_command_runs_as_it_is(name: str, tmp_path: Path) -> None:
    """On files as they are exported; each with the columns that it should name."""
    look = first_look(str(write_csv(tmp_path / "past.csv", EXPORTS[name]())))
    assert look.options | EXPECTED[name] == look.options
    assert look.plan.is_complete
    program, *arguments = words(look)
    assert program == "profitable"
    done = call(*arguments, *QUICK, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["entries"]
    named = {each.column for each in look.candidates if each.role == "category"}
    named -= {each.column for each in look.leaks}
    assert not named & AFTERWARDS.get(name, set())


def test_a_first_look_says_what_columns_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_csv(tmp_path / "loans.csv", lending_club())
    monkeypatch.chdir(tmp_path)  # a long path makes long lines
    text = str(first_look("loans.csv"))
    assert max(map(len, text.splitlines())) <= 100
    for part in (
        "loans.csv: 1 200 rows, 20 columns.",
        "date, %b-%Y",
        "percent",
        "2008-01 to 2010-12",
        "may be",
        "Columns that look like leaks; none is taken as category:\n- ",
        "Start with:\n\n  profitable backtest ",
        "required: not in the file",
        "Add --or grade --or addr_state to compare",
    ):
        assert part in text, part


def test_what_is_given_is_taken(tmp_path: Path) -> None:
    path = str(write_csv(tmp_path / "loans.csv", lending_club()))
    look = first_look(path, category="grade", required=0.05)
    assert look.options["category"] == "grade"
    assert look.options["required"] == 0.05
    assert look.options["time"] == "issue_d"
    assert not any(each.startswith("required") for each in look.plan.assumed)
    look = first_look(path, reward="loan_status=Fully Paid", cost=0.8)
    assert "amount" not in look.options
    assert look.options["cost"] == 0.8
    with pytest.raises(InputError, match="isued"):
        first_look(path, time="isued")


def test_what_is_not_found_is_a_placeholder(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    table = {
        "when": [f"2026-{1 + each % 6:02d}-01" for each in range(200)],
        "size": rng.normal(size=200).tolist(),
        "note": [f"text {each}" for each in range(200)],
    }
    look = first_look(str(write_csv(tmp_path / "some.csv", table)))
    assert "--reward REWARD" in look.command
    assert not look.plan.is_complete
    assert "Complete this command:" in str(look)
    assert "REWARD: the column of what a client brought" in str(look)
    assert look.to_dict()["runs"] is False


def test_rows_that_cannot_be_read_are_left_out_by_the_command(tmp_path: Path) -> None:
    table = {name: list(values) for name, values in lending_club().items()}
    table["issue_d"][7] = "soon"
    table["loan_amnt"][9] = "unknown"
    look = first_look(str(write_csv(tmp_path / "loans.csv", table)))
    assert look.options["skip_bad_rows"] is True
    assert "--skip-bad-rows" in look.command
    assert "'soon'" in str(look) or "'unknown'" in str(look)
    done = call(*words(look)[1:], *QUICK, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_years_of_two_digits_that_lie_in_the_future_are_left_out(tmp_path: Path) -> None:
    table = {name: list(values) for name, values in small_business().items()}
    table["ApprovalDate"][3] = "1-Jul-66"  # read as 2066
    look = first_look(str(write_csv(tmp_path / "loans.csv", table)))
    assert look.options["time"] == "ApprovalDate"
    past = read(tmp_path / "loans.csv", Layout.of(look.options))
    assert past.clients.labels[-1] < "2000"
    assert "2066-07-01, and are left out" in " ".join(str(look).split())


def test_clients_who_are_open_by_their_status(tmp_path: Path) -> None:
    table = {name: list(values) for name, values in prosper().items()}
    late = [place for place, each in enumerate(table["LoanStatus"]) if each == "Current"][::3]
    for place in late:
        table["LoanStatus"][place] = "Past Due (1-15 days)"
    path = str(write_csv(tmp_path / "loans.csv", table))
    look = first_look(path)
    assert look.options["open"] == "LoanStatus in ('Current', 'Past Due (1-15 days)')"
    assert "where" not in look.options
    assert "--open \"LoanStatus in ('Current', 'Past Due (1-15 days)')\"" in look.command
    assert "what they paid so far is no outcome" in " ".join(str(look).split())
    for place in range(0, len(table["LoanStatus"]), 20):
        table["LoanStatus"][place] = None
    options = first_look(str(write_csv(tmp_path / "other.csv", table))).options
    assert options["open"] == "LoanStatus in ('Current', 'Past Due (1-15 days)', '')"
    past = read(tmp_path / "other.csv", Layout.of(options))
    is_open = [each not in ("Completed", "Chargedoff") for each in table["LoanStatus"]]
    assert [(each.reason, each.rows) for each in past.left_out] == [
        ("no outcome yet", sum(is_open))
    ]
    # What is given is taken, and a condition on the same column has said it.
    assert first_look(path, open="LoanStatus=Current").options["open"] == "LoanStatus=Current"
    assert "open" not in first_look(path, where="LoanStatus != 'Current'").options
    assert "open" in first_look(path, where="Term == 36").options


def test_several_offers_beside_a_control_group_are_a_treatment(tmp_path: Path) -> None:
    table = {name: list(values) for name, values in mailing().items()}
    offers = {0: ["No E-Mail"], 1: ["Mens E-Mail", "Womens E-Mail"]}
    table["segment"] = [
        offers[each][-(place % 2)] for place, each in enumerate(table.pop("mailed"))
    ]
    look = first_look(str(write_csv(tmp_path / "past.csv", table)))
    assert look.options["treated"] == "segment != 'No E-Mail'"
    assert "--treated \"segment != 'No E-Mail'\"" in look.command
    assert call(*words(look)[1:], *QUICK, cwd=tmp_path).returncode == 0


def test_formats_of_dates_are_given_by_column(tmp_path: Path) -> None:
    table = dict(prosper())
    table["ClosedDate"] = [
        None if each is None else "/".join(each[:10].split("-")[::-1])
        for each in table["ClosedDate"]
    ]
    look = first_look(str(write_csv(tmp_path / "loans.csv", table)))
    assert look.options["known"] == "ClosedDate"
    assert list(look.options["date_format"]) == ["ClosedDate=%d/%m/%Y"]
    assert call(*words(look)[1:], *QUICK, cwd=tmp_path).returncode == 0


def test_loans_with_all_dates_are_judged_by_hazards() -> None:
    rng = np.random.default_rng(5)
    rows = 1_500
    month = rng.integers(0, 30, rows)
    bad = rng.random(rows) < 0.15
    end = month + np.where(bad, rng.integers(3, 24, rows), 24)
    text = [f"{2019 + each // 12}-{each % 12 + 1:02d}" for each in range(80)]
    table = {
        "issued": [text[each] for each in month],
        "segment": rng.choice(["cars", "boats"], rows).tolist(),
        "amount": (100 * rng.integers(10, 90, rows)).tolist(),
        "term": [24] * rows,
        "interest rate": rng.choice([8.5, 12.0], rows).tolist(),
        "default date": [text[e] if b else None for e, b in zip(end, bad, strict=True)],
        "repaid on": [None if b else text[e] for e, b in zip(end, bad, strict=True)],
    }
    look = first_look(table)
    assert look.options["issued"] == "issued"
    assert look.options["defaulted"] == "default date"
    assert look.options["closed"] == "repaid on"
    assert look.options["rate"] == "`interest rate` / 100"
    assert read(table, Layout.of(look.options)).clients.defaulted is not None


def test_of_a_table_it_is_a_call_in_python() -> None:
    table = {name: list(values) for name, values in mailing(400).items()}
    look = pb.backtest.describe(table)
    assert isinstance(look, FirstLook)
    assert look.command.startswith("pb.backtest(")
    assert pb.backtest(table, **look.options, policies="kl-ucb", replays=0, shuffles=0)
    frame = look.to_frame("polars")
    assert frame["column"].to_list() == list(table)
    assert frame.filter(frame["column"] == "mailed")["may_be"].to_list() == ["treated"]
    html = look._repr_html_()
    assert "<table>" in html
    assert "treated=" in html
    found = look.to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    Layout.of(found["options"])


def test_control_groups_and_sorted_rows_are_said() -> None:
    table = {name: list(values) for name, values in mailing(1_000).items()}
    table["accepted"] = table.pop("mailed")
    order = np.argsort(table["recency"], kind="stable")
    table = {name: [values[each] for each in order] for name, values in table.items()}
    said = " ".join(first_look(table).warnings)
    assert "the rows are sorted by recency: their order is not time" in said
    assert "give treated accepted" in " ".join(str(first_look(table)).split())


def test_a_treatment_that_was_not_drawn_is_no_experiment() -> None:
    table = {name: list(values) for name, values in mailing(1_000).items()}
    table["mailed"] = [int(each > 6) for each in table["recency"]]
    look = first_look(table)
    assert "treated" not in look.options
    assert "differ by recency" in str(look)


def test_a_large_file_is_sampled(tmp_path: Path) -> None:
    rows = 90_000
    table = {"y": [1, 0, 0] * (rows // 3), "job": ["cook", "clerk"] * (rows // 2)}
    look = first_look(table)
    assert look.rows == rows
    assert 40_000 < look.sampled <= 80_000
    assert "spread over the whole file" in str(look)
    assert look.options["round"] == 1_000  # of all rows, not of those sampled


@needs_loans
def test_the_real_loans(tmp_path: Path) -> None:
    look = first_look(str(LOANS))
    assert look.options == {
        "category": "purpose",
        "time": "issue_d",
        "reward": "total_pymnt",
        "amount": "funded_amnt",
        "required": 0,
        "known": "last_pymnt_d",
    }
    assert call(*words(look)[1:], *QUICK, cwd=tmp_path).returncode == 0


@needs_calls
def test_the_real_calls(tmp_path: Path) -> None:
    look = first_look(str(CALLS))
    assert look.options["time"] == ["year", "month", "day"]
    assert look.options["category"] == "job"
    assert [each.column for each in look.leaks] == ["duration"]
    assert call(*words(look)[1:], *QUICK, cwd=tmp_path).returncode == 0
