"""The pages: every Python block runs, and prints what the page says it prints.

A ```python block followed by a ```text block must print exactly that.  To renew the
printed parts after a change:

    PROFITABLE_UPDATE_DOCS=1 .venv/bin/python -m pytest tests/test_docs.py
"""

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from profitable.cli.app import PANELS, app
from profitable.cli.portfolio_commands import COMMANDS as PORTFOLIO_COMMANDS
from profitable.common.registry import HEADERS, exported, rows
from profitable.model.families import FAMILIES
from profitable.policy.policies import POLICIES, Bayesian

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
def test_blocks_print_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
            assert not printed, (
                f"{page.name}: what a block prints is not shown after it:\n{printed}"
            )
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


OTHER_PAGES = [
    ROOT / "benchmarks/README.md",
    ROOT / "examples/README.md",
    *(ROOT / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY")),
]


@pytest.mark.parametrize("page", [*PAGES, *OTHER_PAGES], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, _, heading in re.findall(
        r"\]\((?!http)([^)#]*)(#([^)]+))?", page.read_text(encoding="utf-8")
    ):
        goal = page.parent / target if target else page
        assert goal.exists(), target
        assert not heading or heading in headings(goal), (target, heading)


def test_prose_has_one_sentence_per_line() -> None:
    """Tables, pictures, HTML and code are left out."""
    two_sentences = re.compile(r"[a-z)\]]\.\)? [A-Z]")
    for page in sorted({*PAGES, *OTHER_PAGES}):
        prose = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        lines = re.sub(r"`[^`\n]*`", "code", prose).splitlines()
        kept = [line for line in lines if not line.startswith(("|", "!", "<", "    "))]
        assert not [line for line in kept if two_sentences.search(line)], page.name


def headings(page: Path) -> set[str]:
    """The names by which links reach the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_python_files_on_the_pages_exist() -> None:
    """A file of the package is named by its room: `kernels/law.py`."""
    folders = (ROOT, ROOT / "src", ROOT / "src/profitable")
    pages = {*PAGES, *OTHER_PAGES} - {ROOT / "CHANGELOG.md"}  # which names files of the past
    named = [
        (page.name, name)
        for page in sorted(pages)
        for name in re.findall(
            r"(?<![\w./-])(?:[\w-]+/)+[\w-]+\.py\b", page.read_text(encoding="utf-8")
        )
    ]
    assert len(named) > 50
    assert not [each for each in named if not any((base / each[1]).exists() for base in folders)]
    files = {path.name for base in ROOT.glob("[!.]*/") for path in base.rglob("*.py")}
    bare = [
        (page.name, name)
        for page in sorted(pages)
        for name in re.findall(r"`(\w+\.py)`", page.read_text(encoding="utf-8"))
    ]
    assert len(bare) > 50
    assert not [each for each in bare if each[1] not in files]


def test_make_targets_on_the_pages_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for page in (*PAGES, *OTHER_PAGES):
        for target in re.findall(r"(?:`|\$ )make ([a-z]+)", page.read_text(encoding="utf-8")):
            assert target in targets, (page.name, target)


def commands() -> list[tuple[str, list[str]]]:
    """Every command of the console blocks, with its page, up to a comment or a pipe."""
    found: list[tuple[str, list[str]]] = []
    for page in (*PAGES, *OTHER_PAGES):
        for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
            for line in re.findall(r"^\$ (.*)$", block.replace("\\\n", ""), re.M):
                words = shlex.split(re.split(" [|>] ", line)[0], comments=True)
                found.append((page.name, words))
    return found


def test_commands_on_the_pages_are_understood() -> None:
    """Options and values are parsed; `test_pages.py` runs what needs no other file."""
    root = get_command(app)
    checked = 0
    for page, (program, *words) in commands():
        if program.removeprefix(".venv/bin/") == "profitable":
            command, name, rest = root, program, words
            while isinstance(command, TyperGroup):
                context = command.make_context(name, list(rest), allow_extra_args=True)
                found, command, rest = command.resolve_command(context, rest)
                assert command is not None, (page, words)
                name = str(found)
            command.make_context(name, list(rest))  # ends the test if it is wrong
            checked += 1
        for word in words:
            if word.startswith(("tests/", "examples/")):
                assert (ROOT / word).exists(), (page, word)
    assert checked > 30


HELP_OF_ALL = """
import json, sys
from profitable.cli.app import app
for arguments in json.loads(sys.argv[1]):
    print("=" * 20, flush=True)
    app([*arguments, "--help"], standalone_mode=False, prog_name="profitable")
"""


def test_the_command_line_page_is_what_help_prints() -> None:
    intro = "This is what `--help` prints for each command.\nSome general notes follow at the end."
    parts = [f"# The command line\n\n{intro}\n"]
    names = [each.__name__.replace("_", "-") for panel in PANELS.values() for each, _ in panel]
    asked = [[], *([name] for name in names), ["portfolio"]]
    asked += [["portfolio", name] for name, *_ in PORTFOLIO_COMMANDS]
    variables = os.environ | {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    command = [sys.executable, "-c", HELP_OF_ALL, json.dumps(asked)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=variables, check=True, timeout=60
    )
    for arguments, printed in zip(asked, done.stdout.split("=" * 20 + "\n")[1:], strict=True):
        lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
        help_text = "\n".join(lines).strip()
        parts.append(
            f"\n## profitable {' '.join(arguments)}".rstrip() + f"\n\n```\n{help_text}\n```\n"
        )
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
    lines = [
        HEADERS,
        ["---"] * len(HEADERS),
        *([f"`{name}`", f"`{call}`", what] for name, call, what in rows(ours)),
    ]
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
