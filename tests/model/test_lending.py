"""Lending: its terms, and the numbers that follow from them."""

import math
from typing import Any

import pytest

import profitable as pb


def test_numbers_per_round() -> None:
    lending = pb.Lending(required=0.05)
    assert lending.discount**12 == pytest.approx(1.0 / 1.05)
    assert lending.cycle == 48.0
    assert lending.memory == pytest.approx(0.8)
    weekly = pb.Lending(per_year=52)
    assert weekly.memory ** (52 / 12) == pytest.approx(0.8)
    assert weekly.cycle == 208.0


def test_patience_is_capped_where_the_level_is_uncertain() -> None:
    assert pb.Lending().most_patience == pytest.approx(math.log(48.0))
    assert pb.Lending(level=0.0).most_patience == math.inf
    assert pb.Lending(per_year=0.1).most_patience == 0.0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("required", -1.0),
        ("required", math.nan),
        ("required", "5 %"),
        ("required", 11.0),
        ("recovery", 1.1),
        ("recovery", -0.1),
        ("lag", -1),
        ("lag", 0.5),
        ("lag", 1_201),
        ("level", -0.1),
        ("level", 0.001),
        ("level", 11),
        ("level", math.inf),
        ("frailty", 1),
        ("per_year", 0),
        ("per_year", math.inf),
    ],
)
def test_illegal_terms_are_refused(field: str, value: Any) -> None:
    with pytest.raises(pb.errors.ParameterError, match=f"(?i){field}"):
        pb.Lending(**{field: value})
