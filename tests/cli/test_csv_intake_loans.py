"""`profitable open`, `observe`, `decide` and `correct` where a portfolio lends."""

import json
from pathlib import Path

import pytest

from tests.cli.books import made
from tests.cli.test_app import call
from tests.waiting import said

SETTINGS = """
policy = "bayes-ucb"
[lending]
required = 0.05
recovery = 0.1
lag = 3
[[category]]
name = "cars"
returns = {}
[[category]]
name = "phones"
returns = {}
"""
CLIENTS = """id;category;term;rate;instalment;amount;issued
l-1;cars;36;0,08;;9000;08.01.2024
l-2;cars;48;;248,85;10000;09.01.2024
l-3;phones;12;0,15;;500;09.01.2024
l-4;phones;12;15;;500;09.01.2024
l-5;phones;;0,15;;500;09.01.2024
l-6;phones;12,5;0,15;;500;09.01.2024
"""
ENDS = "id,defaulted,closed\nl-1,,\nl-2,2024-06-28,\nl-3,,2024-06-03\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a portfolio that has decided a round, and opened three loans."""
    (tmp_path / "cars.toml").write_text(SETTINGS)
    (tmp_path / "clients.csv").write_text(CLIENTS)
    (tmp_path / "ends.csv").write_text(ENDS)
    for command in (
        "portfolio create lending.db --from cars.toml",
        "decide lending.db --key one",
        "open lending.db clients.csv --decimal , --date-format %d.%m.%Y",
    ):
        done = call(*command.split(), cwd=tmp_path)
        assert done.returncode in (0, 3), done.stderr
    return tmp_path


def test_wrong_clients_go_to_a_file(folder: Path) -> None:
    reasons = [
        line.split(";", 7)[-1].strip('"')
        for line in (folder / "clients.refused.csv").read_text().splitlines()[1:]
    ]
    assert reasons == [
        "rate = 15.0 looks like percent; give a fraction: 0.12 for 12 %",
        "term = None is missing; give the number of rounds over which it is repaid",
        "term = '12,5' is not a whole number",
    ]


def test_ends_count_once(folder: Path) -> None:
    done = call("observe", "lending.db", "ends.csv", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "3 rows: 2 counted, 1 still open\n")
    found = json.loads(call("observe", "lending.db", "ends.csv", "--json", cwd=folder).stdout)
    assert {key: found[key] for key in ("counted", "known", "still_open", "refused")} == {
        "counted": 0,
        "known": 2,
        "still_open": 1,
        "refused": 0,
    }
    assert call("verify", "lending.db", cwd=folder).returncode == 0


def test_wrong_ends_go_to_a_file(folder: Path) -> None:
    wrong = ENDS + "l-1,2999-01-01,\nl-1,2024-06-03,2024-06-03\nl-7,,2024-06-03\nl-1,soon,\n"
    (folder / "ends.csv").write_text(wrong)
    done = call("observe", "lending.db", "ends.csv", cwd=folder)
    assert (done.returncode, "2 counted, 1 still open, 4 refused" in done.stdout) == (3, True)
    rows = (folder / "ends.refused.csv").read_text().splitlines()[1:]
    for row, reason in zip(
        rows,
        ("in the future", "combined with defaulted", "not opened here", "not a date"),
        strict=True,
    ):
        assert reason in row


def test_one_file_of_both_kinds_of_outcomes(folder: Path) -> None:
    rows = "id,category,reward,amount,closed\nl-1,cars,1,,\nl-2,cars,,,2024-06-03\n"
    (folder / "both.csv").write_text(rows + "l-3,phones,1,,2024-06-03\nl-3,cars,,,2024-06-03\n")
    found = json.loads(call("observe", "lending.db", "both.csv", "--json", cwd=folder).stdout)
    assert [row["status"] for row in found["rows"]] == ["refused", "counted", "refused", "refused"]
    for row, reason in ((0, "this portfolio lends"), (2, "cannot be combined"), (3, "'phones'")):
        assert reason in found["rows"][row]["why"]
    made(folder).rename(folder / "plain.db")  # which does not lend
    (folder / "both.csv").write_text(
        "id,category,reward,defaulted\nl-8,students,,2024-06-03\nl-9,students,1,\n"
    )
    done = call("observe", "plain.db", "both.csv", cwd=folder)
    assert (done.returncode, "1 counted, 1 refused" in done.stdout) == (3, True)
    assert "is for a portfolio that lends" in done.stdout
    done = call("open", "plain.db", "clients.csv", "--decimal", ",", cwd=folder)
    assert done.stdout.count("is for a portfolio that lends") == 0  # its dates need a format
    form = ("--decimal", ",", "--date-format", "%d.%m.%Y")
    done = call("open", "plain.db", "clients.csv", *form, "--json", cwd=folder)
    assert done.stdout.count("is for a portfolio that lends") == 5
    (folder / "ends.csv").write_text("id,category\nl-8,students\n")
    done = call("observe", "plain.db", "ends.csv", cwd=folder)
    assert "column = 'reward' is missing" in said(done.stderr)[-1]


def test_applicants(folder: Path) -> None:
    (folder / "asked.csv").write_text("id,category,term,rate\na-1,cars,36,0.2\na-2,cars,36,0.1\n")
    command = ("decide", "lending.db", "--key", "two", "--applicants", "asked.csv")
    first, again = (call(*command, cwd=folder).stdout for _ in range(2))
    assert first == again
    (folder / "two.json").write_text(call(*command, "--json", cwd=folder).stdout)
    done = call("decide", "lending.db", "--key", "two", cwd=folder)
    assert (done.returncode, "applicants" in done.stderr) == (2, True)
    header, row, *_ = call(*command, "--csv", cwd=folder).stdout.splitlines()
    assert header.endswith(
        "issued,defaults,exposure,affordable,multiplier,break_even,pays,unseen,level"
    )
    assert row.startswith("cars,True")
    (folder / "asked.csv").write_text("id,category,term,rate\na-1,cars,36,0.2\na-2,cars,x,0.1\n")
    done = call("decide", "lending.db", "--key", "three", "--applicants", "asked.csv", cwd=folder)
    assert (done.returncode, "asked.csv: line = 3 is wrong (term = 'x'" in done.stderr) == (2, True)
    done = call("decide", "lending.db", "--as", "two.json", cwd=folder)
    assert (done.returncode, done.stdout) == (0, first)


def test_corrections_and_what_is_shown(folder: Path) -> None:
    call("observe", "lending.db", "ends.csv", cwd=folder)
    for options, text in (
        (("l-2", "--closed", "2024-06-28"), "l-2: corrected in line 8.\n"),
        (("l-3", "--take-back", "--key", "t"), "l-3: taken back in line 9.\n"),
        (("l-3", "--take-back", "--key", "t"), "l-3: corrected in line 9; nothing was stored.\n"),
    ):
        done = call("correct", "lending.db", *options, cwd=folder)
        assert (done.returncode, done.stdout) == (0, text)
    done = call("correct", "lending.db", "l-2", "--reward", "1", cwd=folder)
    assert (done.returncode, "lends" in done.stderr) == (2, True)
    log = call("log", "lending.db", "--id", "l-2", cwd=folder).stdout
    assert "defaulted on 2024-06-28 was wrong, closed on 2024-06-28" in log
    assert "multiplier  break_even" in call("status", "lending.db", cwd=folder).stdout
    assert "0 of 2 defaulted" in call("explain", "lending.db", "cars", cwd=folder).stdout
    done = call("portfolio", "change", "lending.db", "--policy", "ts", cwd=folder)
    assert (done.returncode, "choose bayes-ucb" in done.stderr) == (2, True)
    done = call("portfolio", "change", "lending.db", "--add", "cars.toml", cwd=folder)
    assert (done.returncode, "does not belong in a file of new" in done.stderr) == (2, True)
    assert call("verify", "lending.db", cwd=folder).returncode == 0
