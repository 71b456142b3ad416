"""Files without an end: one sentence, at once, and bounded memory."""

import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

import profitable as pb
from profitable.common import files
from profitable.common.files import read_text
from profitable.portfolio import portfolio_settings
from profitable.replay.backtest_options import load_toml
from profitable.studies.study import read_scenario
from tests.cli.test_app import call

LOADERS: list[Callable[[Path], object]] = [
    portfolio_settings.load,
    load_toml,
    pb.Scenario.load,
    pb.Study.load,
    read_scenario,
    pb.Agent.load,
]
COMMANDS = [
    ["portfolio", "create", "new.db", "--from", "{}"],
    ["simulate", "{}"],
    ["study", "{}"],
    ["backtest", "--from", "{}", "--policy", "ts"],
    ["observe", "book.db", "{}"],
    ["open", "book.db", "{}"],
    ["decide", "book.db", "--key", "1", "--places", "3", "--demand", "{}"],
    ["decide", "book.db", "--as", "{}"],
    ["verify", "book.db", "--heads", "{}"],
]


@contextmanager
def endless(folder: Path, text: bytes, head: bytes = b"") -> Generator[Path]:
    """A pipe into which somebody writes a text again and again, until its reader
    leaves.
    """
    path = folder / "pipe"
    os.mkfifo(path)

    def write() -> None:
        try:
            with path.open("wb", buffering=0) as file:
                file.write(head)
                while True:
                    file.write(text * 4_000)
        except BrokenPipeError:
            pass

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    yield path
    writer.join(timeout=60)
    assert not writer.is_alive()


@pytest.mark.parametrize("load", LOADERS, ids=lambda load: f"{load.__module__}.{load.__qualname__}")
def test_a_pipe_without_an_end(
    load: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_PIPED", 10**6)
    with (
        endless(tmp_path, b'name = "x"\n') as path,
        pytest.raises(pb.ProfitableError, match=r"it has more than 0 megabytes"),
    ):
        load(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_device_without_an_end(command: list[str], tmp_path: Path) -> None:
    pb.Portfolio.create(
        tmp_path / "book.db", [pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy="ts"
    ).close()
    done = call(*(part.format("/dev/zero") for part in command), cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "/dev/zero" in done.stderr
    assert not (tmp_path / "new.db").exists()


def test_what_is_read() -> None:
    with pytest.raises(OSError, match="it has more than 64 megabytes"):
        read_text(Path("/dev/zero"))


def test_regular_files_are_read_as_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert read_text(path, "utf-8-sig") == path.read_text(encoding="utf-8-sig") == "a\nb\nc\n"
    monkeypatch.setattr(files, "MOST_BYTES", 3)
    with pytest.raises(OSError, match="it has more than 0 megabytes"):
        read_text(path)


def test_blank_lines_without_an_end(tmp_path: Path) -> None:
    pb.Portfolio.create(
        tmp_path / "book.db", [pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy="ts"
    ).close()
    with endless(tmp_path, b"\n") as path:
        done = call("observe", "book.db", str(path), cwd=tmp_path)
    assert done.returncode == 2
    assert "is empty" in done.stderr


def test_rows_that_are_one_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profitable.cli.csv_intake.MOST_PIPED_ROWS", 1_000)
    pb.Portfolio.create(
        tmp_path / "book.db", [pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy="ts"
    ).close()
    with endless(tmp_path, b"1,a,1\n", b"id,category,reward\n") as path:
        done = call("observe", "book.db", str(path), "--all-or-nothing", cwd=tmp_path)
    assert done.returncode == 2
    assert (
        "has more than 1000 rows, which are kept in memory; leave out --all-or-nothing, or "
        "save it as a" in done.stderr
    )
    path.unlink()
    with endless(tmp_path, b"a,1\n", b"category,clients\n") as path:
        done = call(
            "decide", "book.db", "--key", "1", "--places", "3", "--demand", str(path), cwd=tmp_path
        )
    assert done.returncode == 2
    assert "has more than 1000 rows" in done.stderr
    with pb.Portfolio(tmp_path / "book.db") as book:
        assert book.status().columns["known"] == [0]
