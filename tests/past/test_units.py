"""Columns of money and per cent, in texts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from profitable.errors import InputError
from profitable.past.layout import Layout
from profitable.past.past import Past
from profitable.past.read import read
from tests.past.tables import loans, same, write_csv

PLAIN: dict[str, Any] = {"category": "grade", "time": "asked", "reward": "back", "amount": "lent"}


def past_of(path: Path, table: dict[str, list[Any]], **fields: Any) -> Past:
    return read(write_csv(path / "past.csv", table), Layout(**PLAIN, **fields))


def written(table: dict[str, list[Any]], pattern: str) -> dict[str, list[Any]]:
    money = {
        name: [None if value is None else pattern.format(value) for value in table[name]]
        for name in ("lent", "back")
    }
    return table | money


@pytest.mark.parametrize("pattern", ["${:,.2f} ", "{:,.2f} kr", "USD {:.2f}"])
def test_money(pattern: str, tmp_path: Path) -> None:
    table = loans()
    past = past_of(tmp_path, written(table, pattern))
    assert same(past.clients, past_of(tmp_path, table).clients)  # type: ignore[arg-type]
    sign = pattern.replace("{:,.2f}", "").replace("{:.2f}", "").strip()
    assert [f"lent is written in {sign}", f"back is written in {sign}"] == sorted(past.notes)[::-1]


def test_a_decimal_comma(tmp_path: Path) -> None:
    table = loans()
    texts = written(table, "{:,.2f}")
    for name in ("lent", "back"):
        texts[name] = [text and text.translate(str.maketrans(",.", ".,")) for text in texts[name]]
    with pytest.raises(InputError, match=r'has a decimal comma.*or give decimal = ","'):
        past_of(tmp_path, texts)
    past = past_of(tmp_path, texts, decimal=",")
    assert same(past.clients, past_of(tmp_path, table).clients)  # type: ignore[arg-type]


def test_whole_thousands_need_the_decimal_sign(tmp_path: Path) -> None:
    table = loans(60) | {"lent": ["$5,000"] * 60, "back": ["$5,500"] * 60}
    with pytest.raises(InputError, match=r"'\$5,500' could be thousands or a decimal comma"):
        past_of(tmp_path, table)
    past = past_of(tmp_path, table, decimal=".")
    assert past.clients.amount is not None
    assert set(past.clients.amount.tolist()) == {5_000.0}


def test_per_cent(tmp_path: Path) -> None:
    table = loans()
    table["share"] = [f"{place % 20}.25%" for place in range(300)]
    past = past_of(tmp_path, table, score="share")
    assert past.clients.score is not None
    expected = np.sort(
        [(place % 20 + 0.25) / 100.0 for place in range(300) if _is_whole(table, place)]
    )
    np.testing.assert_allclose(np.sort(past.clients.score), expected, rtol=1e-15)
    assert past.notes == ["share has percent signs: 0.25% is 0.0025"]


def _is_whole(table: dict[str, list[Any]], place: int) -> bool:
    return table["back"][place] is not None and table["lent"][place] is not None


def test_a_column_has_one_unit(tmp_path: Path) -> None:
    table = written(loans(), "${:,.2f}")
    table["lent"][40] = "€50.00"
    with pytest.raises(
        InputError, match=r"row 41, column lent = '€50.00' is in €, but others are in \$"
    ):
        past_of(tmp_path, table)
    table = loans()
    table["share"] = ["13.75%"] * 100 + ["0.1375"] * 200
    with pytest.raises(InputError, match=r"row 101, column share = '0.1375' has no percent sign"):
        past_of(tmp_path, table, score="share")
    # Plain numbers may stand beside money, as 0 does.
    table = written(loans(), "${:,.2f}")
    table["back"][40] = "0"
    assert past_of(tmp_path, table).rows == 300


def test_months(tmp_path: Path) -> None:
    table = loans() | {"life": [" 36 months", "60 months", "1 month"] * 100}
    past = past_of(tmp_path, table, score="life / 12")
    assert past.clients.score is not None
    assert set(past.clients.score.tolist()) == {3.0, 5.0, 1.0 / 12.0}


@pytest.mark.parametrize("value", [".,", "", "point", 3])
def test_what_is_no_decimal_sign(value: Any) -> None:
    with pytest.raises(InputError, match="must be a decimal sign"):
        Layout(**PLAIN, decimal=value)
