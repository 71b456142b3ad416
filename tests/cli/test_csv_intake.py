"""`profitable open` and `profitable observe`: files of rows, each row by itself."""

import errno
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import profitable as pb
from profitable.cli import csv_intake
from tests.cli.books import head, made, told, with_input
from tests.cli.test_app import COMMAND, call
from tests.waiting import LIMIT, said

GOOD = "id,category,reward,decision\nl-2,students,1,1\nl-3,shops,2.5,1\n"
MIXED = (
    GOOD.replace("l-3,shops,2.5", "l-3,nobody,1").replace("l-2", "l-1,students,1,1\nl-2")
    + "l-4,shops,abc,1\nl-5,shops,2.5,1\n"
)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return made(tmp_path)


def lines(where: Path) -> list[tuple[str, str | None]]:
    """Kind and id of what was stored by a test."""
    with pb.Portfolio(where) as opened:
        assert opened.verify().is_clean
        return [(line.kind, line.id) for line in opened.log()][3:]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# ------------------------------------------------------------------------- what happens


def test_all_rows_are_right(book: Path, tmp_path: Path) -> None:
    (tmp_path / "outcomes.csv").write_text(GOOD)
    done = call("observe", "lending.db", "outcomes.csv", "--actor", "ann", cwd=tmp_path)
    assert (done.returncode, said(done.stderr), done.stdout) == (0, [], "2 rows: 2 counted\n")
    assert lines(book) == [("outcome", "l-2"), ("outcome", "l-3")]
    again = call("observe", "lending.db", "outcomes.csv", cwd=tmp_path)
    assert (again.returncode, again.stdout) == (0, "2 rows: 2 known already\n")
    assert names(tmp_path) == ["lending.db", "outcomes.csv"]
    with pb.Portfolio(book) as opened:
        assert opened.log()[-1].actor == "ann"


def test_some_rows_are_refused_mended_and_sent_again(book: Path, tmp_path: Path) -> None:
    (tmp_path / "outcomes.csv").write_text(MIXED)
    done = call("observe", "lending.db", "outcomes.csv", cwd=tmp_path)
    assert (done.returncode, said(done.stderr)) == (3, [])
    assert "5 rows: 2 counted, 1 known already, 2 refused" in done.stdout
    assert "Refused rows are in outcomes.refused.csv" in done.stdout
    assert lines(book) == [("outcome", "l-2"), ("outcome", "l-5")]
    refused = tmp_path / "outcomes.refused.csv"
    header, first, second = refused.read_text().splitlines()
    assert header == "id,category,reward,decision,reason"
    assert first.startswith("l-3,nobody,1,1,")
    assert second == "l-4,shops,abc,1,\"reward = 'abc' is not a number\""
    refused.write_text(
        refused.read_text().replace("nobody", "students").replace("shops,abc", "shops,2")
    )
    mended = call("observe", "lending.db", "outcomes.refused.csv", cwd=tmp_path)
    assert (mended.returncode, mended.stdout) == (0, "2 rows: 2 counted\n")
    assert names(tmp_path) == ["lending.db", "outcomes.csv", "outcomes.refused.csv"]


def test_open_and_then_observe(book: Path, tmp_path: Path) -> None:
    (tmp_path / "clients.csv").write_text(
        "loan;category;matures;emerges;promised\nl-7;students;3;0,2 0,5 1;1\n"
        "l-8;shops;x;;\nl-9;shops;2;;\n"
    )
    options = ("--column", "id=loan", "--decimal", ",")
    done = call("open", "lending.db", "clients.csv", *options, cwd=tmp_path)
    assert done.returncode == 3
    assert "matures = 'x' is not a number" in (tmp_path / "clients.refused.csv").read_text()
    assert lines(book) == [("open", "l-7"), ("open", "l-9")]
    assert call("open", "lending.db", "clients.csv", *options, cwd=tmp_path).returncode == 3
    assert names(tmp_path) == ["clients.csv", "clients.refused.csv", "lending.db"]
    (tmp_path / "outcomes.csv").write_text("id,category,reward\nl-9,shops,2\n")
    assert call("observe", "lending.db", "outcomes.csv", cwd=tmp_path).returncode == 0
    status = json.loads(call("status", "lending.db", "--json", cwd=tmp_path).stdout)["categories"]
    assert [(each["held"], each["waiting"]) for each in status] == [(0, 1), (1, 0)]


def test_a_dry_run_stores_nothing_and_says_what_would_happen(book: Path, tmp_path: Path) -> None:
    (tmp_path / "outcomes.csv").write_text(MIXED + "l-5,shops,2.5,1\nl-5,shops,3.5,1\n")
    end = head(book)
    done = call("observe", "lending.db", "outcomes.csv", "--dry-run", cwd=tmp_path)
    assert (done.returncode, said(done.stderr)) == (3, [])
    assert "outcomes.csv: utf-8, comma between fields, decimal point" in done.stdout
    shown = [line.split()[:3] for line in done.stdout.splitlines() if line[:1].isdigit()]
    assert [row for row in shown if row[1].startswith("l-")] == [
        ["2", "l-1", "known"],
        ["3", "l-2", "counted"],
        ["4", "l-3", "refused"],
        ["5", "l-4", "refused"],
        ["6", "l-5", "counted"],
        ["7", "l-5", "known"],
        ["8", "l-5", "refused"],
    ]
    assert "nothing was stored" in done.stdout
    assert head(book) == end
    assert names(tmp_path) == ["lending.db", "outcomes.csv"]
    real = json.loads(call("observe", "lending.db", "outcomes.csv", "--json", cwd=tmp_path).stdout)
    assert [row["status"] for row in real["rows"]] == [
        row[2] for row in shown if row[1].startswith("l-")
    ]


def test_json(book: Path, tmp_path: Path) -> None:
    (tmp_path / "outcomes.csv").write_text(MIXED.replace("reward", "Paid Back"))
    options = ("--column", "reward=paid back", "--json")
    trial = json.loads(
        call("observe", "lending.db", "outcomes.csv", *options, "--dry-run", cwd=tmp_path).stdout
    )
    done = call("observe", "lending.db", "outcomes.csv", *options, cwd=tmp_path)
    found = json.loads(done.stdout)
    assert done.returncode == 3
    assert (trial["stored"], found["stored"]) == (False, True)
    counts = {"counted": 2, "known": 1, "refused": 2, "left_out": 0}
    assert counts.items() <= found.items()
    assert counts.items() <= trial.items()
    assert (found["refused_file"], trial["refused_file"]) == ("outcomes.refused.csv", None)
    assert found["columns"]["reward"] == "Paid Back"
    assert [(row["row"], row["id"], row["status"]) for row in found["rows"]] == [
        (2, "l-1", "known"),
        (3, "l-2", "counted"),
        (4, "l-3", "refused"),
        (5, "l-4", "refused"),
        (6, "l-5", "counted"),
    ]
    assert found["rows"][1]["line"] == 4


def test_all_or_nothing(book: Path, tmp_path: Path) -> None:
    end = head(book)
    for content in (MIXED, GOOD + "l-9,students,7,1\n", GOOD + "l-9,students\n"):
        (tmp_path / "outcomes.csv").write_text(content)
        done = call("observe", "lending.db", "outcomes.csv", "--all-or-nothing", cwd=tmp_path)
        assert done.returncode == 2
        assert "2 left out" in done.stdout
        assert "nothing was stored" in done.stdout
        found = json.loads(
            call(
                "observe", "lending.db", "outcomes.csv", "--all-or-nothing", "--json", cwd=tmp_path
            ).stdout
        )
        assert (found["stored"], found["counted"], found["left_out"]) == (False, 0, 2)
        trial = call(
            "observe", "lending.db", "outcomes.csv", "--all-or-nothing", "--dry-run", cwd=tmp_path
        )
        assert trial.returncode == 2
        assert "2 left out" in trial.stdout
        assert head(book) == end
    (tmp_path / "outcomes.csv").write_text(GOOD)
    done = call("observe", "lending.db", "outcomes.csv", "--all-or-nothing", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "2 rows: 2 counted\n")
    assert names(tmp_path) == ["lending.db", "outcomes.csv"]


def test_standard_input(book: Path, tmp_path: Path) -> None:
    done = with_input(MIXED.encode(), "observe", "lending.db", "-", cwd=tmp_path)
    assert done.returncode == 3
    assert "2 counted" in done.stdout
    assert names(tmp_path) == ["lending.db", "refused.csv"]
    done = with_input(
        MIXED.encode(), "observe", "lending.db", "-", "--refused", "mine.csv", cwd=tmp_path
    )
    assert names(tmp_path) == ["lending.db", "mine.csv", "refused.csv"]
    assert (tmp_path / "mine.csv").read_bytes() == (tmp_path / "refused.csv").read_bytes()
    assert "empty" in told(with_input(b"", "observe", "lending.db", "-", cwd=tmp_path))


def test_a_file_without_rows(book: Path, tmp_path: Path) -> None:
    (tmp_path / "outcomes.csv").write_text("id,category,reward\n")
    for options in ([], ["--all-or-nothing"], ["--dry-run"]):
        done = call("observe", "lending.db", "outcomes.csv", *options, cwd=tmp_path)
        assert done.returncode == 0
        assert "0 rows: nothing to do" in done.stdout
    assert (
        json.loads(call("observe", "lending.db", "outcomes.csv", "--json", cwd=tmp_path).stdout)[
            "rows"
        ]
        == []
    )


def test_many_rows_go_in_batches(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("profitable.portfolio.portfolio.BATCH", 10)
    monkeypatch.setattr(csv_intake, "ROWS_TRIED", 10)
    rows = [f"c{i},{'nobody' if i % 9 == 0 else 'students'},1" for i in range(95)]
    (tmp_path / "outcomes.csv").write_text("\n".join(["id,category,reward", *rows]))
    trial = call("observe", "lending.db", "outcomes.csv", "--dry-run", cwd=tmp_path)
    assert "95 rows: 84 counted, 11 refused" in trial.stdout
    assert "10 at a time" in said(trial.stderr)[0]
    sizes: list[int] = []
    observe = pb.Portfolio.observe
    monkeypatch.setattr(
        pb.Portfolio,
        "observe",
        lambda book, rows, **options: sizes.append(len(rows)) or observe(book, rows, **options),
    )
    assert call("observe", "lending.db", "outcomes.csv", cwd=tmp_path).returncode == 3
    assert sizes == [10] * 9 + [5]
    assert len((tmp_path / "outcomes.refused.csv").read_text().splitlines()) == 1 + 11
    assert lines(book) == [("outcome", f"c{i}") for i in range(95) if i % 9]


def test_the_example_of_the_page(book: Path, tmp_path: Path) -> None:
    page = (
        (Path(__file__).parents[2] / "docs" / "cli.md")
        .read_text(encoding="utf-8")
        .partition("## Files of rows")[2]
    )
    rows, command = re.findall(r"```\w*\n(.*?)```", page, re.S)[:2]
    (tmp_path / "outcomes.csv").write_text(rows)
    done = call(*shlex.split(command.removeprefix("$ profitable ")), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 rows: 2 counted (nothing was stored)" in done.stdout


# ---------------------------------------------------------------------- what goes wrong

MISTAKES = [
    (["observe", "lending.db", "missing.csv"], "missing.csv"),
    (["observe", "lending.db", "."], "."),
    (["observe", "lending.db", "x" * 300], "xxx"),
    (["observe", "lending.db", "\0"], "path"),
    (["observe", "lending.db"], "FILE is missing"),
    (["observe", "missing.db", "outcomes.csv"], "missing.db"),
    (["observe", "lending.db", "lending.db"], "utf-8"),
    (["observe", "lending.db", "wrong.csv"], "did you mean amount"),
    (["observe", "lending.db", "latin.csv"], "--encoding"),
    (["observe", "lending.db", "outcomes.csv", "--encoding", "utf-99"], "utf-99"),
    (["observe", "lending.db", "outcomes.csv", "--encoding", "utf-16"], "utf-16"),
    (["observe", "lending.db", "outcomes.csv", "--delimiter", "::"], "delimiter"),
    (["observe", "lending.db", "outcomes.csv", "--decimal", "x"], "decimal"),
    (["observe", "lending.db", "outcomes.csv", "--date-format", "day"], "day"),
    (["observe", "lending.db", "outcomes.csv", "--column", "reward"], "FIELD=NAME"),
    (["observe", "lending.db", "outcomes.csv", "--column", "reward=x"], "'x' is missing"),
    (["observe", "lending.db", "outcomes.csv", "--column", "rewrad=reward"], "did you mean reward"),
    (["observe", "lending.db", "outcomes.csv", "--column", "id=a", "--column", "id=b"], "second"),
    (
        ["observe", "lending.db", "outcomes.csv", "--refused", "outcomes.csv"],
        "the file with the rows",
    ),
    (["observe", "lending.db", "outcomes.csv", "--refused", "lending.db"], "the portfolio itself"),
    (["observe", "lending.db", "outcomes.csv", "--actor", " "], "actor"),
    (["open", "lending.db", "outcomes.csv"], "'reward' is not known"),
    (["open", "lending.db", "outcomes.csv", "--date-format", "day"], "day"),
]


@pytest.mark.parametrize(
    ("arguments", "named"), MISTAKES, ids=[" ".join(each)[:70] for each, _ in MISTAKES]
)
def test_mistakes_get_one_line_and_change_nothing(
    book: Path, tmp_path: Path, arguments: list[str], named: str
) -> None:
    (tmp_path / "outcomes.csv").write_text(GOOD)
    (tmp_path / "wrong.csv").write_text("id,category,reward,ammount\nl-2,students,1,1\n")
    (tmp_path / "latin.csv").write_bytes("id,category,reward,höhe\n".encode("latin-1"))
    end, there = head(book), names(tmp_path)
    assert named in told(call(*arguments, cwd=tmp_path))
    assert head(book) == end
    assert names(tmp_path) == there


def test_a_refused_file_that_cannot_be_written(book: Path, tmp_path: Path) -> None:
    (tmp_path / "outcomes.csv").write_text(MIXED)
    for options in ([], ["--json"]):
        done = call(
            "observe",
            "lending.db",
            "outcomes.csv",
            "--refused",
            "no/such/folder/x.csv",
            *options,
            cwd=tmp_path,
        )
        assert done.returncode == 1
        assert "refused" in done.stdout
        (message,) = said(done.stderr)
        assert "x.csv" in message
        assert "in no file" in message
    assert lines(book) == [("outcome", "l-2"), ("outcome", "l-5")]
    assert names(tmp_path) == ["lending.db", "outcomes.csv"]


def test_a_disk_that_is_full_behind_the_refused_file(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "outcomes.csv").write_text(MIXED)
    monkeypatch.setattr(os, "link", full)
    done = call("observe", "lending.db", "outcomes.csv", cwd=tmp_path)
    assert done.returncode == 1
    assert "2 counted" in done.stdout
    assert "No space left" in said(done.stderr)[0]
    assert names(tmp_path) == ["lending.db", "outcomes.csv"]


def in_the_second_batch(deed: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of two rows, and something that happens when the second one is to be
    stored.
    """
    monkeypatch.setattr("profitable.portfolio.portfolio.BATCH", 2)
    observe, calls = pb.Portfolio.observe, [0]

    def watched(book: pb.Portfolio, rows: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] == 2:
            deed()
        return observe(book, rows, **options)

    monkeypatch.setattr(pb.Portfolio, "observe", watched)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_what_is_stored(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    (tmp_path / "outcomes.csv").write_text(MIXED.replace("l-2,students", "l-2,nobody"))
    in_the_second_batch(lambda: signal.raise_signal(number), monkeypatch)
    monkeypatch.setattr(os, "_exit", sys.exit)
    done = call("observe", "lending.db", "outcomes.csv", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (130, "")
    (message,) = said(done.stderr)
    assert "of 2 rows: 1 known already, 1 refused, and that is stored" in message
    assert lines(book) == []
    assert names(tmp_path) == ["lending.db", "outcomes.csv"]
    assert call("observe", "lending.db", "outcomes.csv", cwd=tmp_path).returncode == 3
    assert lines(book) == [("outcome", "l-5")]


def test_refused_rows_of_standard_input_are_kept(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_second_batch(lambda: signal.raise_signal(signal.SIGINT), monkeypatch)
    monkeypatch.setattr(os, "_exit", sys.exit)
    content = MIXED.replace("l-2,students", "l-2,nobody").encode()
    done = with_input(content, "observe", "lending.db", "-", cwd=tmp_path)
    assert done.returncode == 130
    assert "refused rows in refused.csv" in done.stderr
    assert (tmp_path / "refused.csv").read_text().splitlines()[1].startswith("l-2,nobody,1,1,")


def test_an_error_says_what_was_stored_before(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outcomes.csv").write_text(
        "id,category,reward\nl-2,students,1\nl-3,students,1\nl-4,students,1\n"
    )

    def gone() -> None:
        raise pb.errors.NotStoredError(
            "portfolio", "lending.db", "cannot be written: the disk is full", "make room"
        )

    in_the_second_batch(gone, monkeypatch)
    message = told(call("observe", "lending.db", "outcomes.csv", cwd=tmp_path), 1)
    assert "the disk is full (before that, of 2 rows: 2 counted)" in message
    assert lines(book) == [("outcome", "l-2"), ("outcome", "l-3")]


def test_a_file_that_is_torn_in_the_middle(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Content that cannot be a row ends the job, which reports the stored rows."""
    monkeypatch.setattr("profitable.portfolio.portfolio.BATCH", 2)
    monkeypatch.setattr("profitable.intake.delimited.LONGEST_LINE", 100)
    (tmp_path / "outcomes.csv").write_text(GOOD + "x" * 200)
    message = told(call("observe", "lending.db", "outcomes.csv", cwd=tmp_path))
    assert "line 4" in message
    assert "before that, of 2 rows: 2 counted" in message


# ------------------------------------------------------------------------ at a terminal


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 3), (b"n\n", 130), (b"", 130)])
def test_a_person_is_asked(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, code: int
) -> None:
    monkeypatch.setattr(csv_intake, "at_terminal", lambda: True)
    monkeypatch.setattr(os, "_exit", sys.exit)
    (tmp_path / "outcomes.csv").write_text(MIXED)
    end = head(book)
    done = with_input(answer, "observe", "lending.db", "outcomes.csv", "--json", cwd=tmp_path)
    assert done.returncode == code
    assert "5 rows: 2 counted, 1 known already, 2 refused (nothing was stored)" in done.stderr
    assert "Store them in lending.db?" in done.stderr
    assert (head(book) == end) == (code == 130)
    if code == 130:
        assert done.stdout == ""
        assert done.stderr.rstrip().endswith("profitable: nothing was stored.")
    else:
        assert json.loads(done.stdout)["counted"] == 2


@pytest.mark.parametrize(
    "arguments", [["outcomes.csv", "--yes"], ["outcomes.csv", "--dry-run"], ["-"]]
)
def test_nobody_is_asked(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr(csv_intake, "at_terminal", lambda: True)
    (tmp_path / "outcomes.csv").write_text(GOOD)
    done = with_input(GOOD.encode(), "observe", "lending.db", *arguments, cwd=tmp_path)
    assert (done.returncode, said(done.stderr)) == (0, [])
    assert "2 counted" in done.stdout


def test_a_real_terminal(book: Path, tmp_path: Path) -> None:
    """A process with a terminal shows what would happen, and waits for an answer."""
    (tmp_path / "outcomes.csv").write_text(GOOD)
    ours, theirs = pty.openpty()
    command = [*COMMAND, "observe", "lending.db", "outcomes.csv"]
    variables = os.environ | {"TERM": "dumb"}
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs, env=variables
    ) as job:
        os.close(theirs)
        seen = b""
        while b"Store them in" not in seen:
            # Which waits, and fails if the process ends before it asks.
            seen += os.read(ours, 1_000)
        assert lines(book) == []
        os.write(ours, b"y\n")
        try:
            while more := os.read(ours, 1_000):
                seen += more
        except OSError:  # the terminal is gone
            pass
        assert job.wait(LIMIT) == 0
    os.close(ours)
    assert b"2 rows: 2 counted\r\n" in seen
    assert lines(book) == [("outcome", "l-2"), ("outcome", "l-3")]


def test_a_dry_run_shows_refused_rows_however_far_behind(book: Path, tmp_path: Path) -> None:
    rows = [f"m-{i},shops,1,1" for i in range(150)]
    text = (
        MIXED.splitlines()[0] + "\n" + "\n".join([*rows, "bad,shops,-1,1", "more,shops,1,1"]) + "\n"
    )
    (tmp_path / "outcomes.csv").write_text(text)
    done = call("observe", "lending.db", "outcomes.csv", "--dry-run", cwd=tmp_path)
    assert done.returncode == 3
    cells = [line.split() for line in done.stdout.splitlines()]
    shown = [each[1] for each in cells if len(each) > 2 and each[2] == "refused"]
    assert shown == ["bad"]
    assert "... and 51 more" in done.stdout
