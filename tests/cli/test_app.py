"""The command line as a user types it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "profitable"]


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, cwd=cwd, timeout=120, check=False)


def test_help_has_an_example_and_loads_no_compiler() -> None:
    script = (
        "import sys\nfrom profitable import cli\nsys.argv = ['profitable', '--help']\n"
        "try:\n    cli.main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {'numba', 'scipy', 'scipy.special', 'numpy', 'pydantic', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "credit" in done.stdout
    credit = run("credit", "--help")
    assert credit.returncode == 0
    assert "Example:" in credit.stdout


def test_every_command_and_option_has_help() -> None:
    import typer

    from profitable.cli.app import app

    group = typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        assert command.help, name
        assert command.epilog, name
        for parameter in command.params:
            assert getattr(parameter, "help", None), (name, parameter.name)


def test_version() -> None:
    from profitable import __version__

    assert run("--version").stdout.strip() == f"profitable {__version__}"


def test_credit(tmp_path: Path) -> None:
    done = run("credit", "--rounds", "30", "--plays", "3", "--out", "made/here", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "clairvoyant" in done.stdout
    assert "homeowners" in done.stdout
    assert (tmp_path / "made/here/credit.png").exists()
    numbers = run("credit", "--rounds", "30", "--plays", "3", "--out", "made/here", "--json", cwd=tmp_path)
    assert json.loads(numbers.stdout) == json.loads((tmp_path / "made/here/credit.json").read_text())


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["credit", "--policy", "ucb1"], "ucb1"),
        (["credit", "--policy", "ts:c=1"], "'ts:c=1'"),
        (["credit", "--policy", "kl-emp-ucb:c=x"], "'x'"),
        (["credit", "--rounds", "0"], "rounds"),
        (["credit", "--plays", "-3"], "plays"),
        (["credit", "--seed", "-1"], "seed"),
        (["credit", "--rounds", "many"], "many"),
        (["credit", "--unknown"], "--unknown"),
        (["nothing"], "nothing"),
        (["credit", "--out", "a-file"], "a-file"),
        (["credit", "--out", "x" * 300], "xxx"),
        (["credit", "--rounds", "1000000000000"], "rounds"),
        (["credit", "--plays", "1000000000000000000000"], "plays"),
        (["credit", "--seed", "1" + "0" * 400], "seed"),
    ],
)
def test_mistakes_get_one_line_and_exit_2(tmp_path: Path, arguments: list[str], named: str) -> None:
    (tmp_path / "a-file").write_text("not a folder")
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert named in done.stderr
    assert done.stderr.startswith("profitable: ")
    assert len(done.stderr.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a-file"]


def test_interrupting_leaves_nothing_behind(tmp_path: Path) -> None:
    arguments = ["credit", "--rounds", "5000", "--plays", "5000"]
    with subprocess.Popen([*COMMAND, *arguments], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(4.0)
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["policies", "families"])
def test_lists_name_what_is_registered(kind: str) -> None:
    from profitable.common.registry import exported
    from profitable.model.families import FAMILIES
    from profitable.policy.policies import POLICIES

    known = exported(POLICIES if kind == "policies" else FAMILIES)
    listed = json.loads(run(kind, "--json").stdout)
    assert [each["name"] for each in listed] == [cls.name for cls in known.values()]
    table = run(kind).stdout
    for name, cls in known.items():
        assert cls.name in table
        assert f"{name}(" in table


def test_python_dash_m() -> None:
    done = subprocess.run([sys.executable, "-m", "profitable", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("profitable ")


def test_a_single_round_warns_of_nothing(tmp_path: Path) -> None:
    done = run("credit", "--rounds", "1", "--plays", "1", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == ""
