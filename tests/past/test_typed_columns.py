"""Times and rounds against Python's own calendar."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profitable.errors import InputError
from profitable.past.calendar_rounds import MISSING, before, label, periods, written_as
from profitable.past.layout import Layout
from profitable.past.read import read
from profitable.past.source import open_source
from profitable.past.typed_columns import Dates

EPOCH = datetime(1970, 1, 1)


def times(values: Any, date_format: str | None = None) -> tuple[list[int], str | None]:
    dates = Dates(("when",), date_format)
    return dates.read(next(open_source({"when": values}).pieces(["when"]))).tolist(), dates.kind


def micro(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


JANUARY = micro(datetime(2026, 1, 31))


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["2026-01-31", None, ""], "date", [JANUARY, MISSING, MISSING]),
        (
            ["2026-01", " 2026-02 ", "NA"],
            "month",
            [micro(datetime(2026, 1, 1)), micro(datetime(2026, 2, 1)), MISSING],
        ),
        (
            ["2026-01-31 12:30", "2026-01-31T12:30:15.25"],
            "timestamp",
            [JANUARY + 45_000_000_000, JANUARY + 45_015_250_000],
        ),
        (["2026-01-31T12:30:15.123456789"], "timestamp", [JANUARY + 45_015_123_456]),
        (
            ["2026-01-31T02:00:00+02:00", "2026-01-31 00:00:00Z"],
            "timestamp with a time zone",
            [JANUARY, JANUARY],
        ),
        (["7", "-3"], "whole number", [7, -3]),
        ([7, None], "whole number", [7, MISSING]),
        ([7.0, None], "whole number", [7, MISSING]),
        ([date(2026, 1, 31), None], "date", [JANUARY, MISSING]),
        ([datetime(2026, 1, 31, 1)], "timestamp", [JANUARY + 3_600_000_000]),
        (
            [datetime(2026, 1, 31, 1, tzinfo=UTC)],
            "timestamp with a time zone",
            [JANUARY + 3_600_000_000],
        ),
        ([None, None], None, [MISSING, MISSING]),
    ],
)
def test_kinds_of_times(values: Any, kind: str | None, expected: list[int]) -> None:
    assert times(values) == (expected, kind)


@pytest.mark.parametrize(
    ("values", "pattern", "kind", "expected"),
    [
        (["31.01.2026", None], "%d.%m.%Y", "date", [JANUARY, MISSING]),
        ([20260131], "%Y%m%d", "date", [JANUARY]),
        ([20260131.0, None, float("nan")], "%Y%m%d", "date", [JANUARY, MISSING, MISSING]),
        (["2026 Jan 31"], "%Y %b %d", "date", [JANUARY]),
        (["1/2026"], "%m/%Y", "month", [micro(datetime(2026, 1, 1))]),
        (["31/01/26 01h"], "%d/%m/%y %Hh", "timestamp", [JANUARY + 3_600_000_000]),
        (["31.01.2026 +0200"], "%d.%m.%Y %z", "date", [JANUARY - 7_200_000_000]),
    ],
)
def test_formats(values: Any, pattern: str, kind: str, expected: list[int]) -> None:
    assert times(values, pattern) == (expected, kind)


@settings(max_examples=300)
@given(st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2200, 1, 1)))
def test_rounds_are_those_of_the_calendar(moment: datetime) -> None:
    time = np.array([micro(moment), MISSING])
    day = moment.date()
    expected = {
        "day": day.isoformat(),
        "week": day.strftime("%G-W%V"),
        "month": f"{day:%Y-%m}",
        "quarter": f"{day.year}-Q{(day.month + 2) // 3}",
    }
    for round, name in expected.items():
        found = periods(time, round).tolist()
        assert label(found[0], round) == name
        assert found[1] == MISSING


@settings(max_examples=100)
@given(st.dates(min_value=date(1960, 1, 1), max_value=date(2100, 1, 1)), st.integers(0, 400))
def test_rounds_grow_by_one(day: date, later: int) -> None:
    both = np.array(
        [
            micro(datetime(each.year, each.month, each.day))
            for each in (day, day + timedelta(days=later))
        ]
    )
    gap = np.diff(periods(both, "day"))[0]
    assert gap == later
    assert later // 7 <= np.diff(periods(both, "week"))[0] <= later // 7 + 1
    assert 0 <= np.diff(periods(both, "month"))[0] <= later // 28 + 1


def test_before_looks_at_the_coarser_kind() -> None:
    early, late = np.array([JANUARY - 20 * 86_400_000_000]), np.array([JANUARY])
    assert before(early, late, "date", "date").all()
    assert not before(early, late, "month", "date").any()
    assert not before(late, late, "timestamp", "date").any()
    assert before(np.array([1]), np.array([2]), "whole number", "whole number").all()
    assert not before(np.array([MISSING]), late, "date", "date").any()


def test_dates_that_are_written_as_numbers() -> None:
    assert written_as(np.array([20260131, 20251201, MISSING])) == "%Y%m%d"
    assert written_as(np.array([202601, 202512])) == "%Y%m"
    assert written_as(np.array([202613])) is None
    assert written_as(np.array([1, 2])) is None


@pytest.mark.parametrize(
    ("values", "match"),
    [
        (
            ["2026-01-31", "31.01.2026"],
            "row 2, column when = '31.01.2026' is not a date like the others",
        ),
        (["31.01.2026"], "row 1, column when = '31.01.2026' is not a time such as"),
        (
            ["2026-01-31", "2026-01-31", "2026-02"],
            "row 3, column when = '2026-02' is a month, but others are of the kind date",
        ),
        (["2026-01-31", "2026-02-30"], "row 2, column when = '2026-02-30' is not a valid date"),
        (["2026-13"], "row 1, column when = '2026-13' is not a valid month"),
        ([1.5, 2.0], "row 1, column when = 1.5 is not a whole number"),
        ([True], "row 1, column when = True is of the type bool, not a time"),
    ],
)
def test_a_time_that_cannot_be_read_is_named(values: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        times(values)


def test_numbers_with_fractions_are_no_dates_in_any_format() -> None:
    with pytest.raises(InputError, match=r"row 2, column when = 0\.5 is not a whole number"):
        times([20260131.0, 0.5], "%Y%m%d")


def test_kinds_may_not_change_from_file_to_file() -> None:
    dates = Dates(("when",))
    dates.read(next(open_source({"when": ["2026-01"]}).pieces(["when"])))
    with pytest.raises(InputError, match="is a whole number, but others are of the kind month"):
        dates.read(next(open_source({"when": [5]}).pieces(["when"])))


@pytest.mark.parametrize(
    ("when", "round", "match"),
    [
        (
            ["2026-01", "2026-02", "2026-03"],
            "day",
            'has no days, and a round is a day; give round = "month"',
        ),
        ([1, 2, 3], "month", "is a whole number, and a round is a month"),
        (["2026-01-01", "2026-01-02", "2026-01-03"], "number", "is a date, not a whole number"),
        ([202601, 202602, 202603], None, 'looks like a date; give date_format = "%Y%m"'),
    ],
)
def test_rounds_must_fit_the_times(when: Any, round: str | None, match: str) -> None:
    table = {"when": when, "job": ["a"] * 3, "y": [0, 1, 1]}
    with pytest.raises(InputError, match=match):
        read(table, Layout(category="job", time="when", reward="y", cost=0.5, round=round))


def test_known_and_time_must_be_of_one_sort() -> None:
    table = {"when": [1, 2, 3], "job": ["a"] * 3, "y": [0, 1, 1], "known": ["2026-01"] * 3}
    with pytest.raises(
        InputError,
        match="column known = '2026-01 in row 1' is a month, but when holds the kind whole number",
    ):
        read(table, Layout(category="job", time="when", reward="y", cost=0.5, known="known"))
