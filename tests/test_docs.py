"""The pages: every Python block runs, and prints what the page says it prints.

A ```python block followed by a ```text block must print exactly that.  To renew the printed parts after a change:

    PROFITABLE_UPDATE_DOCS=1 .venv/bin/python -m pytest tests/test_docs.py
"""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from profitable.cli.app import COMMANDS
from profitable.cli.portfolio import COMMANDS as PORTFOLIO_COMMANDS
from profitable.common.registry import HEADERS, exported, rows
from profitable.model.families import FAMILIES
from profitable.policy.policies import POLICIES
from profitable.policy.policy import Bayesian

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
UPDATE = os.environ.get("PROFITABLE_UPDATE_DOCS") == "1"
BLOCK = re.compile(r"```(python|text)\n(.*?)```", re.S)


def test_the_page_names_the_policies_that_use_a_scenario_s_prior() -> None:
    page = (ROOT / "docs/simulation.md").read_text(encoding="utf-8")
    named = re.search(r"^\| `prior` \| for (.*?); other policies ignore it", page, re.M)
    assert named is not None
    using = {name for name, kind in POLICIES.items() if issubclass(kind, Bayesian)}
    assert set(re.split(r", | and ", named[1])) == using


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_print_what_the_page_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    printed: str | None = None
    pieces: list[str] = []
    end = 0
    for match in BLOCK.finditer(text):
        kind, body = match.groups()
        pieces.append(text[end : match.start()])
        end = match.end()
        if kind == "python":
            assert not printed, f"{page.name}: what a block prints is not shown after it:\n{printed}"
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(body, str(page), "exec"), names)
            printed = output.getvalue()
            pieces.append(match.group())
        elif printed is not None:
            if not UPDATE:
                assert body == printed
            pieces.append(f"```text\n{printed}```")
            printed = None
        else:
            pieces.append(match.group())
    assert not printed
    if UPDATE:
        page.write_text("".join(pieces) + text[end:], encoding="utf-8")


BESIDE = [ROOT / "benchmarks/README.md", *(ROOT / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY"))]


@pytest.mark.parametrize("page", [*PAGES, *BESIDE], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, _, heading in re.findall(r"\]\((?!http)([^)#]*)(#([^)]+))?", page.read_text(encoding="utf-8")):
        goal = page.parent / target if target else page
        assert goal.exists(), target
        assert not heading or heading in headings(goal), (target, heading)


def headings(page: Path) -> set[str]:
    """The names by which links reach the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_make_targets_on_the_pages_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for page in (*PAGES, *BESIDE):
        for target in re.findall(r"(?:`|\$ )make ([a-z]+)", page.read_text(encoding="utf-8")):
            assert target in targets, (page.name, target)


HELP_OF_ALL = """
import json, sys
from profitable.cli.app import app
for arguments in json.loads(sys.argv[1]):
    print("=" * 20, flush=True)
    app([*arguments, "--help"], standalone_mode=False, prog_name="profitable")
"""


def test_the_command_line_page_is_what_help_prints() -> None:
    parts = [
        "# The command line\n\nThis is what `--help` prints for each command. Some general notes follow at the end.\n"
    ]
    asked = [[], *([command.__name__.replace("_", "-")] for command, _ in COMMANDS), ["portfolio"]]
    asked += [["portfolio", name] for name, *_ in PORTFOLIO_COMMANDS]
    variables = os.environ | {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    command = [sys.executable, "-c", HELP_OF_ALL, json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, text=True, env=variables, check=True, timeout=60)
    for arguments, printed in zip(asked, done.stdout.split("=" * 20 + "\n")[1:], strict=True):
        lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
        help_text = "\n".join(lines).strip()
        parts.append(f"\n## profitable {' '.join(arguments)}".rstrip() + f"\n\n```\n{help_text}\n```\n")
    page, after = ROOT / "docs" / "cli.md", "\n## General notes\n"
    text = page.read_text(encoding="utf-8")
    if UPDATE:
        page.write_text("".join(parts) + after + text.partition(after)[2], encoding="utf-8")
    before, found, _ = page.read_text(encoding="utf-8").partition(after)
    assert found
    assert before == "".join(parts)


@pytest.mark.parametrize(("mark", "registry"), [("families", FAMILIES), ("policies", POLICIES)])
def test_the_reference_lists_what_is_registered(mark: str, registry: dict[str, type]) -> None:
    ours = {cls.name: cls for cls in exported(registry).values()}
    lines = [HEADERS, ["---"] * len(HEADERS), *([f"`{name}`", f"`{call}`", what] for name, call, what in rows(ours))]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    page = ROOT / "docs" / "reference.md"
    text = page.read_text(encoding="utf-8")
    before, start, rest = text.partition(f"<!-- {mark}: made from the registry -->\n")
    _, end, after = rest.partition("\n<!-- end -->")
    assert start
    assert end
    if UPDATE:
        page.write_text(f"{before}{start}{table}{end}{after}", encoding="utf-8")
    assert f"{start}{table}{end}" in page.read_text(encoding="utf-8")
