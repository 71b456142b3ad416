"""Whatever standard output is: a decision is stored, the exit code says so, and there
is no traceback.
"""

import codecs
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import profitable as pb
from profitable.cli.app import app
from profitable.cli.output import ESCAPE, _escaped

NAMES = ["cafés", "日本", "🎓"]  # one that latin-1 has, one that it has not, one beyond 16 bits


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    categories = [pb.Category(name, pb.Bernoulli(), threshold=0.5) for name in NAMES]
    pb.Portfolio.create(tmp_path / "book.db", categories, policy="ts", seed=1).close()
    return tmp_path


def run(folder: Path, script: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of shell in which `profitable` is the command of this checkout."""
    command = f'profitable() {{ "{sys.executable}" -m profitable "$@"; }}; {script}'
    everything = os.environ | environment
    told = ["bash", "-c", command]
    return subprocess.run(
        told, cwd=folder, env=everything, capture_output=True, timeout=120, check=False
    )


def decided(folder: Path) -> int:
    with pb.Portfolio(folder / "book.db") as book:
        return book.round


@pytest.mark.parametrize(
    ("closed", "more"), [(">&-", ""), (">&- 2>&-", "--json"), ("<&- >&- 2>&-", "--csv")]
)
def test_closed(folder: Path, closed: str, more: str) -> None:
    done = run(folder, f"profitable decide book.db --key 1 {more} {closed}")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert decided(folder) == 1


@pytest.mark.parametrize("command", ["decide book.db --key 1", "log book.db --format csv"])
def test_a_reader_who_has_left(folder: Path, command: str) -> None:
    done = run(folder, f"profitable {command} | true; echo ${{PIPESTATUS[0]}}")
    assert (done.stdout, done.stderr) == (b"0\n", b"")
    assert decided(folder) == ("decide" in command)


def test_refused_rows_are_said_to_a_reader_who_has_left(folder: Path) -> None:
    (folder / "rows.csv").write_text(
        "id,category,reward\n1,cafés,1\n2,nobody,1\n", encoding="utf-8"
    )
    done = run(folder, "profitable observe book.db rows.csv --json | true; echo ${PIPESTATUS[0]}")
    assert (done.stdout, done.stderr) == (b"3\n", b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk(folder: Path) -> None:
    done = run(folder, "profitable log book.db --format csv > /dev/full")
    assert done.returncode == 1
    assert done.stderr == b"profitable: the output cannot be written (No space left on device)\n"


def test_another_encoding(folder: Path) -> None:
    def printed(command: str) -> str:
        done = run(folder, f"profitable {command}", PYTHONIOENCODING="latin-1")
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode("latin-1")

    table = printed("decide book.db --key 1")
    assert "cafés" in table
    assert "\\u65e5\\u672c" in table
    assert json.loads(printed("decide book.db --key 2 --json"))["accepted"] == NAMES
    lines = printed("log book.db --format json").splitlines()
    assert json.loads(json.loads(lines[1])["body"])["columns"]["name"] == NAMES
    assert decided(folder) == 2


def test_letters_that_cannot_be_encoded_are_written_as_json_does() -> None:
    codecs.register_error(ESCAPE, _escaped)
    for encoding in ("ascii", "latin-1", "cp1252"):
        text = json.dumps(NAMES, ensure_ascii=False)
        assert json.loads(text.encode(encoding, ESCAPE).decode(encoding)) == NAMES
    assert "a\udcff".encode("utf-8", ESCAPE) == b"a\\udcff"


def test_standard_input_that_is_closed_is_empty(folder: Path) -> None:
    done = run(folder, "profitable observe book.db - <&-")
    assert done.returncode == 2
    assert done.stderr.startswith(b"profitable: file = 'standard input' is empty")


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "ascii"])
def test_a_decision_that_was_printed_in_any_encoding_can_be_put_back(
    folder: Path, encoding: str
) -> None:
    book, backup, day = (str(folder / name) for name in ("book.db", "backup.db", "day.json"))
    assert CliRunner().invoke(app, ["copy", book, backup]).exit_code == 0
    script = "profitable decide book.db --key dé --json > day.json"
    assert run(folder, script, PYTHONIOENCODING=encoding).returncode == 0
    done = CliRunner().invoke(app, ["decide", backup, "--as", day])
    assert done.exit_code == 0, done.output
    assert "key dé, reinstated" in done.output
