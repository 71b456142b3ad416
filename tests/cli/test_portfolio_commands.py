"""The commands of a portfolio, as a user types them: what they print, what they store,
and their mistakes.
"""

import csv
import io
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import profitable as pb
from tests.cli.books import LENDING, head, made, told
from tests.cli.test_app import call
from tests.waiting import said


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return made(tmp_path)


# ------------------------------------------------------------------ making and changing


def test_create_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "lending.toml").write_text(LENDING)
    done = call(
        "portfolio",
        "create",
        "lending.db",
        "--from",
        "lending.toml",
        "--actor",
        "ann",
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Created lending.db: lending, 2 categories, kl-ucb.\n"
    with pb.Portfolio(tmp_path / "lending.db") as made_now:
        assert (made_now.name, made_now.names, str(made_now.policy)) == (
            "lending",
            ("students", "shops"),
            "kl-ucb",
        )
        assert not made_now.is_shadow
        assert made_now.log()[0].actor == "ann"


def test_what_is_given_wins_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "lending.toml").write_text(LENDING)
    options = ("--policy", "ts", "--seed", "3", "--name", "other", "--shadow")
    assert (
        call(
            "portfolio", "create", "a.db", "--from", "lending.toml", *options, cwd=tmp_path
        ).returncode
        == 0
    )
    with pb.Portfolio(tmp_path / "a.db") as made_now:
        assert (made_now.name, str(made_now.policy), made_now.is_shadow) == ("other", "ts", True)
        made_now.decide(key="1")
        agent = pb.Agent(
            [made_now.agent.category(name) for name in made_now.names], policy="ts", seed=3
        )
        agent.decide()
        assert made_now.decide(key="2").patience.tolist() == agent.decide().patience.tolist()


def test_a_doubtful_threshold_is_said(tmp_path: Path) -> None:
    (tmp_path / "lending.toml").write_text(LENDING.replace("0.5", "1"))
    done = call("portfolio", "create", "a.db", "--from", "lending.toml", cwd=tmp_path)
    assert done.returncode == 0
    assert "never profitable" in said(done.stderr)[0]


CHANGES: list[tuple[list[str], str, Any]] = [
    (["--threshold", "students=0.75"], "threshold", 0.75),
    (["--pause", "shops"], "paused", True),
    (["--policy", "ts:forget=0.9"], "policy", "ts:forget=0.9"),
    (["--shadow"], "shadow", True),
]


@pytest.mark.parametrize(
    ("options", "setting", "value"), CHANGES, ids=[setting for _, setting, _ in CHANGES]
)
def test_change(
    book: Path, tmp_path: Path, options: list[str], setting: str, value: object
) -> None:
    done = call("portfolio", "change", "lending.db", *options, "--actor", "ann", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    with pb.Portfolio(book) as changed:
        line = changed.log()[-1]
    assert (line.actor, line.content["setting"], line.content["to"]) == ("ann", setting, value)
    end = head(book)
    assert call("portfolio", "change", "lending.db", *options, cwd=tmp_path).returncode == 0
    assert head(book) == end


def test_change_and_change_back(book: Path, tmp_path: Path) -> None:
    (tmp_path / "more.toml").write_text(
        '[[category]]\nname = "cards = new"\nreturns = { required = 0.05 }\n'
    )
    for options in (
        ["--pause", "shops"],
        ["--resume", "shops"],
        ["--shadow"],
        ["--acted-on"],
        ["--add", "more.toml"],
    ):
        assert call("portfolio", "change", "lending.db", *options, cwd=tmp_path).returncode == 0
    assert (
        call(
            "portfolio", "change", "lending.db", "--threshold", "cards = new=1.1", cwd=tmp_path
        ).returncode
        == 0
    )
    with pb.Portfolio(book) as changed:
        assert changed.names == ("students", "shops", "cards = new")
        assert changed.agent.category("cards = new").threshold == 1.1
        assert not changed.agent["shops"].paused
        assert not changed.is_shadow
        assert changed.verify().is_clean


def test_export_and_import(book: Path, tmp_path: Path) -> None:
    assert call("portfolio", "export", "lending.db", "agent.json", cwd=tmp_path).returncode == 0
    assert pb.Agent.load(tmp_path / "agent.json").round == 1
    options = ("--name", "moved", "--shadow")
    done = call("portfolio", "import", "moved.db", "agent.json", *options, cwd=tmp_path)
    first, second = done.stdout.splitlines()
    assert first == "Created moved.db: moved, 2 categories, kl-ucb, a shadow that nobody acts on."
    assert "its outcomes would count again" in second
    with pb.Portfolio(tmp_path / "moved.db") as moved:
        assert (moved.round, moved.names) == (1, ("students", "shops"))


def test_upgrade(book: Path, tmp_path: Path) -> None:
    done = call("portfolio", "upgrade", "lending.db", cwd=tmp_path)
    assert done.returncode == 0
    assert "already" in done.stdout


def test_without_a_command_there_is_help(tmp_path: Path) -> None:
    done = call("portfolio", cwd=tmp_path)
    assert done.returncode == 0
    assert "create" in done.stdout


# -------------------------------------------------------------------------------- daily


def test_decide(book: Path, tmp_path: Path) -> None:
    table = call("decide", "lending.db", "--key", "day-2", "--actor", "ann", cwd=tmp_path)
    assert (table.returncode, said(table.stderr)) == (0, [])
    assert "round 2, kl-ucb: 2 of 2 categories accepted (key day-2)" in table.stdout
    numbers = json.loads(
        call("decide", "lending.db", "--key", "day-2", "--json", cwd=tmp_path).stdout
    )
    assert (numbers["round"], numbers["actor"], numbers["accepted"]) == (
        2,
        "ann",
        ["students", "shops"],
    )
    rows = list(
        csv.DictReader(
            io.StringIO(
                call("decide", "lending.db", "--key", "day-2", "--csv", cwd=tmp_path).stdout
            )
        )
    )
    assert [(row["name"], row["accepted"]) for row in rows] == [
        ("students", "True"),
        ("shops", "True"),
    ]
    with pb.Portfolio(book) as after:
        assert after.round == 2


def test_decide_about_some_with_a_limit(book: Path, tmp_path: Path) -> None:
    done = call(
        "decide", "lending.db", "--key", "x", "--available", "shops", "--json", cwd=tmp_path
    )
    assert [each["name"] for each in json.loads(done.stdout)["categories"]] == ["shops"]
    (tmp_path / "demand.csv").write_text("category;clients\nstudents;3\nshops;4\n")
    by_file = call(
        "decide",
        "lending.db",
        "--key",
        "y",
        "--demand",
        "demand.csv",
        "--places",
        "5",
        cwd=tmp_path,
    )
    by_text = call(
        "decide",
        "lending.db",
        "--key",
        "y",
        "--demand",
        "students=3,shops=4",
        "--places",
        "5",
        cwd=tmp_path,
    )
    assert by_file.returncode == 0
    assert "5 of 5 places" in by_file.stdout
    assert by_text.stdout == by_file.stdout
    options = ("--budget", "3", "--explore", "0.5", "--demand", "students=3", "--demand", "shops=4")
    assert call("decide", "lending.db", "--key", "z", *options, cwd=tmp_path).returncode == 0


def test_correct(book: Path, tmp_path: Path) -> None:
    done = call(
        "correct", "lending.db", "l-1", "--reward", "0", "--reason", "[bold]typo", cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (0, "l-1: corrected in line 4.\n")
    again = json.loads(
        call("correct", "lending.db", "l-1", "--reward", "0", "--json", cwd=tmp_path).stdout
    )
    assert (again["status"], again["line"]) == ("known", None)
    assert (
        call("correct", "lending.db", "l-1", "--take-back", cwd=tmp_path).stdout
        == "l-1: taken back in line 5.\n"
    )
    assert "[bold]typo" in call("log", "lending.db", "--id", "l-1", cwd=tmp_path).stdout


# ------------------------------------------------------------------------------ looking


def test_status_and_explain(book: Path, tmp_path: Path) -> None:
    assert (
        "lending, kl-ucb, 2 categories, 1 round"
        in call("status", "lending.db", cwd=tmp_path).stdout
    )
    numbers = json.loads(call("status", "lending.db", "--json", cwd=tmp_path).stdout)
    assert [each["counted"] for each in numbers["categories"]] == [1, 0]
    rows = list(
        csv.DictReader(io.StringIO(call("status", "lending.db", "--csv", cwd=tmp_path).stdout))
    )
    assert [row["category"] for row in rows] == ["students", "shops"]
    assert "Seen: 1 client" in call("explain", "lending.db", "students", cwd=tmp_path).stdout
    by_round = call("explain", "lending.db", "students", "--round", "1", cwd=tmp_path)
    assert "accepted in round 1 (key day-1)" in by_round.stdout
    assert (
        call("explain", "lending.db", "students", "--key", "day-1", cwd=tmp_path).stdout
        == by_round.stdout
    )


def test_log(book: Path, tmp_path: Path) -> None:
    with pb.Portfolio(book) as before:
        before.observe(
            [pb.Outcome(f"l-{i}", "students", reward=i % 2, decision=1) for i in range(2, 150)]
        )
    table = call("log", "lending.db", cwd=tmp_path).stdout
    assert "l-149" in table
    assert "l-40 " not in table
    assert "newest 100 lines" in table
    assert len(call("log", "lending.db", "--limit", "3", cwd=tmp_path).stdout.splitlines()) == 2 + 3
    assert call("log", "lending.db", "--since", "2999-01-01", cwd=tmp_path).stdout == "no lines\n"
    lines = [
        json.loads(line)
        for line in call("log", "lending.db", "--format", "json", cwd=tmp_path).stdout.splitlines()
    ]
    assert [line["line"] for line in lines] == list(range(1, 152))
    few = call(
        "log", "lending.db", "--format", "csv", "--limit", "2", "--kind", "outcome", cwd=tmp_path
    ).stdout
    assert [row["id"] for row in csv.DictReader(io.StringIO(few))] == ["l-148", "l-149"]
    one = call("log", "lending.db", "--format", "csv", "--id", "l-7", cwd=tmp_path).stdout
    assert [row["id"] for row in csv.DictReader(io.StringIO(one))] == ["l-7"]
    none = call(
        "log", "lending.db", "--format", "csv", "--limit", "2", "--category", "shops", cwd=tmp_path
    ).stdout
    assert list(csv.DictReader(io.StringIO(none))) == []
    assert (
        call("log", "lending.db", "--category", "students", "--out", "log.csv", cwd=tmp_path).stdout
        == "log.csv: 149 lines\n"
    )
    with (tmp_path / "log.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 149


def test_the_log_for_a_backtest(book: Path, tmp_path: Path) -> None:
    with pb.Portfolio(book) as before:
        for day in range(2, 8):
            before.decide(key=f"day-{day}")
            outcomes = [
                pb.Outcome(f"l-{day}-{i}", "students", reward=i % 2, decision=day) for i in range(4)
            ]
            before.observe([*outcomes, pb.Outcome(f"l-{day}", "students", reward=1)])
    done = call("log", "lending.db", "--format", "parquet", "--out", "log.parquet", cwd=tmp_path)
    assert done.returncode == 0
    assert "log.parquet: 25 clients; 6 were left out" in done.stdout
    command = done.stdout.splitlines()[-1].partition(": profitable ")[2].split()
    assert command == ["backtest", "--from", "log.toml", "--policy", "kl-ucb"]
    options = ("--replays", "0", "--shuffles", "0", "--seeds", "1")
    next_one = call(*command, *options, cwd=tmp_path)
    assert next_one.returncode == 0, next_one.stderr
    entries = call("log", "lending.db", "--out", "lines.parquet", "--entries", cwd=tmp_path)
    assert entries.stdout == "lines.parquet: 39 lines\n"
    (tmp_path / "mine.toml").write_text(LENDING)
    assert "would replace" in told(call("log", "lending.db", "--out", "mine.parquet", cwd=tmp_path))
    assert (tmp_path / "mine.toml").read_text() == LENDING


def test_verify(book: Path, tmp_path: Path) -> None:
    done = call("verify", "lending.db", cwd=tmp_path)
    assert done.returncode == 0
    kept = done.stdout.splitlines()[-1].split()[1]
    with pb.Portfolio(book) as after:
        after.decide(key="later")
    assert (
        "1 line was added since"
        in call("verify", "lending.db", "--head", kept, cwd=tmp_path).stdout
    )
    assert json.loads(call("verify", "lending.db", "--json", cwd=tmp_path).stdout)["clean"] is True
    cut_off = call("verify", "lending.db", "--head", "ab" * 32, "--json", cwd=tmp_path)
    assert cut_off.returncode == 4
    assert "cut off" in json.loads(cut_off.stdout)["findings"][0]


@pytest.mark.parametrize(
    "statement",
    ["UPDATE profitable_journal SET actor = 'x' WHERE line = 2", "DELETE FROM profitable_state"],
)
def test_verify_finds_a_change(book: Path, tmp_path: Path, statement: str) -> None:
    connection = sqlite3.connect(book, isolation_level=None)
    connection.execute(statement)
    connection.close()
    done = call("verify", "lending.db", cwd=tmp_path)
    assert done.returncode == 4
    assert "FOUND" in done.stdout
    found = json.loads(call("verify", "lending.db", "--json", cwd=tmp_path).stdout)
    assert (found["clean"], len(found["findings"])) == (False, 1)


def test_verify_of_what_the_engine_refuses(book: Path, tmp_path: Path) -> None:
    (tmp_path / "lending.db").write_bytes(b"x" * 5_000)
    assert "not a database" in told(call("verify", "lending.db", cwd=tmp_path), 4)
    done = call("verify", "lending.db", "--json", cwd=tmp_path)
    assert done.returncode == 4
    assert json.loads(done.stdout)["clean"] is False


def test_copy_and_compare(book: Path, tmp_path: Path) -> None:
    done = call("copy", "lending.db", "backup.db", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == f"head: {head(book)[1]}"
    assert head(tmp_path / "backup.db") == head(book)
    assert "the same outcomes" in call("compare", "lending.db", "backup.db", cwd=tmp_path).stdout
    numbers = json.loads(call("compare", "lending.db", "backup.db", "--json", cwd=tmp_path).stdout)
    assert (numbers["keys"], numbers["same_stream"]) == (1, True)


# ----------------------------------------------------------------------------- mistakes

MISTAKES = [
    (["portfolio", "create", "new.db", "--from", "missing.toml"], "missing.toml"),
    (["portfolio", "create", "new.db", "--from", "scenario.toml"], "hidden truth"),
    (["portfolio", "create", "new.db", "--from", "bare.toml"], "--policy"),
    (["portfolio", "create", "new.db", "--from", "bare.toml", "--policy", "ucb1"], "ucb1"),
    (
        ["portfolio", "create", "new.db", "--from", "bare.toml", "--policy", "ts", "--seed", "-1"],
        "seed",
    ),
    (
        [
            "portfolio",
            "create",
            "new.db",
            "--from",
            "bare.toml",
            "--policy",
            "ts",
            "--name",
            "a\nb",
        ],
        "cannot be printed",
    ),
    (
        ["portfolio", "create", "new.db", "--from", "bare.toml", "--policy", "ts", "--actor", ""],
        "actor",
    ),
    (["portfolio", "create", "lending.db", "--from", "lending.toml"], "exists already"),
    (["portfolio", "create", "mysql://host/x", "--from", "lending.toml"], "postgresql+psycopg://"),
    (["portfolio", "create", "new.db"], "--from"),
    (["portfolio", "import", "new.db", "missing.json"], "missing.json"),
    (["portfolio", "import", "new.db", "lending.toml"], "lending.toml"),
    (["portfolio", "export", "missing.db", "agent.json"], "missing.db"),
    (["portfolio", "export", "lending.db", "lending.db"], "the portfolio itself"),
    (["portfolio", "upgrade", "missing.db"], "missing.db"),
    (["portfolio", "upgrade", "lending.toml"], "is not a portfolio"),
    (["portfolio", "nothing"], "nothing"),
    (["portfolio", "change", "lending.db"], "--threshold"),
    (
        ["portfolio", "change", "lending.db", "--pause", "shops", "--shadow"],
        "cannot be combined with",
    ),
    (["portfolio", "change", "lending.db", "--threshold", "students"], "students=0.9"),
    (["portfolio", "change", "lending.db", "--threshold", "students=x"], "students=x"),
    (["portfolio", "change", "lending.db", "--threshold", "students=nan"], "nan"),
    (["portfolio", "change", "lending.db", "--threshold", "students=2"], "from 0 to 1"),
    (["portfolio", "change", "lending.db", "--pause", "nobody"], "nobody"),
    (["portfolio", "change", "lending.db", "--policy", "kl-emp-ucb"], "bound"),
    (["portfolio", "change", "lending.db", "--add", "lending.toml"], "policy"),
    (["portfolio", "change", "lending.db", "--add", "bare.toml"], "'students'"),
    (["portfolio", "change", "lending.db", "--pause", "shops", "--actor", "\x1b[2J"], "actor"),
    (["decide", "lending.db"], "--key"),
    (["decide", "lending.db", "--key", ""], "key"),
    (["decide", "lending.db", "--key", "x" * 501], "501 letters"),
    (["decide", "missing.db", "--key", "x"], "missing.db"),
    (["decide", ".", "--key", "x"], "folder"),
    (["decide", "lending.toml", "--key", "x"], "is not a portfolio"),
    (["decide", "\0", "--key", "x"], "path"),
    (["decide", "lending.db", "--key", "x", "--available", "nobody"], "nobody"),
    (["decide", "lending.db", "--key", "x", "--available", "shops,shops"], "shops"),
    (["decide", "lending.db", "--key", "x", "--budget", "-1", "--demand", "shops=1"], "budget"),
    (["decide", "lending.db", "--key", "x", "--places", "3"], "demand"),
    (
        ["decide", "lending.db", "--key", "x", "--places", "3", "--demand", "shops=many"],
        "shops=many",
    ),
    (
        ["decide", "lending.db", "--key", "x", "--places", "3", "--demand", f"shops={'9' * 5000}"],
        "demand",
    ),
    (
        ["decide", "lending.db", "--key", "x", "--places", "3", "--demand", "shops=1,shops=2"],
        "twice",
    ),
    (
        ["decide", "lending.db", "--key", "x", "--places", "3", "--demand", "missing.csv"],
        "missing.csv",
    ),
    (["decide", "lending.db", "--key", "x", "--places", "3", "--demand", "demand.csv"], "line = 2"),
    (["decide", "lending.db", "--key", "x", "--json", "--csv"], "csv"),
    (["decide", "lending.db", "--key", "day-1", "--available", "shops"], "day-1"),
    (["decide", "lending.db", "--key", "x", "--wait", "-1"], "wait"),
    (["decide", "lending.db", "--key", "x", "--wait", "nan"], "wait"),
    (["decide", "lending.db", "--key", "x", "--wait", "1e300"], "wait"),
    (["correct", "lending.db", "l-9", "--reward", "1"], "l-9"),
    (["correct", "lending.db", "l-1"], "reward"),
    (["correct", "lending.db", "l-1", "--reward", "5"], "5"),
    (["correct", "lending.db", "l-1", "--reward", "nan"], "nan"),
    (["correct", "lending.db", "l-1", "--reward", "1", "--take-back"], "taken back"),
    (["correct", "lending.db", "l-1", "--reward", "0", "--reason", "a\nb"], "reason"),
    (["status", "missing.db"], "missing.db"),
    (["status", "lending.db", "--json", "--csv"], "csv"),
    (["explain", "lending.db", "nobody"], "nobody"),
    (["explain", "lending.db", "nobody", "--round", "1"], "nobody"),
    (["explain", "lending.db", "students", "--round", "9"], "day-1"),
    (["explain", "lending.db", "students", "--key", "9"], "day-1"),
    (
        ["explain", "lending.db", "students", "--round", "1", "--key", "day-1"],
        "cannot be combined with",
    ),
    (["log", "lending.db", "--since", "yesterday"], "yesterday"),
    (["log", "lending.db", "--until", "31.12.2026"], "31.12.2026"),
    (["log", "lending.db", "--category", "nobody"], "nobody"),
    (["log", "lending.db", "--category", "nobody", "--format", "csv"], "nobody"),
    (["log", "lending.db", "--kind", "things"], "things"),
    (["log", "lending.db", "--limit", "0"], "limit"),
    (["log", "lending.db", "--limit", "x"], "--limit"),
    (["log", "lending.db", "--id", "l-1", "--kind", "outcome"], "id"),
    (["log", "lending.db", "--format", "excel"], "excel"),
    (["log", "lending.db", "--format", "parquet"], "out"),
    (["log", "lending.db", "--format", "table", "--out", "x.txt"], "table"),
    (["log", "lending.db", "--format", "table", "--clients"], "table"),
    (["log", "lending.db", "--clients", "--kind", "outcome", "--out", "x.parquet"], "kind"),
    (["log", "lending.db", "--out", "lending.db"], "the portfolio itself"),
    (["verify", "missing.db"], "missing.db"),
    (["verify", "lending.db", "--head", "12"], "64 letters"),
    (["compare", "lending.db", "missing.db"], "missing.db"),
    (["copy", "lending.db", "lending.db"], "exists already"),
    (["copy", "missing.db", "new.db"], "missing.db"),
    (["copy", "lending.toml", "new.db"], "is not a portfolio"),
    (["decide", "postgresql+psycopg://user:secret@/nowhere?host=/nonexistent", "--key", "x"], ""),
]


@pytest.mark.parametrize(
    ("arguments", "named"), MISTAKES, ids=[" ".join(each)[:70] for each, _ in MISTAKES]
)
def test_mistakes_get_one_line_and_change_nothing(
    tmp_path: Path, arguments: list[str], named: str
) -> None:
    book = made(tmp_path)
    (tmp_path / "lending.toml").write_text(LENDING)
    (tmp_path / "bare.toml").write_text(
        '[[category]]\nname = "students"\nfamily = "bernoulli"\nthreshold = 0.5\n'
    )
    (tmp_path / "scenario.toml").write_text(
        LENDING.replace("threshold = 0.5", "threshold = 0.5\nmean = 0.6\nclients = 1")
    )
    (tmp_path / "demand.csv").write_text("category,clients\nshops,many\n")
    there, end = sorted(path.name for path in tmp_path.iterdir()), head(book)
    message = told(call(*arguments, cwd=tmp_path), 1 if "secret" in str(arguments) else 2)
    assert named in message
    assert "secret" not in message
    assert sorted(path.name for path in tmp_path.iterdir()) == there
    assert head(book) == end


# ---------------------------------------------------------------- what cannot be stored

WRITES = [
    ["decide", "lending.db", "--key", "x", "--wait", "0.05"],
    ["observe", "lending.db", "outcomes.csv", "--wait", "0.05"],
    ["correct", "lending.db", "l-1", "--reward", "0", "--wait", "0.05"],
    ["portfolio", "change", "lending.db", "--pause", "shops", "--wait", "0.05"],
]


@pytest.mark.parametrize("arguments", WRITES, ids=lambda arguments: arguments[0])
def test_a_lock_that_another_holds(tmp_path: Path, arguments: list[str]) -> None:
    book = made(tmp_path)
    (tmp_path / "outcomes.csv").write_text("id,category,reward\nl-2,students,1\n")
    end = head(book)
    connection = sqlite3.connect(book, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    assert "locked" in told(call(*arguments, cwd=tmp_path), 1)
    connection.close()
    assert head(book) == end
    assert call(*arguments, cwd=tmp_path).returncode == 0
    assert head(book) != end


def test_a_file_that_is_read_only(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is for anybody but root, who may write everything."""
    end = head(book)
    monkeypatch.setattr(
        os, "access", lambda path, mode: mode != os.W_OK or Path(path).name != "lending.db"
    )
    assert "readonly" in told(call("decide", "lending.db", "--key", "x", cwd=tmp_path), 1)
    for arguments in (["status"], ["verify"], ["log"], ["explain", "--round=1"]):
        category = ["students"] if arguments[0] == "explain" else []
        assert call(*arguments, "lending.db", *category, cwd=tmp_path).returncode == 0
    assert call("copy", "lending.db", "copy.db", cwd=tmp_path).returncode == 0
    assert head(book) == end


def test_a_place_where_nothing_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "lending.toml").write_text(LENDING)
    done = call(
        "portfolio", "create", "no/such/folder/new.db", "--from", "lending.toml", cwd=tmp_path
    )
    assert "new.db" in told(done, 1)
    made(tmp_path)
    assert "log.csv" in told(
        call("log", "lending.db", "--out", "no/such/folder/log.csv", cwd=tmp_path), 1
    )
