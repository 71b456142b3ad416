"""The examples run, are short, and print something worth reading."""

import ast
import contextlib
import io
import json
import runpy
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.waiting import LIMIT

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
PAGE = (EXAMPLES / "README.md").read_text(encoding="utf-8")
MOST_LINES = 60

# What only a working example prints.
PRINTS = {
    "backtest_dataframe": "more than accepting everybody",
    "backtest_tables": "tables.xlsx",
    "first_decision": "lapsed: Bernoulli(), worth accepting if its mean is above 0.125.",
    "lending_with_money": "111 clients for 198 090 of 200 000",
    "off_policy_evaluation": "doubly robust",
    "own_policy": "It loses 17.7 ± 1.1 more than kl-UCB over 2 000 rounds.",
    "portfolio": "journal is clean: True",
    "simulate": "more than Thompson sampling",
    "study": "n = 500  ts:forget=0.97",
}


def test_the_page_lists_every_example_and_its_question() -> None:
    assert len(SCRIPTS) + len(NOTEBOOKS) == len(PRINTS) == 9
    for path in (*SCRIPTS, *NOTEBOOKS):
        assert f"| [{path.name}]({path.name}) | {question(path)} |" in PAGE


def question(path: Path) -> str:
    """The first line of a script's docstring, or the title of a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return (ast.get_docstring(ast.parse(text)) or "").splitlines()[0]
    return json.loads(text)["cells"][0]["source"][0].removeprefix("# ").strip()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < MOST_LINES
    assert question(path).endswith("?")
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(path), run_name="__main__")
    assert PRINTS[path.stem] in printed.getvalue()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path: Path, tmp_path: Path) -> None:
    """It is committed without outputs: what it shows was just computed."""
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert sum(cell.source.count("\n") + 1 for cell in notebook.cells) < MOST_LINES
    assert question(path).endswith("?")
    limits = {"timeout": int(LIMIT), "startup_timeout": int(LIMIT), "iopub_timeout": int(LIMIT)}
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, kernel_name="python3", resources=resources, **limits).execute()
    printed = "".join(output.get("text", "") for cell in code for output in cell.outputs)
    assert PRINTS[path.stem] in printed
