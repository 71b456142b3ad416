"""When outcomes are known: against direct counts, and with part of the file cut off."""

import numpy as np
import pytest

from profitable.advice.emergence import Emergence
from profitable.past.cells import GroupedClients
from profitable.past.past import NEVER_KNOWN, SingleClients

ROUNDS = 48


def drawn(seed: int = 1, size: int = 20_000) -> dict[str, np.ndarray]:
    """Clients who lose after 8 rounds on average, or gain after 20."""
    rng = np.random.default_rng(seed)
    lost = rng.random(size) < 0.3
    return {
        "round": rng.integers(1, ROUNDS + 1, size),
        "delay": np.where(lost, rng.poisson(8.0, size), rng.poisson(20.0, size)),
        "profit": np.where(lost, -3.0, 1.0),
        "amount": np.where(lost, 2.0, 1.0) * rng.integers(1, 5, size),
    }


def clients_of(given: dict[str, np.ndarray], **more: np.ndarray) -> SingleClients:
    asked = given["round"]
    labels = [f"{2020 + r // 12}-{r % 12 + 1:02}" for r in range(ROUNDS)]
    rows = {"known": asked + given["delay"], "profit": given["profit"], "amount": given["amount"]}
    return SingleClients.of(
        names=("a",),
        labels=labels,
        round=asked,
        category=np.zeros(asked.size),
        reward=given["profit"],
        **{**rows, **more},
    )


def test_it_is_a_plain_share_if_everything_is_known() -> None:
    given = drawn()
    found = Emergence.of(clients_of(given))
    assert found is not None
    total, lost = found.total, given["profit"] < 0.0
    for age in (0, 5, 10, 20, 30):
        early = given["delay"] <= age
        assert total.clients[age] == pytest.approx(early.mean())
        assert total.money[age] == pytest.approx(np.average(early, weights=given["amount"]))
        assert total.losses is not None
        assert total.losses[age] == pytest.approx(
            np.average(early[lost], weights=given["amount"][lost])
        )
        assert total.gains is not None
        assert total.gains[age] == pytest.approx(
            np.average(early[~lost], weights=given["amount"][~lost])
        )
    assert total.clients[-1] == pytest.approx(1.0)
    name, curve = found.vintages[1]
    part = (given["round"] > 12) & (given["round"] <= 24)
    assert name == "2021"
    assert curve.clients[15] == pytest.approx((given["delay"][part] <= 15).mean())


def cut(given: dict[str, np.ndarray]) -> tuple[SingleClients, np.ndarray]:
    """The same file, if it ended with the last round: open clients are missing."""
    there = given["round"] + given["delay"] <= ROUNDS
    still_open = np.bincount(given["round"][~there] - 1, minlength=ROUNDS)[:, np.newaxis]
    return clients_of({name: each[there] for name, each in given.items()}), still_open


def test_clients_who_are_open_do_not_bias_it() -> None:
    given = drawn()
    full = Emergence.of(clients_of(given))
    clients, still_open = cut(given)
    found, naive = Emergence.of(clients, still_open=still_open), Emergence.of(clients)
    assert full is not None
    assert found is not None
    assert naive is not None
    for age in (5, 10, 20, 30):
        assert found.total.clients[age] == pytest.approx(full.total.clients[age], abs=0.015)
        assert found.total.losses is not None
        assert full.total.losses is not None
        assert found.total.losses[age] == pytest.approx(full.total.losses[age], abs=0.02)
    assert naive.total.clients[15] > full.total.clients[15] + 0.05
    assert found.medians.clients == full.medians.clients
    # The last year is not yet a year old.
    young = dict(found.vintages)["2023"]
    assert young.ages[-1] == 11
    assert young.losses is not None
    assert young.losses[5] == pytest.approx(full.total.losses[5], abs=0.03)  # type: ignore[index]


def test_open_loans_are_watched_until_the_file_ends() -> None:
    given = drawn()
    there = given["round"] + given["delay"] <= ROUNDS
    known = np.where(there, given["round"] + given["delay"], NEVER_KNOWN)
    loans = {
        "known": known,
        "defaulted": (given["profit"] < 0.0) & there,
        "term": np.full(known.size, 36),
        "rate": np.full(known.size, 0.1),
    }
    full = Emergence.of(clients_of(given))
    found = Emergence.of(clients_of(given, **loans))
    assert full is not None
    assert found is not None
    for age in (5, 10, 20, 30):
        assert found.total.money[age] == pytest.approx(full.total.money[age], abs=0.015)
        assert found.total.gains[age] == pytest.approx(full.total.gains[age], abs=0.02)  # type: ignore[index]


def test_outcomes_without_a_date_are_known_at_no_age() -> None:
    given = drawn()
    known = given["round"] + given["delay"]
    known[: known.size // 2] = NEVER_KNOWN
    found = Emergence.of(clients_of(given, known=known))
    assert found is not None
    assert found.total.clients[-1] == pytest.approx(0.5)
    assert found.total.losses[-1] == pytest.approx(0.5, abs=0.02)  # type: ignore[index]


def test_what_is_said() -> None:
    given = drawn()
    found = Emergence.of(clients_of(given), unit="month")
    assert found is not None
    assert found.sentence() == (
        "Half of the clients are known after 17 months, half of the losses after 8: what is "
        "known early looks worse than it is."
    )
    other = Emergence.of(clients_of(given | {"profit": -given["profit"]}), unit="month")
    assert other is not None
    assert other.sentence().endswith("looks better than it is.")
    same = Emergence.of(clients_of(given | {"delay": np.full(given["delay"].size, 7)}))
    assert same is not None
    assert same.sentence() == (
        "Half of the clients are known after 7 rounds, losses about as late as gains."
    )
    known = given["round"] + given["delay"]
    known[: 2 * known.size // 3] = NEVER_KNOWN
    never = Emergence.of(clients_of(given, known=known))
    assert never is not None
    assert never.sentence().endswith(", and half of them never.")
    assert set(found.to_dict()) == {
        *("ages", "clients", "money", "losses", "gains", "medians", "unit", "vintages"),
        "sentence",
    }
    assert set(found.to_dict()["vintages"][0]) >= {"vintage", "ages", "losses"}


def test_immediate_outcomes_have_no_curve_and_cells_none_of_losses() -> None:
    given = drawn(size=50)
    assert Emergence.of(clients_of(given | {"delay": np.zeros(50, np.int64)})) is None
    cells = GroupedClients.of(
        names=("a",),
        labels=("1", "2", "3"),
        folds=1,
        round=[1, 1, 2],
        category=[0, 0, 0],
        known=[1, 3, 3],
        fold=[0, 0, 0],
        sums={"number": [2, 1, 1], "profit": [1.0, -1.0, 2.0], "total": [0, 0, 0]},
    )
    found = Emergence.of(cells)
    assert found is not None
    assert found.total.clients == (0.5, 0.75, 1.0)
    assert (found.total.losses, found.total.gains) == (None, None)
    assert found.sentence() == "Half of the clients are known at once."


def test_long_curves_are_thinned() -> None:
    given = drawn(size=2_000)
    found = Emergence.of(clients_of(given | {"delay": 30 * given["delay"]}))
    assert found is not None
    assert len(found.total.ages) == 121
    assert found.total.ages[-1] == 30 * given["delay"].max()
    assert found.total.clients[-1] == pytest.approx(1.0)
