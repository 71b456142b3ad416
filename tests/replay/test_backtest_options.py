"""Options of a backtest: bad ones get one sentence, before anything is read where
possible.
"""

import math
from typing import Any

import pytest

import profitable as pb
from profitable.replay.backtest import prepare
from profitable.replay.backtest_options import (
    LATE_POLICIES,
    LENDING_POLICIES,
    POLICIES_TRIED,
    RunOptions,
)
from tests.replay.calls import CALLS, QUICK, calls


def test_the_policies_that_are_tried_count_both_logarithms_in_rounds() -> None:
    """Where a round brings many clients, kl-ucb+ by clients rejects any mean below the
    threshold: see its warning.
    """
    policies = list(map(str, RunOptions().tried))
    assert "kl-ucb+:count=rounds,forget=0.97" in policies
    assert not any("kl-ucb+" in name and "count=rounds" not in name for name in policies)
    near = CALLS | {"cost": 2.55}
    found = pb.backtest(calls(per_cell=300), **near, replays=0, shuffles=0, seeds=1)
    assert not any("count=rounds" in text for text in found.warnings())


def tried(frame: Any, **more: Any) -> list[str]:
    _, options = prepare(frame, CALLS | more)
    return [str(policy) for policy in options.tried]


def test_the_policies_that_are_tried_follow_from_when_outcomes_are_known() -> None:
    """Of the policies tried at once, ts and optimal lost on real loans; at real dates,
    all that trust the first outcomes did.
    """
    frame = calls(delay=6)
    for more in ({}, {"known": "week"}):
        assert tried(frame, **more) == list(POLICIES_TRIED)
    for more in (
        {"known": "paid"},
        {"known": "paid", "late": "as they come"},
        {"matures": 4},
        {"known": "paid", "open_value": 0.5},
    ):
        assert tried(frame, **more) == list(LATE_POLICIES) == ["kl-ucb", "kl-ucb:forget=0.97"]
    assert tried(frame, known="paid", policies="ts") == ["ts"]
    for names in (POLICIES_TRIED, LATE_POLICIES, LENDING_POLICIES):
        assert not any(name.startswith("ts") or name == "optimal:horizon" for name in names)
    cells = pb.backtest.cells(frame.assign(id=range(len(frame))), **CALLS, known="paid", id="id")
    assert [str(policy) for policy in prepare(cells, {})[1].tried] == list(LATE_POLICIES)


BAD: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"policies": ["ts", "ts"]}, ("policies", "twice")),
    ({"policies": ["ts", pb.ThompsonSampling()]}, ("policies", "twice")),
    ({"policies": []}, ("policies", "empty")),
    ({"policies": 5}, ("policies", "5", "list")),
    ({"policies": None}, ("policies", "None")),
    ({"policies": "thompson"}, ("policy", "thompson", "unknown", "ts")),
    ({"policies": ["ts:forget=2"]}, ("forget", "2")),
    ({"policies": [3]}, ("policy", "3")),
    ({"policies": [f"kl-ucb:c={c}" for c in range(1, 102)]}, ("policies", "more than 100")),
    ({"budget": 5.0, "places": 3}, ("places", "cannot be combined with budget")),
    ({"budget": 0}, ("budget", "0")),
    ({"budget": -1}, ("budget", "-1")),
    ({"budget": "much"}, ("budget", "much")),
    ({"places": 0}, ("places", "0")),
    ({"places": 2.5}, ("places", "2.5")),
    ({"explore": 0.1}, ("explore", "without budget or places")),
    ({"places": 3, "explore": 2}, ("explore", "2", "share")),
    ({"places": 3, "explore": "some"}, ("explore", "some", "share")),
    ({"replays": 1}, ("replays", "1", "chance")),
    ({"replays": -1}, ("replays", "-1")),
    ({"replays": 2.5}, ("replays", "2.5")),
    ({"shuffles": 1}, ("shuffles", "1", "chance")),
    ({"shuffles": "many"}, ("shuffles", "many")),
    ({"seeds": 0}, ("seeds", "0")),
    ({"seeds": True}, ("seeds", "True")),
    ({"seed": -1}, ("seed", "-1")),
    ({"seed": None}, ("seed", "None")),
    ({"commit": 0}, ("commit", "0", "share")),
    ({"commit": 1}, ("commit", "1", "share")),
    ({"commit": 20}, ("commit", "20", "0.2")),
    ({"commit": math.nan}, ("commit", "nan")),
    ({"bound": -1}, ("bound", "-1")),
    ({"family": "gauss"}, ("family", "gauss", "unknown", "gaussian")),
    ({"family": 3}, ("family", "3")),
    ({"family": "bounded:low=0"}, ("high", "missing", "bounded:high=...")),
    ({"family": "bounded:low=0,top=2"}, ("top", "not a parameter", "low, high")),
    ({"family": "bounded:low=0,high=two"}, ("high", "two", "not a number")),
    ({"family": "bounded:low=2,high=1"}, ("high",)),
    ({"family": "gaussian:sigma=-1"}, ("sigma", "-1")),
    ({"family": "poisson:rate=1"}, ("rate", "takes no parameters")),
]


@pytest.mark.parametrize(("options", "words"), BAD, ids=lambda value: str(value)[:50])
def test_bad_options(options: dict[str, Any], words: tuple[str, ...]) -> None:
    with pytest.raises(pb.errors.InputError) as error:
        RunOptions(**options)
    _one_sentence(str(error.value), words)
    with pytest.raises(pb.errors.InputError) as again:
        # Options are checked before anything is read.
        pb.backtest("there is no such file.csv", **CALLS, **options)
    assert str(again.value) == str(error.value)


def _one_sentence(text: str, words: tuple[str, ...]) -> None:
    assert all(word in text for word in words), text
    assert text.endswith(".")
    assert "\n" not in text
    assert ";" in text, "it has a remedy"


BY_MONEY = {"amount": "amount", "reward": "back", "known": "paid", "cost": None, "revenue": 1.0}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"replay": 3}, ("replay", "did you mean replays")),
        ({"polices": "ts"}, ("polices", "did you mean policies")),
        ({"categroy": "group"}, ("categroy", "did you mean category")),
        ({"cost": "amount", "budget": 5.0}, ("budget", "column of costs")),
        (
            {"accepted": "sold", "propensity": "p", "budget": 5.0},
            ("budget", "5", "cannot be combined with a log"),
        ),
        (
            {"accepted": "sold", "propensity": "p", "places": 5},
            ("places", "5", "cannot be combined with a log"),
        ),
        ({"family": "exponential"}, ("0", "cannot happen", "Exponential")),
        ({"family": "bernoulli", "cost": 9.0}, ("cost", "9", "revenue")),
        ({"policies": "ucb-v", "family": "poisson"}, ("bound",)),
        ({"open_value": 2.0, "known": "paid"}, ("promised", "2", "0 or 1")),
        (
            {"open_value": 0.5, "known": "paid", "policies": "kl-emp-ucb"},
            ("open_value", "0.5", "single reward"),
        ),
        (BY_MONEY | {"open_value": "back"}, ("open_value", "back", "weight = client")),
        (
            BY_MONEY | {"matures": 3, "emerges": "evenly", "promised": 1.0},
            ("emerges", "evenly", "weight = client"),
        ),
    ],
    ids=str,
)
def test_options_that_contradict_the_data(given: dict[str, Any], words: tuple[str, ...]) -> None:
    frame = calls(delay=2).assign(p=0.5)
    with pytest.raises(pb.errors.InputError) as error:
        pb.backtest(frame, **(CALLS | QUICK | given))
    _one_sentence(str(error.value), words)
