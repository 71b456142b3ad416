"""Refused clients whose outcomes are known."""

from typing import Any

import numpy as np
import pytest

from profitable.past.control_group import warn_of_refused_outcomes
from profitable.past.layout import Layout
from profitable.past.source import open_source

LOG = Layout(category="job", reward="spent", cost=1, round=50, accepted="mailed")


def mailing(rows: int = 1_000) -> dict[str, Any]:
    rng = np.random.default_rng(8)
    mailed = rng.random(rows) < 0.5
    return {
        "job": rng.choice(["cook", "clerk"], rows).tolist(),
        "mailed": mailed.astype(int).tolist(),
        "spent": np.round(rng.exponential(5, rows) + mailed, 2).tolist(),
        "chance": [0.5] * rows,
    }


@pytest.mark.parametrize("propensity", [None, "chance"])
def test_refused_clients_with_outcomes_are_a_control_group(propensity: str | None) -> None:
    table = mailing()
    layout = Layout(**LOG.to_dict() | ({"propensity": propensity} if propensity else {}))
    (warning,) = warn_of_refused_outcomes(open_source(table), layout)
    spent, mailed = np.array(table["spent"]), np.array(table["mailed"]) == 1
    assert f"{spent[~mailed].mean():.4g} on average against {spent[mailed].mean():.4g}" in warning
    assert "give --treated mailed" in warning


def test_refused_clients_without_outcomes_are_none() -> None:
    table = mailing()
    pairs = list(zip(table["spent"], table["mailed"], strict=True))
    for nothing in (None, 0.0):  # some files write 0 where nothing can be known
        hidden = table | {"spent": [spent if mailed else nothing for spent, mailed in pairs]}
        assert warn_of_refused_outcomes(open_source(hidden), LOG) == []
    known = Layout(category="job", reward="spent", cost=1, round=50)
    assert warn_of_refused_outcomes(open_source(table), known) == []
    treated = Layout(category="job", reward="spent", cost=1, round=50, treated="mailed")
    assert warn_of_refused_outcomes(open_source(table), treated) == []


def test_accepted_may_be_a_value_of_a_column() -> None:
    table = mailing()
    table["arm"] = ["letter" if mailed else "nothing" for mailed in table["mailed"]]
    layout = Layout(**LOG.to_dict() | {"accepted": "arm=letter"})
    (warning,) = warn_of_refused_outcomes(open_source(table), layout)
    assert "(not arm=letter) have outcomes" in warning
