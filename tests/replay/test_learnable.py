"""What could be learnt in time, counted by hand."""

from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable.common.types import IntArray
from profitable.past.past import NEVER_KNOWN, SingleClients
from profitable.replay.backtest_entry import UNSURE
from profitable.replay.learnable import Learnable
from profitable.replay.verdict import UNINFORMATIVE
from tests.replay.calls import CALLS, FEW, calls

QUICK: dict[str, Any] = {"replays": 6, "seeds": 2, "shuffles": 0, "policies": FEW}


def clients_of(known: list[list[int]]) -> SingleClients:
    """One category; the outcomes of each round's clients are known in these rounds."""
    rows = [(t, each) for t, round in enumerate(known, start=1) for each in round]
    return SingleClients.of(
        names=("a",),
        labels=[str(t) for t in range(1, len(known) + 1)],
        round=[t for t, _ in rows],
        category=[0] * len(rows),
        known=[each for _, each in rows],
        reward=[1.0] * len(rows),
        profit=[1.0] * len(rows),
    )


def after(clients: SingleClients, rounds: int) -> IntArray:
    """The rounds in which outcomes count that mature after so many."""
    return np.maximum(clients.known, clients.round.astype(np.int64) + rounds)


def test_shares_are_those_counted_by_hand() -> None:
    """Ten outcomes of the first round are known in the second: two rounds know them."""
    found = Learnable.of(clients_of([[2] * 10 + [4], [4] * 3, [5] * 4, [NEVER_KNOWN] * 2]))
    assert found == Learnable(4, 2, 10 / 20, 6 / 20)
    assert found.reason() == (
        "30 % of the clients asked when 10 outcomes of their category were known; "
        "50 % of the outcomes were known before the last decision"
    )
    assert Learnable.of(clients_of([[2] * 9, [4] * 3, [5] * 4])).informed == 0.0


def test_an_outcome_counts_at_maturity_but_never_before_it_is_known() -> None:
    clients = clients_of([[1] * 12, [2] * 12, [3] * 12, [4] * 12])
    assert Learnable.of(clients).informed == 36 / 48
    assert Learnable.of(clients, after(clients, 2)) == Learnable(4, 3, 36 / 48, 12 / 48, True)
    late = Learnable.of(clients, after(clients, 3))
    assert late.is_nothing
    assert late.reason() == (
        "nothing matures before round 4 of 4; "
        "75 % of the outcomes were known before the last decision"
    )
    few = clients_of([[3] * 10, [3], [4]])
    assert Learnable.of(few, after(few, 1)).first == 3


def test_what_is_known_after_the_last_decision_is_nothing() -> None:
    found = Learnable.of(clients_of([[3], [3], [3]]))
    assert found.is_nothing
    assert found.reason().startswith("no outcome is known before round 3 of 3; 0 % of")
    never = Learnable.of(clients_of([[9], [NEVER_KNOWN]]))
    assert (never.first, never.is_nothing) == (None, True)
    assert never.reason().startswith("no outcome is known before the file ends; 0 % of")


def test_a_backtest_without_anything_to_learn_is_called_uninformative_in_the_first_line() -> None:
    """It earns as much as accepting everybody, because everything matures too late."""
    given = CALLS | QUICK | {"known": "paid", "policies": "kl-ucb"}
    found = pb.backtest(calls(delay=2), **given, matures=19)
    text, plain = str(found), found.to_dict()
    assert found["kl-ucb"].difference.middle == 0.0
    assert text.splitlines()[0] == found.first_line == plain["first_line"]
    assert found.first_line.startswith(f"{UNINFORMATIVE}: nothing matures before round 20 of 20; ")
    assert text.splitlines()[1] == found.when_known == plain["when_known"]
    assert plain["uninformative"] in found.first_line
    assert plain["verdict"].startswith("No verdict: ")
    assert "may be too narrow" not in text
    assert "earned as much" not in text
    assert "beat" not in plain["verdict"]
    assert {each["standing"] for each in plain["entries"] if each["kind"] == "policy"} == {UNSURE}
    assert plain["entries"][0]["sentence"].startswith("Upper confidence bound (kl-ucb) could not ")
    # The same clients, with outcomes that come sooner, show something.
    assert pb.backtest(calls(delay=2), **given, matures=3).to_dict()["uninformative"] is None


def test_nothing_to_find_is_not_uninformative() -> None:
    """All groups pay, and everything is known in time."""
    frame = calls(weeks=12)
    frame["sold"] = 1
    found = pb.backtest(frame, **CALLS, **QUICK)
    assert found.to_dict()["uninformative"] is None
    assert found["kl-ucb"].difference.middle == 0.0
    assert "No policy beats accepting everybody here" in found.verdict()
    assert "nothing to find by these categories" in found.verdict()


@pytest.mark.parametrize(
    "more", [{"open_value": 0.5}, {"matures": 19, "emerges": "evenly", "promised": 0.5}]
)
def test_clients_who_count_while_they_are_open_can_be_learnt_from(more: dict[str, Any]) -> None:
    found = pb.backtest(calls(delay=2), **CALLS, **QUICK, known="paid", **more)
    assert found.to_dict()["uninformative"] is None
