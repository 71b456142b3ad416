"""Patience: against plain formulas, over whole blocks, and turned round."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import profitable as pb
from profitable.kernels.patience import (
    AHEAD,
    DRAWN,
    LAST_ROUND,
    TIME,
    Patience,
    clients_per_round,
    first_time,
    first_times,
    least_patience,
    patience_at,
)

FUTURES = {
    "horizon": Patience(AHEAD, rounds=500.0, growth=-1.0),
    "late horizon": Patience(AHEAD, rounds=1e9, growth=-1.0, risk=0.3),
    "discount": Patience(AHEAD, rounds=99.5, risk=3.0),
    "anytime": Patience(AHEAD, growth=3.0),
    "anytime, clients given": Patience(AHEAD, growth=10.0, clients=4.0, risk=0.5),
    "horizon, clients given": Patience(AHEAD, rounds=500.0, growth=-1.0, clients=0.25),
}
every_future = pytest.mark.parametrize("patience", FUTURES.values(), ids=FUTURES)


def least_chance(known: float, to_come: float, risk: float) -> float:
    """The smallest P(profitable) that is worth testing, as the page on the optimal
    policy writes it.
    """
    s = 1.0 + to_come / known
    return min(0.5, risk * 2.0 / (s + 3.0 + 2.0 * math.sqrt(math.log(s) * (1.0 + math.log(s)))))


@pytest.mark.parametrize(
    ("policy", "rounds"),
    [
        (pb.Optimal(horizon=1_000, risk=0.3), lambda t: max(0.0, 1_000 - t)),
        (pb.Optimal(discount=0.99), lambda t: 1.0 / -math.log(0.99)),
        (pb.Optimal(), lambda t: 3.0 * t),
        (pb.Optimal(kappa=10, risk=2.0), lambda t: 10.0 * t),
    ],
    ids=["horizon", "discount", "anytime", "kappa"],
)
def test_the_formula(policy: pb.Policy, rounds) -> None:  # type: ignore[no-untyped-def]
    for t in (0, 1, 10, 999, 1_000, 5_000):
        for known in (0.5, 1.0, 30.0, 1e6):
            for per_round in (1.0, 7.5):
                expected = -math.log(least_chance(known, per_round * rounds(t), policy.terms.risk))
                assert policy.patience(t, known=known, per_round=per_round) == pytest.approx(
                    expected, rel=1e-14
                )
        assert policy.patience(t, known=0.0) == math.inf


def test_given_clients_per_round_count_and_counted_ones_do_not() -> None:
    given, free = pb.Optimal(horizon=1_000, clients=5), pb.Optimal(horizon=1_000)
    assert given.patience(10, known=50, per_round=2.0) == free.patience(10, known=50, per_round=5.0)


def test_how_many_clients_a_round_brings() -> None:
    free, given = Patience(AHEAD), Patience(AHEAD, clients=2.5)
    assert clients_per_round(free, 30.0, 4.0) == 7.5
    assert clients_per_round(free, 0.0, 4.0) == clients_per_round(free, 30.0, 0.0) == 1.0
    assert clients_per_round(given, 30.0, 4.0) == 2.5


def test_without_clients_to_come_even_odds_decide_whatever_the_risk() -> None:
    for risk, expected in ((1.0, math.log(2)), (3.0, math.log(2)), (0.1, math.log(20))):
        for t in (100, 101, 10**9):
            assert pb.Optimal(horizon=100, risk=risk).patience(t, known=8) == pytest.approx(
                expected
            )


@settings(max_examples=300, deadline=None)
@given(
    kind=st.sampled_from(list(FUTURES.values())),
    t=st.integers(1, 2_000),
    imaginary=st.sampled_from([0.0, 0.7, 12.0, -0.4]),
    before=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    block=st.lists(st.integers(1, 9), min_size=1, max_size=40),
)
def test_no_decision_inside_a_block_has_less_patience(
    kind: Patience, t: int, imaginary: float, before: list[int], block: list[int]
) -> None:
    """Accepted rounds one by one, each with its own clients: none of their decisions is
    below the bound.
    """
    came, accepted = float(sum(before)), float(len(before))
    rounds, clients = float(len(block)), float(sum(block))
    least = least_patience(kind, float(t), came + imaginary, came, accepted, rounds, clients)
    for number in block:
        per_round = clients_per_round(kind, came, accepted)
        assert patience_at(kind, float(t), came + imaginary, per_round) >= least - 1e-12
        came, accepted, t = came + number, accepted + 1.0, t + 1


@every_future
def test_the_bound_is_reached_in_some_block(patience: Patience) -> None:
    """So it cannot be loosened without a test noticing: a block of one-client rounds
    after one-client rounds.
    """
    t, came, rounds = 10.0, 10.0, 6.0
    least = least_patience(patience, t, came, came, came, rounds, rounds)
    last = patience_at(patience, t + rounds, came + rounds, clients_per_round(patience, 1.0, 1.0))
    first = patience_at(patience, t, came + rounds, clients_per_round(patience, 1.0, 1.0))
    assert least == pytest.approx(min(first, last), rel=1e-12)


@settings(max_examples=200, deadline=None)
@given(
    nats=st.floats(0.0, 12.0),
    now=st.integers(1, 500),
    known=st.floats(0.5, 50.0),
    per_round=st.floats(0.2, 20.0),
    kind=st.sampled_from([*FUTURES.values(), Patience(TIME), Patience(TIME, c=3.0, inflate=10.0)]),
)
def test_the_first_time_is_the_first(
    nats: float, now: int, known: float, per_round: float, kind: Patience
) -> None:
    per_round = clients_per_round(kind, per_round, 1.0)
    found = first_time(kind, nats, now, known, per_round)
    if found == 0:
        for t in (*range(now, now + 50), 10**4, 10**8, 10**12, LAST_ROUND):
            assert patience_at(kind, float(t), known, per_round) < nats
    else:
        assert found >= now
        assert patience_at(kind, float(found), known, per_round) >= nats
        assert found == now or patience_at(kind, float(found - 1), known, per_round) < nats


def test_first_times_are_those_of_each() -> None:
    nats, known = np.linspace(0.0, 9.0, 40), np.linspace(1.0, 30.0, 40)
    for kind in (*FUTURES.values(), Patience(TIME), Patience(DRAWN)):
        found, ones = np.empty(40, dtype=np.int64), np.ones(40)
        first_times(kind, nats, 7, known, ones, found)
        assert found.tolist() == [
            first_time(kind, a, 7, b, 1.0) for a, b in zip(nats, known, strict=True)
        ]


def test_a_draw_tolerates_any_finite_evidence_next_time() -> None:
    assert first_time(Patience(DRAWN), 50.0, 12, 3.0, 1.0) == 12
    assert first_time(Patience(DRAWN), math.inf, 12, 3.0, 1.0) == 0
    assert pb.ThompsonSampling().patience(5) == math.inf


def test_a_patience_of_its_own_is_refused() -> None:
    """A kernel would not know it, so that agent and simulator would go on with another
    one.
    """
    with pytest.raises(TypeError, match="give it terms"):
        type("Own", (pb.KLUCB,), {"name": "own", "patience": lambda self, t: 50.0})
