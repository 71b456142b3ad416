"""All tables of a backtest as columns, and as dataframes."""

from typing import Any

import pytest

from profitable.common.extras import BACKENDS, frame_of
from profitable.errors import ParameterError
from profitable.replay.backtest_tables import TABLES, table_of, tables_of
from tests.replay.made_up import made_up


def test_every_table_of_a_full_backtest() -> None:
    """Rows are those of the dict, and all columns of a table are equally long."""
    backtest = made_up(rounds=6, advised=True, off_policy=True)
    tables = tables_of(backtest)
    assert list(tables) == list(TABLES)
    for name, columns in tables.items():
        assert len({len(column) for column in columns.values()}) == 1, name
    stops = tables["stop_list"]
    for field in ("category", "pays", "stop"):
        assert stops[field] == [row[field] for row in backtest["stop_list"]["rows"]]
    assert tables["entries"]["profit"] == [each["profit"] for each in backtest["entries"]]
    assert tables["time_split"]["stopped"][1] == "small business; moving"
    assert tables["time_split_total"]["gain"] == [each["gain"] for each in backtest["time_splits"]]
    assert tables["groupings"]["time_split_low"] == [2e3, -4e4, None]
    assert sum(tables["swap_set"]["clients_out"]) == sum(
        row["clients_out"] for each in backtest["swap_sets"] for row in each["rows"]
    )
    assert len(tables["emergence"]["age"]) == 37
    said = tables["sentences"]["sentence"]
    for text in (backtest["advice"], *backtest["warnings"], *backtest["assumptions"]):
        assert text in said


def test_frames_of_all_libraries_agree() -> None:
    tables = tables_of(made_up(rounds=5, advised=True, off_policy=True))
    for name, columns in tables.items():
        pandas, polars, arrow = (frame_of(columns, backend) for backend in BACKENDS)
        sizes = [pandas.shape, polars.shape, (arrow.num_rows, arrow.num_columns)]
        assert sizes == [(len(next(iter(columns.values()))), len(columns))] * 3, name


def test_whole_numbers_among_fractions_become_fractions() -> None:
    left_out = [{"reason": "x", "rows": 2, "mean": 1}, {"reason": "y", "rows": 3, "mean": 0.5}]
    found = tables_of({"left_out": left_out})["left_out"]
    assert [type(value) for value in found["mean"]] == [float, float]
    assert found["rows"] == [2, 3]


@pytest.mark.parametrize(
    ("name", "problem"), [("stop_list", "is empty in this backtest"), ("stops", "is unknown")]
)
def test_a_table_that_is_not_there(name: str, problem: str) -> None:
    backtest: dict[str, Any] = made_up(rounds=5)
    with pytest.raises(ParameterError, match=rf"'{name}' {problem}; choose from .*entries, .*set"):
        table_of(backtest, name)
    assert table_of(backtest, "by vintage") == tables_of(backtest)["by_vintage"]
