"""The guide of docs/design.md, followed word by word in a copy of the project: does the
matrix accept what comes out?

The simulators take minutes to compile with a new law.  So `make soak` adds the tests
that need them, and leaves out every line of the guide in turn: each time the matrix, or
Python itself, must notice.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOAK = os.environ.get("PROFITABLE_SOAK") == "1"
STEP = re.compile(
    r"<!-- guide: (\w+) \| (\S+) \| (end|after: .*?|before: .*?) -->\n```py\n(.*?)```", re.S
)
MATRIX = ["tests/test_matrix.py", "tests/test_families.py", "tests/test_patience.py"]
MATRIX += ["tests/theory/test_unlucky_start_assumptions.py", "tests/simulation/test_scenario.py"]
MATRIX += ["tests/agent/test_window_forgetting.py", "tests/agent/test_observation_money.py"]
MATRIX += ["tests/test_docstrings.py"]
if SOAK:
    MATRIX += ["tests/kernels/test_draw.py", "tests/simulation/test_runner_same_law.py"]
NEW = {"policy": "wald", "family": "log-normal", "patience": "half-kl-ucb"}
# Files and lines, tests included.
MOST = {"policy": (3, 40), "family": (3, 60), "patience": (3, 40)}


@dataclass(frozen=True)
class Step:
    """One insertion: into which file, where, what."""

    path: str
    place: str
    code: str

    def apply(self, copy: Path) -> None:
        target, code = copy / self.path, self.code
        lines = target.read_text(encoding="utf-8").splitlines(keepends=True)
        if self.place == "end":
            place, code = len(lines), f"\n\n{code}"
        else:
            where, _, anchor = self.place.partition(": ")
            found = [number for number, line in enumerate(lines) if line.strip().startswith(anchor)]
            assert len(found) == 1, (self.path, anchor, found)
            place = found[0]
            while where == "after" and lines[place].count("(") > lines[place].count(")"):
                place += 1  # the statement goes on
            place += where == "after"
        lines[place:place] = code.splitlines(keepends=True)
        target.write_text("".join(lines), encoding="utf-8")


def steps(recipe: str) -> list[Step]:
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    return [
        Step(path, place, code) for name, path, place, code in STEP.findall(page) if name == recipe
    ]


def follow(copy: Path, done: list[Step]) -> subprocess.CompletedProcess[str]:
    """Copy the project, take the steps, and run the matrix on what is new: one
    compilation for all recipes.

    The steps make every cached kernel stale, so all are compiled, but not optimised.
    Byte code of files that no step changes is used as it is.
    """
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("*.nb[ci]"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    for step in done:
        step.apply(copy)
    variables = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTEST", "PROFITABLE"))
    }
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-n",
        "0",
        *MATRIX,
    ]
    words += ["-k", " or ".join([*NEW.values(), "LogNormal", "complete", "share_a_code"])]
    settings = {"PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}", "NUMBA_OPT": "0"}
    return subprocess.run(
        words, cwd=copy, capture_output=True, text=True, env=variables | settings, check=False
    )


@pytest.mark.parametrize("recipe", NEW)
def test_the_guide_is_short(recipe: str) -> None:
    found = steps(recipe)
    most_files, most_lines = MOST[recipe]
    assert len({step.path for step in found}) <= most_files
    assert sum(len(step.code.strip().splitlines()) for step in found) <= most_lines


def test_the_guide_leads_to_something_right(tmp_path: Path) -> None:
    done = follow(tmp_path, [step for recipe in NEW for step in steps(recipe)])
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout[-500:]
    assert int(passed[1]) > 600  # all properties of the new policies and the new family


def left_out() -> list[tuple[int, int, str]]:
    """Every line of the guide that Python reads: not blank ones, and no docstrings."""
    return [
        (number, line, text.strip())
        for number, step in enumerate(step for recipe in NEW for step in steps(recipe))
        for line, text in enumerate(step.code.splitlines())
        if text.strip() and not text.strip().startswith('"""')
    ]


@pytest.mark.skipif(
    not SOAK, reason="make soak: compiles the kernels anew for every line of the guide"
)
@pytest.mark.parametrize(("number", "line", "text"), left_out())
def test_every_line_of_the_guide_is_needed(
    number: int, line: int, text: str, tmp_path: Path
) -> None:
    found = [step for recipe in NEW for step in steps(recipe)]
    lines = found[number].code.splitlines(keepends=True)
    del lines[line]
    found[number] = replace(found[number], code="".join(lines))
    assert follow(tmp_path, found).returncode != 0, (
        f"nobody noticed that this line is missing: {text}"
    )
