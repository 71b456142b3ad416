"""The commands on the pages about the portfolio: they run in the order of the page, and
print what it says.

A block after `<!-- file: name -->` is written to that file.  A console block after
`<!-- runs -->` is run, and `...` stands for whatever is printed there: a time, or a
hash.  A command that ends with `> name` writes to that file.
"""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from profitable.cli.app import app

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"<!-- (runs|file: (\S+)) -->\n```\w+\n(.*?)```", re.S)
REFUSED = 3  # the exit code of a command that has refused some rows
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", ["portfolio.md"])
def test_commands_print_what_the_page_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    number = 0
    for what, name, body in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
        if what != "runs":
            (tmp_path / name).write_text(body, encoding="utf-8")
            continue
        for part in body.split("$ profitable ")[1:]:
            line, _, expected = part.partition("\n")
            command, _, target = line.partition(" > ")
            done = CliRunner().invoke(app, shlex.split(command))
            assert done.exit_code in (0, REFUSED), (line, done.output, done.exception)
            printed = done.output
            if target:
                (tmp_path / target).write_text(done.stdout, encoding="utf-8")
                printed = done.stderr
            assert doctest.OutputChecker().check_output(expected, printed, FLAGS), (
                f"{line}\n{printed}"
            )
            number += 1
    assert number > 5
