"""The notebook, executed with few runs.

It is committed without outputs: it shows what was just computed.
"""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

from tests.waiting import LIMIT

NOTEBOOK = Path(__file__).parents[1] / "docs" / "first-figure.ipynb"


def test_notebook_runs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    sizes = [cell for cell in code if cell.source.startswith("RUNS = ")]
    assert len(sizes) == 1
    sizes[0].source = "RUNS = 100"
    limits = {"timeout": int(LIMIT), "startup_timeout": int(LIMIT), "iopub_timeout": int(LIMIT)}
    NotebookClient(notebook, kernel_name="python3", **limits).execute()
    texts = "\n".join(
        output.get("text", "") or output.get("data", {}).get("text/plain", "")
        for cell in code
        for output in cell.outputs
    )
    assert "accepted" in texts
    assert "per log t; the lower bound says 11.18" in texts
    charts = [
        output
        for cell in code
        for output in cell.outputs
        if "vegaEmbed" in output.get("data", {}).get("text/html", "")
    ]
    assert len(charts) == 1
