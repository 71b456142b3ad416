"""Questions to a portfolio: status, explanations, logs, comparisons, files, and
a backtest of its own log.
"""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import profitable as pb
from profitable.errors import InputError, ParameterError
from profitable.portfolio.compare import compare
from profitable.portfolio.export import settled, write_clients, write_lines
from tests.portfolio.places import Place

LOANS = [
    pb.Category.loan("students", amount=2_000, rate=0.12),
    pb.Category.loan("shops", amount=5_000, rate=0.15),
]


def lender(place: Place, **options: object) -> pb.Portfolio:
    book = place.create(LOANS, policy="kl-ucb", actor="ann", **options)
    book.decide(key="monday")
    book.observe(
        [pb.Outcome(f"loan-{i}", "students", reward=int(i == 7), decision=1) for i in range(12)]
    )
    book.correct("loan-3", reward=1, reason="paid after all")
    book.set_threshold("students", 0.9)
    book.decide(key="tuesday")
    book.observe(
        [
            pb.Outcome("late", "students", reward=1),
            pb.Outcome("shop", "shops", reward=0, cost=4_000, decision=2),
        ]
    )
    book.pause("shops")
    book.decide(key="wednesday")
    return book


def test_an_explanation_says_what_was_known_then(place: Place) -> None:
    told = lender(place).explain("students", round=2)
    agent = pb.Agent(LOANS, policy="kl-ucb")
    agent.decide()
    agent.observe("students", [0] * 10 + [1, 1])
    agent.set_threshold("students", 0.9)
    verdict = agent.decide()["students"]
    assert "students was not accepted in round 2 (key tuesday).\nDecided " in told
    assert f"Policy kl-ucb: {verdict.reason}." in told
    assert f"Evidence {verdict.evidence:.4g}, patience 0 nats; its chance was 0 %." in told
    assert "Threshold 0.9. Known: 12 outcomes, with mean 0.1667." in told
    assert "late" not in told  # it was reported after the decision
    assert "line 6: reward 0 was wrong, reward 1 (paid after all)" in told
    assert "by ann: threshold of students: 0.892857142857 becomes 0.9." in told
    assert told == place.open().explain("students", key="tuesday")


def test_an_explanation_of_the_present_is_the_agents(place: Place) -> None:
    book = lender(place)
    assert book.explain("shops") == book.agent.explain("shops")
    with pytest.raises(
        InputError, match="was not decided here; the latest is round 3, key 'wednesday'"
    ):
        book.explain("shops", round=9)
    with pytest.raises(InputError, match="is unknown"):
        book.explain("sharks", round=1)


def test_a_status_is_made_of_the_agents_numbers(place: Place) -> None:
    book = lender(place, name="loans")
    book.open(
        [pb.Client("x", "students", decision=1), pb.Client("y", "shops", decision=2, matures=4)]
    )
    book.observe([pb.Outcome("y", "shops", reward=1)])
    status, agent = book.status(), book.agent
    assert status.columns["accepted"] == [14, 2]
    assert status.columns["waiting"] == [1, 0]
    assert status.columns["held"] == [0, 1]
    assert status.columns["known"] == [13, 2]
    assert status.columns["counted"] == [13.0, 1.0]
    assert status.columns["mean"] == [agent[name].mean for name in agent.names]
    # Three students repaid at 12 %, the last of them after the rate had become 1/0.9 -
    # 1; one shop cost 4 000.
    profit = 2 * 2_240 + 2_000 / 0.9 - 13 * 2_000
    assert status.columns["profit"] == pytest.approx([profit, 5_750 - 5_000 - 4_000])
    assert status.columns["evidence"] == [agent[name].evidence for name in agent.names]
    assert status.columns["patience"] == [np.log(3)] * 2
    assert status.columns["chance"] == [0.0, 0.0]
    assert "paused" in str(status)
    assert str(status).startswith("loans, kl-ucb, 2 categories, 3 rounds, profit ")
    assert status.to_dict()["categories"][1]["held"] == 1
    assert json.loads(json.dumps(status.to_dict()))["head"]["hash"] == book.head.hash
    assert status.to_frame("polars")["category"].to_list() == ["students", "shops"]


@pytest.mark.parametrize("round", [0, -(2**70), 2**70])
def test_a_round_that_no_database_can_count(place: Place, round: int) -> None:
    with pytest.raises(InputError, match="was not decided here"):
        lender(place).explain("shops", round=round)


def test_a_log_is_chosen_and_put_into_words(place: Place) -> None:
    book = lender(place)
    whole = book.log()
    assert [line.line for line in whole] == list(range(1, place.lines() + 1))
    assert [line.line for line in book.log(limit=2)] == [len(whole) - 1, len(whole)]
    assert [line.kind for line in book.log(id="loan-3")] == ["outcome", "correct"]
    assert {line.category for line in book.log(category="shops")} == {"shops"}
    assert [line.id for line in book.log(kind="decide")] == ["monday", "tuesday", "wednesday"]
    assert len(book.log(since="2000-01-01", until="2001-01-01")) == 0
    day = whole[0].time[:10]
    assert len(book.log(since=day, until=whole[-1].time[:10])) == len(whole)
    assert len(book.log(since="0001-01-01T00:00+05:00", until="9999-12-31")) == len(whole)
    for words in (
        "round 1, key monday: 2 of 2 accepted",
        "shop of shops: reward 0, cost 4000, accepted in round 2",
    ):
        assert words in str(whole)
    assert "paused of shops: no becomes yes" in str(whole)
    assert whole.to_dicts()[0]["body"]["shadow"] is False
    for wrong in (
        {"since": "yesterday"},
        {"kind": "gossip"},
        {"limit": 0},
        {"id": "loan-1", "kind": "outcome"},
    ):
        with pytest.raises(ParameterError):
            book.log(**wrong)


def test_files_have_every_line(place: Place, tmp_path: Path) -> None:
    book = lender(place)
    number = place.lines()
    assert write_lines(book, tmp_path / "a.csv", "csv") == number
    assert write_lines(book, tmp_path / "a.jsonl", "json") == number
    assert write_lines(book, tmp_path / "a.parquet", "parquet") == number
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    objects = [
        json.loads(line) for line in (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    columns = pq.read_table(tmp_path / "a.parquet").to_pylist()
    stored = [list(row) for row in place.dump()[0]]
    assert (
        [list(each.values()) for each in objects]
        == stored
        == [list(each.values()) for each in columns]
    )
    assert [each["hash"] for each in table] == [row[-1] for row in stored]
    with pytest.raises(ParameterError, match="is unknown"):
        write_lines(book, tmp_path / "a.xls", "xls")


def test_clients_have_their_money_their_chance_and_the_last_word(place: Place) -> None:
    book = lender(place)
    book.correct("loan-4", take_back=True)
    with book._reading() as (connection, _):
        found = {each.id: each for each in settled(book, connection)}
        assert [each.id for each in settled(book, connection, by_id=True)] == sorted(found)
    assert "loan-4" not in found
    assert (found["loan-3"].reward, found["loan-3"].received, found["loan-3"].paid) == (
        1.0,
        2_240.0,
        2_000.0,
    )
    assert (found["loan-3"].key, found["loan-3"].round, found["loan-3"].propensity) == (
        "monday",
        1,
        1.0,
    )
    assert (found["shop"].received, found["shop"].paid, found["shop"].known_round) == (
        0.0,
        4_000.0,
        2,
    )
    assert found["late"].round is None
    assert found["late"].received == pytest.approx(2_000 / 0.9)  # the rate had changed by then
    assert sum(each.profit for each in found.values()) == pytest.approx(book.status().profit)


def test_a_log_answers_what_another_policy_would_have_earned(place: Place, tmp_path: Path) -> None:
    offers = [pb.Category.offer(name, cost=1, revenue=5) for name in ("new", "old")]
    book = place.create(offers, policy="ts:floor=0.2", seed=4)
    rng, means = np.random.default_rng(4), {"new": 0.3, "old": 0.15}
    for week in range(30):
        decision = book.decide(key=f"week {week}")
        bought = {name: rng.random(20) < means[name] for name in means}
        book.observe(
            pb.Outcome(f"{week}-{name}-{i}", name, reward=int(each), decision=decision.round)
            for name in decision.accepted
            for i, each in enumerate(bought[name])
        )
    book.observe([pb.Outcome("stray", "new", reward=1)])
    written = write_clients(book, tmp_path / "log.parquet")
    assert written.left_out == 1
    assert written.rows == book.status().columns["known"][0] + book.status().columns["known"][1] - 1
    from profitable.replay.backtest import prepare, run
    from profitable.replay.backtest_options import load_toml

    assert written.settings is not None
    data, given = load_toml(written.settings)
    past, chosen = prepare(data, given | {"policies": ["kl-ucb"], "replays": 0})
    found = run(past, chosen, command="")
    entry = found["kl-ucb"]
    # By hand: every client whom the replayed policy accepts, divided by his chance.
    rows = pq.read_table(tmp_path / "log.parquet").to_pylist()
    agent = pb.Agent(
        [pb.Category.returns(name, high=5.0) for name in ("new", "old")], policy="kl-ucb"
    )
    total = 0.0
    for week in range(1, 31):
        accepted = agent.decide().accepted
        now = [row for row in rows if row["round"] == week and row["category"] in accepted]
        total += sum((row["received"] - row["paid"]) / row["propensity"] for row in now)
        for row in now:
            agent.observe(row["category"], [row["received"] / row["paid"]], amounts=[row["paid"]])
    assert entry.off_policy is not None
    assert entry.off_policy.inverse_propensity == pytest.approx(total)


def test_a_shadow_beside_the_portfolio_that_acts(two_places: tuple[Place, Place]) -> None:
    acting, shadow = (
        each.create(LOANS, policy=name, seed=1, shadow=name == "kl-ucb")
        for each, name in zip(two_places, ("ts", "kl-ucb"), strict=True)
    )
    for turn in range(6):
        decision = acting.decide(key=str(turn))
        assert shadow.decide(key=str(turn)).is_shadow
        rows = [
            pb.Outcome(f"{turn}-{name}", name, reward=turn % 2, decision=decision.round)
            for name in decision.accepted
        ]
        assert not acting.observe(rows).refused
        assert not shadow.observe(rows).refused  # also of what the shadow would have refused
    found = compare(acting, shadow)
    assert found.is_same_stream
    assert (found.keys, found.only_keys, found.differ) == (6, (0, 0), 0)
    for row in found.rows:
        pairs = [
            (
                row.category in acting.decision(t).accepted,
                row.category in shadow.decision(t).accepted,
            )
            for t in range(1, 7)
        ]
        assert (row.both, row.only_first) == (pairs.count((True, True)), pairs.count((True, False)))
        assert (row.only_second, row.neither) == (
            pairs.count((False, True)),
            pairs.count((False, False)),
        )
    assert sum(row.first_profit or 0.0 for row in found.rows) == pytest.approx(
        acting.status().profit
    )
    taken = [f"{t - 1}-{name}" for t in range(1, 7) for name in shadow.decision(t).accepted]
    with acting._reading() as (connection, _):
        expected = sum(each.profit for each in settled(acting, connection) if each.id in taken)
    assert sum(row.second_profit or 0.0 for row in found.rows) == pytest.approx(expected)
    acting.observe([pb.Outcome("x", "shops", reward=1)])
    shadow.observe([pb.Outcome("y", "shops", reward=1)])
    acting.correct("0-shops", reward=1)
    acting.decide(key="more")
    again = compare(acting, shadow)
    assert (again.only_outcomes, again.differ, again.only_keys) == ((1, 1), 1, (1, 0))
    assert "NOT the same outcomes" in str(again)
    assert json.loads(json.dumps(again.to_dict()))["same_stream"] is False


def test_profits_are_compared_where_both_have_decided(two_places: tuple[Place, Place]) -> None:
    acting, shadow = (
        each.create(LOANS, policy="kl-ucb", seed=1, shadow=is_shadow)
        for each, is_shadow in zip(two_places, (False, True), strict=True)
    )
    acting.decide(key="before")
    acting.decide(key="day 1")
    shadow.decide(key="day 1")
    rows = [
        pb.Outcome(f"{key} {i}", "shops", reward=1, key=key)
        for key in ("before", "day 1")
        for i in range(3)
    ]
    assert len(acting.observe(rows).counted) == len(shadow.observe(rows).counted) == 6
    found = compare(acting, shadow)
    shops = next(row for row in found.rows if row.category == "shops")
    assert (found.shared, found.unjudged) == (6, 3)
    assert (
        shops.first_profit
        == shops.second_profit
        == pytest.approx((acting.status().profit or 0.0) / 2)
    )
    assert "3 clients are in none" in str(found)


def test_a_shadow_has_no_propensities(place: Place, tmp_path: Path) -> None:
    """Another portfolio chose the clients."""
    book = place.create(LOANS, policy="kl-ucb", seed=1, shadow=True)
    book.decide(key="day 1")
    book.observe([pb.Outcome("a", "shops", reward=1, key="day 1")])
    book.set_shadow(False)
    book.decide(key="day 2")
    book.observe([pb.Outcome("b", "shops", reward=1, key="day 2")])
    written = write_clients(book, tmp_path / "log.parquet")
    assert (written.rows, written.left_out) == (1, 1)
    assert [row["id"] for row in pq.read_table(tmp_path / "log.parquet").to_pylist()] == ["b"]


def test_the_return_that_is_required_is_in_what_is_due(place: Place, tmp_path: Path) -> None:
    """Categories may require different returns, or none; a backtest has one threshold
    for all of them.
    """
    categories = [
        pb.Category.loan("loans", amount=1_000, rate=0.12),
        pb.Category.returns("cards", required=0.25),
        pb.Category.returns("bonds", required=0.05),
    ]
    book = place.create(categories, policy="kl-ucb", seed=1)
    book.decide(key="day 1")
    book.observe([pb.Outcome("a", "loans", reward=1, decision=1)])
    book.observe([pb.Outcome("b", "cards", reward=1.2, amount=500, decision=1)])
    book.observe([pb.Outcome("c", "bonds", reward=1.1, amount=200, decision=1)])
    written = write_clients(book, tmp_path / "log.parquet")
    rows = {row["id"]: row for row in pq.read_table(tmp_path / "log.parquet").to_pylist()}
    assert [rows[id]["due"] for id in "abc"] == pytest.approx([1_000, 625, 210])
    assert [rows[id]["received"] for id in "abc"] == pytest.approx([1_120, 600, 220])
    assert written.settings is not None
    said = written.settings.read_text(encoding="utf-8")
    assert 'amount = "due"' in said
    assert "required" not in said
