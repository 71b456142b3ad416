"""A result in Python: frames, charts, files, and what a notebook shows."""

from functools import cache
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from profitable.errors import ParameterError
from profitable.replay import notebook_view
from profitable.replay.backtest import backtest
from profitable.replay.backtest_figures import PICTURES, figures_of, plotted
from profitable.replay.backtest_result import Backtest
from tests.replay.made_up import HOSTILE, made_up


@cache
def found() -> Backtest:
    """Calls of two jobs over twelve weeks, of which one buys."""
    calls: dict[str, Any] = {
        "week": [week for week in range(1, 13) for _ in range(10)],
        "job": ["cook", "=clerk"] * 60,
        "bought": [1, 0] * 60,
    }
    sizes: dict[str, Any] = {"replays": 10, "shuffles": 0, "policies": ["kl-ucb"]}
    return backtest(calls, category="job", time="week", reward="bought", cost=0.5, **sizes)


def test_frames_and_tables() -> None:
    entries = found().to_frame(backend="pandas")
    assert entries["profit"].tolist() == [entry.profit for entry in found()]
    categories = found().to_frame("categories", backend="polars")
    assert dict(zip(categories["name"], categories["profit"], strict=True)) == {
        "cook": 30.0,
        "=clerk": -30.0,
    }
    assert set(found().tables()) >= {"sentences", "entries", "categories", "known", "settings"}
    with pytest.raises(ParameterError, match="table = 'rows' is unknown; choose from sentences, e"):
        found().to_frame("rows")


def test_every_picture_of_the_page_is_a_chart(tmp_path: Path) -> None:
    """Altair checks them against the schema when a notebook shows them."""
    full = made_up(names=("low", "high"), rounds=3, advised=True)
    for name in ("stop-list", "swap-set", "emergence-by-vintage", "bands", "accepted"):
        figure = PICTURES[name](full)
        assert figure is not None
        assert plotted(full, name, None).to_dict()["datasets"] == figure.chart["datasets"]
    numbers = found().to_dict()
    names = list(figures_of(numbers))
    assert {"difference", "over-time", "vintage"} <= set(names)
    chart = found().plot("over_time", tmp_path / "over.svg")
    assert chart.to_dict()["layer"] == figures_of(numbers)["over-time"].chart["layer"]
    assert (tmp_path / "over.svg").read_text().startswith("<svg")
    with pytest.raises(ParameterError) as error:
        found().plot("pie")
    assert str(error.value).endswith(f"choose from {', '.join(names)}.")


def test_files_have_what_frames_have(tmp_path: Path) -> None:
    page = found().save(tmp_path)
    saved = {path.stem for path in (page.parent / "tables").glob("*.csv")}
    book = openpyxl.load_workbook(found().to_excel(tmp_path / "all.xlsx"))
    assert saved == set(book.sheetnames) == set(found().tables())
    names = [cell.value for cell in book["categories"]["A"]]
    assert names == ["name", *(each["name"] for each in found().to_dict()["categories"])]


def test_a_notebook_shows_verdict_stop_list_and_policies() -> None:
    assert f"<strong>{found().verdict()}</strong>" in found()._repr_html_()
    shown = notebook_view.html_of(made_up(HOSTILE, rounds=5, advised=True))
    order = ["Stop a\\b:c.d[0]", "2 of 6 categories", "■ stop", "Against accepting everybody"]
    places = [shown.index(text) for text in order]
    assert places == sorted(places)
    assert "<script>" not in shown
    assert "<img" not in shown
