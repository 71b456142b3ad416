"""What columns hold."""

from datetime import date, datetime
from typing import Any

import numpy as np
import pytest

from profitable.past.column_profile import ColumnProfile, profile
from profitable.past.column_sample import sampled
from profitable.past.source import open_source


def look(values: list[Any]) -> ColumnProfile:
    return profile(sampled(open_source({"x": values}), ["x"]).piece, "x")


@pytest.mark.parametrize(
    ("values", "type", "shown"),
    [
        (["cook", "clerk", "cook", "nurse"], "text", "cook 50 %, clerk 25 %, nurse 25 %"),
        (["3", "1", "200"], "whole number", "1 to 200"),
        ([3, 1, 200], "whole number", "1 to 200"),
        (["1997", "2014"], "whole number", "1997 to 2014"),
        ([0.25, -1.5], "number", "-1.5 to 0.25"),
        (["1,234.5", "7"], "number", "7 to 1 234"),
        (["$1,234.50 ", "($3.00)"], "money", "-3 to 1 234"),
        (["5,00 €", "1.234,56 €"], "money", "5 to 1 235"),
        (["13.56%", "5%"], "percent", "5 % to 13.56 %"),
        ([" 36 months", " 60 months"], "whole number", "36 to 60"),
        (["yes", "no", "no", "no"], "yes or no", "no 75 %, yes 25 %"),
        ([True, False], "yes or no", "true 50 %, false 50 %"),
        (["2026-01-31", "2026-02-01"], "date", "2026-01-31 to 2026-02-01"),
        (["2026-01", "2026-12"], "month", "2026-01 to 2026-12"),
        (["2026-01-31 12:30:00"] * 2, "timestamp", "2026-01-31 to 2026-01-31"),
        ([date(2026, 1, 31), date(2025, 1, 1)], "date", "2025-01-01 to 2026-01-31"),
        ([datetime(2026, 1, 31, 4)] * 2, "timestamp", "2026-01-31 to 2026-01-31"),
        (["31.01.2026", "01.02.2026"], "date, %d.%m.%Y", "2026-01-31 to 2026-02-01"),
        (["Dec-2011", "Jan-2012"], "date, %b-%Y", "2011-12 to 2012-01"),
        (["28-Feb-97", "01-Mar-03"], "date, %d-%b-%y", "1997-02-28 to 2003-03-01"),
        (["20260131", "20260201"], "date, %Y%m%d", "2026-01-31 to 2026-02-01"),
        ([202601, 202602], "date, %Y%m", "2026-01 to 2026-02"),
        (["", None, "NA"], "empty", ""),
        ([None, None], "empty", ""),
        ([[1], [2]], "other", ""),
    ],
)
def test_types(values: list[Any], type: str, shown: str) -> None:
    found = look(values)
    assert (found.type, found.values) == (type, shown)


def test_missing_and_different_values_are_counted() -> None:
    found = look(["b", None, "a", "b", " ", "b"])
    assert (found.missing, found.different, found.words) == (pytest.approx(2 / 6), 2, ("b", "a"))
    assert found.codes.tolist() == [1, 0, 2, 1, 0, 1]
    assert found.to_dict()["frequent"][0] == {"value": "b", "share": 0.5}


def test_a_few_bad_fields_do_not_hide_the_type() -> None:
    days = [f"{1 + each % 28:02d}/11/2026" for each in range(200)]
    found = look([*days, "soon"])
    assert (found.type, found.unread, found.example) == ("date, %d/%m/%Y", 1, "soon")
    found = look([*map(str, range(200)), "many"])
    assert (found.kind, found.unread, found.example) == ("whole number", 1, "many")
    assert found.numbers is not None
    assert np.isnan(found.numbers[-1])
    assert look([*map(str, range(20)), *["many"] * 5]).kind == "text"


def test_numbers_that_could_mean_two_things_have_a_sign() -> None:
    assert look(["$5,000", "$60,000"]).decimal == "."
    assert look(["$5,000.00", "$60,000"]).decimal == "."
    assert look(["5,5", "6,25"]).decimal == ","
    assert look(["5.5", "6.25"]).decimal is None
