"""The command line as a user types it."""

import contextlib
import errno
import io
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from profitable import cli
from profitable.policy.policies import POLICIES
from tests.waiting import LIMIT, at, said, started, wait_for

COMMAND = [sys.executable, "-m", "profitable"]
Way = Callable[..., subprocess.CompletedProcess[str]]


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """In a process of its own."""
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, cwd=cwd, timeout=LIMIT, check=False
    )


def call(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The same in this process, which takes less time; warnings are errors here."""
    output, errors = io.StringIO(), io.StringIO()
    logs = logging.StreamHandler(errors)  # as Python does unless told otherwise
    logs.setLevel(logging.WARNING)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    logging.getLogger().addHandler(logs)
    try:
        with (
            contextlib.chdir(cwd),
            mock.patch.object(sys, "argv", ["profitable", *arguments]),
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(errors),
            pytest.raises(SystemExit) as ended,
        ):
            cli.main()
    finally:
        logging.getLogger().removeHandler(logs)
        for number, handler in before.items():
            signal.signal(number, handler)
    code = ended.value.code
    assert isinstance(code, int)
    return subprocess.CompletedProcess(arguments, code, output.getvalue(), errors.getvalue())


def test_help_has_an_example_and_loads_no_compiler() -> None:
    script = (
        "import sys\nfrom profitable import cli\nsys.argv = ['profitable', '--help']\n"
        "try:\n    cli.main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {'numba', 'scipy', 'numpy', 'pydantic', 'sqlalchemy', 'altair'} & "
        "set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "credit" in done.stdout
    credit = call("credit", "--help", cwd=Path())
    assert credit.returncode == 0
    assert "Example:" in credit.stdout


def test_every_command_and_option_has_help() -> None:
    import typer

    from profitable.cli.app import app

    def check(name: str, command: Any) -> None:
        assert command.help, name
        assert command.epilog, name
        for parameter in command.params:
            assert getattr(parameter, "help", None), (name, parameter.name)
        for inner, each in getattr(command, "commands", {}).items():
            check(f"{name} {inner}", each)

    group = typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        check(name, command)


def test_version() -> None:
    from profitable import __version__

    done = run("--version")
    assert done.returncode == 0
    assert done.stdout.strip() == f"profitable {__version__}"


def test_credit(tmp_path: Path) -> None:
    done = run("credit", "--rounds", "30", "--plays", "3", "--out", "made/here", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert said(done.stderr) == []
    assert "clairvoyant" in done.stdout
    assert "homeowners" in done.stdout
    assert (tmp_path / "made/here/credit.png").exists()
    numbers = call(
        "credit", "--rounds", "30", "--plays", "3", "--out", "made/here", "--json", cwd=tmp_path
    )
    assert json.loads(numbers.stdout) == json.loads(
        (tmp_path / "made/here/credit.json").read_text()
    )


MISTAKES = [
    (["credit", "--policy", "ucb1"], "ucb1"),
    (["nothing"], "nothing"),
    (["credit", "--policy", "ts:c=1"], "'ts:c=1'"),
    (["credit", "--policy", "kl-emp-ucb:c=x"], "'x'"),
    (["credit", "--rounds", "0"], "rounds"),
    (["credit", "--plays", "-3"], "plays"),
    (["credit", "--seed", "-1"], "seed"),
    (["credit", "--rounds", "many"], "many"),
    (["credit", "--unknown"], "--unknown"),
    (["credit", "--out", "a-file"], "a-file"),
    (["credit", "--out", "x" * 300], "xxx"),
    (["credit", "--rounds", "1000000000000"], "rounds"),
    (["credit", "--plays", "1000000000000000000000"], "plays"),
    (["credit", "--seed", "1" + "0" * 400], "seed"),
]


@pytest.mark.parametrize(
    ("way", "arguments", "named"),
    [*((call, *mistake) for mistake in MISTAKES), *((run, *mistake) for mistake in MISTAKES[:2])],
    ids=lambda value: value.__name__ if callable(value) else str(value)[-40:],
)
def test_mistakes_get_one_line_and_exit_2(
    tmp_path: Path, way: Way, arguments: list[str], named: str
) -> None:
    (tmp_path / "a-file").write_text("not a folder")
    done = way(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert named in done.stderr
    assert done.stderr.startswith("profitable: ")
    assert len(done.stderr.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a-file"]


@pytest.mark.parametrize("deed", [signal.SIGINT, signal.SIGTERM])
def test_interrupting_leaves_nothing_behind(tmp_path: Path, deed: signal.Signals) -> None:
    """Thousands of plays, which would take hours."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    with started(
        at("in the second play", str(there), "credit", "--plays", "100000"), cwd=here
    ) as job:
        wait_for(there, job)
        assert (here / "results").exists()
        os.kill(job.pid, deed)
        _, errors = job.communicate(timeout=LIMIT)
    assert job.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert not list(here.iterdir())


@pytest.mark.parametrize("kind", ["policies", "families"])
def test_lists_name_what_is_registered(kind: str, tmp_path: Path) -> None:
    from profitable.common.registry import exported
    from profitable.model.families import FAMILIES
    from profitable.policy.policies import POLICIES

    known = exported(POLICIES if kind == "policies" else FAMILIES)
    listed = json.loads(call(kind, "--json", cwd=tmp_path).stdout)
    assert [each["name"] for each in listed] == [cls.name for cls in known.values()]
    table = call(kind, cwd=tmp_path).stdout
    for name, cls in known.items():
        assert cls.name in table
        assert f"{name}(" in table


def test_a_single_round_warns_of_nothing(tmp_path: Path) -> None:
    done = call("credit", "--rounds", "1", "--plays", "1", cwd=tmp_path)
    assert done.returncode == 0
    assert said(done.stderr) == []


def test_a_full_disk_does_not_hide_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("profitable.paper.credit.CreditResult.save", full)
    done = call("credit", "--rounds", "20", "--plays", "2", "--out", "new", cwd=tmp_path)
    assert done.returncode == 1
    assert "homeowners" in done.stdout
    assert "No space left on device" in done.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "outcome", [SystemExit(1), RuntimeError("lowering failed"), BrokenPipeError(), 0]
)
def test_ctrl_c_that_comes_out_as_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outcome: BaseException | int
) -> None:
    """A compiler makes another error of it; a program that reads our output has ended
    by the same Ctrl-C.
    """

    def interrupted(**_: object) -> int:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr("profitable.cli.app.app", interrupted)
    monkeypatch.setattr(os, "_exit", sys.exit)
    done = call("policies", cwd=tmp_path)
    if outcome == 0:  # it was swallowed, and the work is done
        assert done.returncode == 0
        return
    assert done.returncode == 130
    assert done.stderr.startswith("profitable: interrupted")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("profitable sim", ["simulate"]),
        (
            "profitable simulate x.toml --policy kl-ucb",
            [name for name in POLICIES if name.startswith("kl-ucb")],
        ),
        ("profitable credit --policy t", [name for name in POLICIES if name.startswith("t")]),
        ("profitable simulate x.toml --fr", ["--fresh"]),
    ],
)
def test_the_shell_completes(typed: str, expected: list[str]) -> None:
    words = typed.split()
    bash = {
        "_PROFITABLE_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(words) - 1),
    }
    command = [sys.executable, "-c", "from profitable.cli import main; main()"]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | bash, timeout=LIMIT, check=False
    )
    assert done.stdout.split() == expected, done.stderr


def test_the_completion_of_a_shell_is_shown() -> None:
    done = subprocess.run(
        [*COMMAND, "--show-completion", "bash"],
        capture_output=True,
        text=True,
        env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0
    assert "_PROFITABLE_COMPLETE=complete_bash" in done.stdout
