"""`profitable backtest` as a user, or another program, calls it."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

import profitable as pb
from profitable.cli.backtest_command import _replay
from profitable.cli.shared import Stopped
from profitable.replay.backtest_result import Backtest
from tests.cli.test_app import call, run
from tests.past.exports import running_loans
from tests.past.tables import loans, write_csv, write_parquet

COLUMNS = [
    "--category",
    "grade",
    "--time",
    "asked",
    "--reward",
    "back",
    "--amount",
    "lent",
    "--known",
    "known",
]
PRICES = ["--category", "grade", "--time", "asked", "--reward", "price", "--cost", "0.5"]
QUICK = ["--policy", "kl-ucb", "--replays", "0", "--shuffles", "0"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_csv(tmp_path / "loans.csv", loans(400))
    (tmp_path / "backtest.toml").write_text(
        'data = "loans.csv"\ncategory = "grade"\ntime = "asked"\nreward = "back"\n'
        'amount = "lent"\nknown = "known"\n'
        'policies = ["kl-ucb"]\nreplays = 0\nshuffles = 0\n'
    )
    return tmp_path


def test_a_table_for_people_and_json_for_programs(folder: Path) -> None:
    done = run("backtest", "loans.csv", *COLUMNS, *QUICK, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Outcomes known on known")
    assert "accept all" in done.stdout
    numbers = call("backtest", "loans.csv", *COLUMNS, *QUICK, "--json", cwd=folder)
    found = json.loads(numbers.stdout)
    assert found["settings"]["reward"] == "back"
    assert found["command"].startswith("profitable backtest loans.csv --category grade")
    same = pb.backtest(
        folder / "loans.csv",
        category="grade",
        time="asked",
        reward="back",
        amount="lent",
        known="known",
        policies=["kl-ucb"],
        replays=0,
        shuffles=0,
    ).to_dict()
    assert [entry["profit"] for entry in found["entries"]] == [
        entry["profit"] for entry in same["entries"]
    ]
    assert sorted(path.name for path in folder.iterdir()) == ["backtest.toml", "loans.csv"]


def test_a_file_says_the_same_and_options_win(folder: Path) -> None:
    options = ["backtest", "loans.csv", *COLUMNS, *QUICK, "--json"]
    said = json.loads(call(*options, cwd=folder).stdout)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    read = json.loads(
        call("backtest", "--from", "../backtest.toml", "--json", cwd=elsewhere).stdout
    )
    assert read["entries"] == said["entries"]
    other = json.loads(
        call(
            "backtest",
            "--from",
            "backtest.toml",
            "--policy",
            "ts:forget=0.9",
            "--required",
            "0.1",
            "--seeds",
            "2",
            "--json",
            cwd=folder,
        ).stdout
    )
    assert other["entries"][0]["name"] == "ts:forget=0.9"
    assert other["settings"]["required"] == 0.1


def test_describe(folder: Path) -> None:
    done = call("backtest", "loans.csv", *COLUMNS, "--describe", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "What was known of the clients who had asked" in done.stdout
    found = json.loads(
        call("backtest", "--from", "backtest.toml", "--describe", "--json", cwd=folder).stdout
    )
    assert found["rows"] == 400
    assert "entries" not in found


def test_describe_needs_nothing_but_the_file(folder: Path) -> None:
    done = call("backtest", "loans.csv", "--describe", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Start with:\n\n  profitable backtest loans.csv --category " in done.stdout
    done = call("backtest", "loans.csv", "--category", "status", "--describe", "--json", cwd=folder)
    found = json.loads(done.stdout)
    assert found["command"].startswith("profitable backtest loans.csv --category status")
    assert found["options"]["time"] == "asked"
    assert [each["name"] for each in found["columns"]] == list(loans(1))


def test_numbers_and_columns_look_the_same(folder: Path) -> None:
    plain = [
        "backtest",
        "loans.csv",
        "--category",
        "age:q2",
        "--category",
        "status",
        "--time",
        "number",
        "--reward",
        "good",
        *QUICK,
        "--json",
    ]
    number = json.loads(call(*plain, "--cost", "0.5", "--revenue", "2", cwd=folder).stdout)
    column = json.loads(call(*plain, "--cost", "price", cwd=folder).stdout)
    assert (number["settings"]["cost"], column["settings"]["cost"]) == (0.5, "price")
    assert len(number["categories"]) == 4


def test_show_evidence_against_patience(folder: Path) -> None:
    done = call("backtest", "loans.csv", *COLUMNS, *QUICK, "--show", "C10", cwd=folder)
    assert "kl-ucb, C10:" in done.stdout
    assert "patience" in done.stdout


def test_the_demo(tmp_path: Path) -> None:
    done = call("backtest", "--demo", *QUICK, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 000 clients in 4 categories and 50 rounds" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(
    find_spec("profitable.replay.backtest_report") is None, reason="there is no report yet"
)
def test_out_writes_the_report(folder: Path) -> None:
    done = call("backtest", "loans.csv", *COLUMNS, *QUICK, "--out", "made/here", cwd=folder)
    assert done.returncode == 0, done.stderr
    *_, tables, page = done.stdout.strip().splitlines()
    assert "evidence" in (folder / page.removeprefix("Report: ")).read_text(encoding="utf-8")
    assert (folder / tables.removeprefix("Tables: ") / "entries.csv").is_file()


def test_excel_writes_a_workbook_or_says_so_before_the_work(folder: Path) -> None:
    options = ["backtest", "loans.csv", *COLUMNS, *QUICK]
    done = call(*options, "--excel", "all.xlsx", cwd=folder)
    assert done.stdout.strip().splitlines()[-1] == "Workbook: all.xlsx"
    assert (folder / "all.xlsx").stat().st_size > 5_000
    wrong = call(*options, "--excel", "all.xls", cwd=folder)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "excel = 'all.xls' has an unknown ending; give a name with .xlsx." in wrong.stderr


def bad(folder: Path) -> None:
    table = loans(60)
    table["lent"][4] = "much"
    write_csv(folder / "text.csv", table)
    table = loans(60)
    table["known"][6] = "2001-01-01"
    write_csv(folder / "early.csv", table)
    table = loans(60)
    table["asked"][6] = "1.2.2026"
    write_csv(folder / "mixed.csv", table)
    (folder / "empty.csv").write_text("")
    whole = write_parquet(folder / "cut.parquet", loans(60)).read_bytes()
    (folder / "cut.parquet").write_bytes(whole[:-50])
    write_csv(folder / "short.csv", {name: values[:1] * 2 for name, values in loans(60).items()})


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["backtest"], "data"),
        (["backtest", "nowhere.csv", *COLUMNS], "nowhere.csv"),
        (["backtest", "loans.csv", "--category", "gradee", *COLUMNS[2:]], "did you mean grade"),
        (["backtest", "text.csv", *COLUMNS], "text.csv, row 5, column lent = 'much'"),
        (["backtest", "early.csv", *COLUMNS], "early.csv, row 7, column known"),
        (["backtest", "mixed.csv", *COLUMNS], "mixed.csv, row 7, column asked = '1.2.2026'"),
        (["backtest", "empty.csv", *COLUMNS], "empty.csv"),
        (["backtest", "cut.parquet", *COLUMNS], "cut.parquet"),
        (["backtest", "short.csv", *COLUMNS], "too few to learn from"),
        (
            ["backtest", "loans.csv", *PRICES, "--family", "bernoulli"],
            "loans.csv, row 1, column price",
        ),
        (["backtest", "loans.csv", *COLUMNS, "--cost", "1"], "amount"),
        (["backtest", "loans.csv", *COLUMNS, *QUICK, "--show", "Z"], "'Z'"),
        (["backtest", "loans.csv", *COLUMNS, "--policy", "ucb1"], "ucb1"),
        (["backtest", "loans.csv", *COLUMNS, "--round", "year"], "'year'"),
        (["backtest", "loans.csv", *COLUMNS, "--describe", "--out", "x"], "describe"),
        (["backtest", "loans.csv", *COLUMNS, "--describe", "--excel", "x.xlsx"], "describe"),
        (["backtest", "--demo", "--from", "backtest.toml"], "demo"),
        (["backtest", "--demo", "loans.csv"], "demo"),
        (["backtest", "--from", "none.toml"], "none.toml"),
        (
            ["backtest", "loans.csv", "--time", "asked", "--reward", "good", "--cost", "1"],
            "category",
        ),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    folder: Path, arguments: list[str], named: str
) -> None:
    bad(folder)
    before = sorted(folder.iterdir())
    out = [] if "--describe" in arguments else ["--out", "made"]
    done = call(*arguments, *out, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert named in done.stderr
    assert sorted(folder.iterdir()) == before


def test_cells_are_made_and_replayed(folder: Path) -> None:
    done = run("backtest", "loans.csv", *COLUMNS, "--cells", "cells.parquet", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "400 rows became" in done.stdout
    assert done.stdout.endswith("Cells: cells.parquet\n")
    rows = json.loads(run("backtest", "loans.csv", *COLUMNS, *QUICK, "--json", cwd=folder).stdout)
    added = json.loads(run("backtest", "cells.parquet", *QUICK, "--json", cwd=folder).stdout)
    assert added["intervals"] == "none"
    assert added["settings"]["category"] == "grade"
    by_name = {entry["name"]: entry["profit"] for entry in rows["entries"]}
    for entry in added["entries"]:
        assert entry["profit"] == pytest.approx(by_name[entry["name"]])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--cells", "x.parquet", "--out", "page"], "replays nothing"),
        (["--cells", "x.parquet", "--policy", "ts"], "give it when you replay the cells"),
        (["--id", "client"], "give --cells"),
        (["--cells", "x.parquet", "--fold", "grade"], "is of the type String, not a whole number"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_cells_and_other_options(folder: Path, more: list[str], words: str) -> None:
    done = run("backtest", "loans.csv", *COLUMNS, *more, cwd=folder)
    assert done.returncode == 2
    assert words in done.stderr
    assert not (folder / "x.parquet").exists()


def test_bands_of_a_score(tmp_path: Path) -> None:
    given = ("--category", "duration:q8", "--order", "falling", *QUICK)
    done = run("backtest", "--demo", *given, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "best cut-off in hindsight" in done.stdout
    assert "Best cut-off so far: duration <" in done.stdout
    found = json.loads(call("backtest", "--demo", *given, "--json", cwd=tmp_path).stdout)
    assert found["settings"]["order"] == "falling"
    assert [band["name"] for band in found["cutoff"]["bands"]][-1].startswith("duration <")


def test_an_order_of_loans_judged_by_hazards_ends_with_the_reason(folder: Path) -> None:
    dates = ("--defaulted", "known", "--closed", "known", "--term", "12", "--rate", "0.1")
    done = run(
        *("backtest", "loans.csv", "--category", "grade", "--order", "rising"),
        *("--issued", "asked", "--amount", "lent", *dates),
        cwd=folder,
    )
    assert done.returncode == 2
    assert "bands share the evidence of rewards, and loans that are open have none" in done.stderr


def test_open_clients_by_their_status(folder: Path) -> None:
    """As if their outcomes were empty; they are counted, and shown on the stop list."""
    table = running_loans(1_500)
    write_csv(folder / "running.csv", table)
    empty = dict(table)
    is_open = [each not in ("Completed", "Chargedoff") for each in table["LoanStatus"]]
    empty["LP_CustomerPayments"] = [
        None if each else back
        for each, back in zip(is_open, table["LP_CustomerPayments"], strict=True)
    ]
    columns = {"category": "ListingCategory", "time": "LoanOriginationDate", "known": "ClosedDate"}
    columns |= {"reward": "LP_CustomerPayments", "amount": "LoanOriginalAmount"}
    done = call(
        *("backtest", "running.csv", *QUICK, "--json"),
        *(part for name, value in columns.items() for part in (f"--{name}", value)),
        *("--open", "LoanStatus in ('Current', 'Past Due (1-15 days)')"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    expected = pb.backtest(empty, **columns, policies=["kl-ucb"], replays=0, shuffles=0).to_dict()
    assert found["left_out"] == expected["left_out"]
    assert found["left_out"][0] | {"mean_reward": None, "kept_mean": None} == {
        **{"reason": "no outcome yet", "rows": sum(is_open), "differs": False},
        **{"mean_reward": None, "kept_mean": None},
    }
    assert found["stop_list"] == expected["stop_list"]
    assert sum(row["open"] for row in found["stop_list"]["rows"]) > 1_000


def test_a_raw_file_of_loans(folder: Path) -> None:
    """Dollars, per cent, months in words, and a footer."""
    table = loans(400)
    table["lent"] = [None if lent is None else f"${lent:,.2f}" for lent in table["lent"]]
    names = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    table["asked"] = [f"{names[int(text[5:7]) - 1]}-{text[:4]}" for text in table["asked"]]
    with write_csv(folder / "raw.csv", table).open("a") as file:
        file.write("Total amount funded: 4602961\n")
    named = ["--category", "grade", "--time", "asked", "--amount", "lent", "--reward", "back * 1.0"]
    formats = ["--date-format", "asked=%b-%Y", "--date-format", "%Y-%m-%d"]
    refused = call("backtest", "raw.csv", *named, *QUICK, cwd=folder)
    assert refused.returncode == 2
    assert 'give their format: date_format = "%b-%Y"' in refused.stderr
    refused = call("backtest", "raw.csv", *named, *formats, *QUICK, cwd=folder)
    assert refused.returncode == 2
    assert "row 401 = 'Total amount funded: 4602961' has 1 fields" in refused.stderr
    assert "leave bad rows out with skip_bad_rows" in refused.stderr
    done = call(
        *("backtest", "raw.csv", *named, *formats, "--known", "known", "--skip-bad-rows"),
        *("--where", "status == 'paid' or age > 30", *QUICK, "--json"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    expected = pb.backtest(
        loans(400),
        **{"category": "grade", "time": "asked", "amount": "lent", "reward": "back"},
        where="status == 'paid' or age > 30",
        policies=["kl-ucb"],
        replays=0,
        shuffles=0,
    ).to_dict()
    assert found["clients"] == expected["clients"]
    footer = "raw.csv, row 401: Total amount funded: 4602961"
    said = f"bad row: the row has too few fields (first: {footer})"
    assert found["left_out"][0]["reason"] == said
    assert found["left_out"][1:] == expected["left_out"]
    assert "lent is written in $" in found["notes"]


def test_ctrl_c_while_the_report_is_written_says_that_a_part_of_it_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(*_: object) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(Backtest, "save", interrupted)
    table = {"week": [1, 2, 3, 4] * 5, "job": ["a", "b"] * 10, "paid": [1, 0] * 10}
    given = {"category": "job", "time": "week", "reward": "paid", "cost": 0.5, "replays": 0}
    with pytest.raises(Stopped, match="has a part of this report"):
        _replay(table, given | {"shuffles": 0}, None, (tmp_path / "found", None), False)
