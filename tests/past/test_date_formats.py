"""Formats of dates, found from texts."""

from datetime import datetime

import pytest

from profitable.past.date_formats import DATE_FORMATS, guess_format

DAYS = [datetime(1997 + each, 1 + each * 5 % 12, 13 + each, 14, 30 + each) for each in range(14)]


@pytest.mark.parametrize("pattern", DATE_FORMATS)
def test_a_format_is_found_that_reads_its_own_dates_back(pattern: str) -> None:
    """Another format that reads all of them the same way is as good."""
    texts = [day.strftime(pattern) for day in DAYS]
    found = guess_format(texts)
    assert found is not None
    read = [datetime.strptime(text, found.pattern) for text in texts]
    assert read == [datetime.strptime(text, pattern) for text in texts]


def test_days_above_12_decide_between_two_ways() -> None:
    assert guess_format(["13/02/2026", "01/02/2026"]) == ("%d/%m/%Y", None)
    assert guess_format(["02/13/2026", "02/01/2026"]) == ("%m/%d/%Y", None)
    assert guess_format(["02/03/2026", "05/04/2026"]) == ("%m/%d/%Y", "%d/%m/%Y")


@pytest.mark.parametrize(
    "texts",
    [["36 months"], ["A41"], ["12.5"], ["13.56%"], ["1 234"], ["99/99/2026"], ["01/01/0001"], []],
)
def test_other_texts_are_no_dates(texts: list[str]) -> None:
    assert guess_format(texts) is None
