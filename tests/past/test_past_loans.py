"""Past loans: read, valued by their schedules, and replayed by a lending book."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import profitable as pb
from profitable.errors import InputError
from profitable.model.lending import Lending
from profitable.past.leaks import loans_that_know
from profitable.past.past import SingleClients
from profitable.past.past_loans import book_of
from profitable.replay.backtest import prepare
from profitable.replay.replay import replay

COLUMNS: dict[str, Any] = {
    "category": "purpose",
    "issued": "issued",
    "term": "term",
    "rate": "rate",
    "amount": "lent",
    "defaulted": "defaulted",
    "closed": "closed",
    "recovery": 0.1,
    "lag": 2,
    "required": 0.05,
}
TERMS = Lending(required=0.05, recovery=0.1, lag=2)
LOANS = Path(__file__).parents[2].parent / "shared/data/lendingclub_2007_2011.csv.gz"


def invented(seed: int = 1, size: int = 3_000) -> pd.DataFrame:
    """Loans of four purposes over three years; two of the purposes do not pay."""
    rng = np.random.default_rng(seed)
    month = rng.integers(0, 36, size)
    purpose = rng.integers(0, 4, size)
    term = rng.choice([12, 24], size)
    hazard = np.array([0.004, 0.006, 0.03, 0.05])[purpose]
    age = np.minimum(rng.geometric(hazard), term + 1)
    prepaid = np.minimum(rng.geometric(0.02, size), term)
    end = np.minimum(age, prepaid)
    is_default = age < prepaid
    first = pd.Period("2020-01", "M")
    last = 48
    ended = month + end + np.where(is_default, 2, 0)
    dates = np.array([str(first + int(each)) for each in ended], object)
    known = ended < last
    return pd.DataFrame(
        {
            "purpose": np.array(["cars", "homes", "shops", "trips"])[purpose],
            "issued": [str(first + int(each)) for each in month],
            "term": term,
            "rate": np.where(purpose < 2, 0.12, 0.15),
            "lent": rng.integers(1, 9, size) * 1_000.0,
            "defaulted": pd.Series(dates).where(is_default & known, None),
            "closed": pd.Series(dates).where(~is_default & known, None),
        }
    )


def clients_of(frame: Any, **more: Any) -> SingleClients:
    past, _ = prepare(frame, {**COLUMNS, **more})
    assert isinstance(past.clients, SingleClients)
    return past.clients


def returns(clients: SingleClients) -> list[pb.Category]:
    return [pb.Category.returns(name, weight="client") for name in clients.names]


def test_two_loans_are_worth_what_their_schedules_say() -> None:
    # Two instalments of a loan of 100 at 12 %: 1 % a month, 50.7512 each.
    frame = pd.DataFrame(
        {
            "purpose": ["cars"] * 3,
            "issued": ["2020-01", "2020-01", "2020-04"],
            "term": [2, 2, 2],
            "rate": [0.12, 0.12, 0.12],
            "lent": [100.0, 100.0, 100.0],
            "defaulted": [None, "2020-04", None],
            "closed": ["2020-02", None, None],
        }
    )
    clients = clients_of(frame)
    monthly, instalment = 1.05 ** (-1 / 12), 0.507512
    balance = 1.01 - instalment
    by_end = dict(zip(clients.known.tolist(), clients.reward.tolist(), strict=True))
    assert by_end[2] == pytest.approx((instalment + balance) * monthly, abs=1e-6)
    # It defaulted at age 3, two rounds after its last instalment: one was paid.
    assert by_end[4] == pytest.approx(instalment * monthly + 0.1 * balance * monthly**3, abs=1e-6)
    assert clients.profit.sum() == pytest.approx(100.0 * (clients.reward - 1.0).sum())


def test_instalments_say_the_rate() -> None:
    frame = invented()
    monthly = frame.rate / 12
    frame["monthly"] = frame.lent * monthly / (1 - (1 + monthly) ** -frame.term)
    one, other = clients_of(frame), clients_of(frame, rate=None, instalment="monthly")
    assert one.rate is not None
    assert other.rate is not None
    np.testing.assert_allclose(np.sort(other.rate), np.sort(one.rate), atol=1e-9)
    np.testing.assert_allclose(np.sort(other.profit), np.sort(one.profit), atol=1e-4)


@pytest.mark.parametrize("policy", ["bayes-ucb", "optimal", "kl-ucb"])
def test_a_replay_decides_like_an_agent_that_is_told_loan_by_loan(policy: str) -> None:
    clients = clients_of(invented(size=600))
    found = replay(clients, returns(clients), pb.Policy.of(policy), seed=1, lending=TERMS)
    agent = pb.Agent(returns(clients), policy=policy, lending=TERMS)
    assert clients.term is not None
    assert clients.rate is not None
    assert clients.defaulted is not None
    for round in range(1, clients.rounds + 1):
        asking = np.flatnonzero(clients.round == round)
        for i in asking.tolist():
            name = clients.names[clients.category[i]]
            agent.quote(name, 1, term=int(clients.term[i]), rate=float(clients.rate[i]))
        accepted = agent.decide().accepted_mask
        assert accepted.tolist() == found.accepted[round - 1].tolist(), round
        for i in asking.tolist():
            if accepted[clients.category[i]]:
                name = clients.names[clients.category[i]]
                agent.expect(name, 1, term=int(clients.term[i]))
        for i in np.flatnonzero(clients.known == round).tolist():
            asked, k = int(clients.round[i]), int(clients.category[i])
            if found.accepted[asked - 1, k]:
                how = "defaulted" if clients.defaulted[i] else "closed"
                term = int(clients.term[i])
                agent.observe(clients.names[k], accepted_in=asked, term=term, **{how: 1})
    assert not found.accepted.all()


@pytest.mark.parametrize("policy", ["bayes-ucb", "optimal", "kl-ucb"])
def test_outcomes_known_later_change_no_earlier_decision(policy: str) -> None:
    frame = invented()
    clients = clients_of(frame)
    one = replay(clients, returns(clients), pb.Policy.of(policy), seed=1, lending=TERMS)
    rng, split = np.random.default_rng(5), 24
    month = str(pd.Period("2020-01", "M") + split)
    noise = frame.copy()
    end = noise.defaulted.fillna(noise.closed)
    late = end.isna() | (end >= month)
    lucky = rng.random(len(noise)) < 0.5
    when = np.array(
        [str(pd.Period(max(each, month), "M") + int(rng.integers(0, 12))) for each in noise.issued],
        object,
    )
    noise.loc[late, "defaulted"] = pd.Series(when).where(lucky, None)[late]
    noise.loc[late, "closed"] = pd.Series(when).where(~lucky, None)[late]
    other_clients = clients_of(noise)
    assert (other_clients.by_cell() == clients.by_cell()).all()
    other = replay(
        other_clients, returns(other_clients), pb.Policy.of(policy), seed=1, lending=TERMS
    )
    # Month 24 is round 25, which is decided by what was known before it.
    assert (one.accepted[: split + 1] == other.accepted[: split + 1]).all()
    assert not (one.accepted == other.accepted).all()


def test_the_order_of_rows_says_nothing() -> None:
    frame = invented(size=800)
    mixed = frame.sample(frac=1.0, random_state=3).reset_index(drop=True)
    one, other = (pb.backtest(each, **COLUMNS, replays=0, shuffles=0) for each in (frame, mixed))
    for name in ("bayes-ucb", "optimal", "accept all"):
        assert one[name].profit == pytest.approx(other[name].profit, rel=1e-12)


def test_backtest_says_what_it_assumes_and_beats_accepting_everybody() -> None:
    found = pb.backtest(invented(), **COLUMNS, replays=0, shuffles=0)
    assert [entry.name for entry in found.policies] == ["bayes-ucb", "optimal"]
    text = str(found)
    assert "discounted at 5.0 % a year" in text
    assert "2 rounds after the last instalment and returns 10 % of the balance" in text
    assert "loans are open when the file ends" in text
    assert found["bayes-ucb"].profit > found["accept all"].profit
    values = found.to_dict()
    assert values["lending"]["level"] == 0.3
    assert values["settings"]["defaulted"] == "defaulted"
    entry = values["entries"][0]
    assert len(entry["defaults"]) == len(entry["affordable"]) == len(values["rounds"])


def test_open_loans_are_worth_what_is_expected_of_them() -> None:
    frame = invented(size=6_000)
    complete, cut = frame.copy(), frame.copy()
    month = "2022-06"
    for name in ("defaulted", "closed"):
        cut.loc[cut[name] > month, name] = None
    complete, cut = complete[complete.issued <= month], cut[cut.issued <= month]
    final, now = clients_of(complete), clients_of(cut)
    assert now.rounds < 36
    assert final.reward.mean() == pytest.approx(now.reward.mean(), abs=0.02)


def test_a_term_that_was_overwritten_is_noticed() -> None:
    frame = invented()
    layout = prepare(frame, COLUMNS)[0].layout
    assert loans_that_know(clients_of(frame), layout) == []
    issued = pd.PeriodIndex(frame.issued, freq="M")
    lost = frame.defaulted.notna()
    ages = pd.PeriodIndex(frame.defaulted[lost], freq="M").astype(int) - issued[lost].astype(int)
    frame.loc[lost, "term"] = np.maximum(ages - 2, 1)
    (warning,) = loans_that_know(clients_of(frame), layout)
    assert "the column term says of" in warning


def test_a_rate_that_was_overwritten_is_noticed() -> None:
    frame = invented()
    layout = prepare(frame, COLUMNS)[0].layout
    frame["rate"] = 0.1
    assert loans_that_know(clients_of(frame), layout) == []  # one rate for everybody
    lost = frame.defaulted.notna()
    frame.loc[lost, "rate"] = 0.0
    (warning,) = loans_that_know(clients_of(frame), layout)
    assert "the column rate is 0 in 100 % of the loans that defaulted" in warning
    few = frame[~lost | (lost.cumsum() <= 19)]
    assert loans_that_know(clients_of(few), layout) == []
    frame.loc[~lost & (np.arange(len(frame)) % 10 == 0), "rate"] = 0.0  # some are free
    assert loans_that_know(clients_of(frame), layout) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"term": None}, "term = None is missing"),
        ({"rate": None}, "rate = None is missing"),
        ({"closed": None}, "closed = None is missing"),
        ({"amount": None, "required": None, "reward": "lent"}, "amount = None is missing"),
        ({"matures": 12}, "cannot be combined with"),
        ({"known": "closed"}, "cannot be combined with"),
        ({"round": 100}, "does not say how long a round is"),
        ({"policies": "ts"}, "loses money on loans"),
        ({"policies": "kl-ucb:forget=0.97"}, "cannot forget loans"),
        ({"places": 10}, "is not shared out among loans"),
        ({"family": "normal"}, "is not for loans"),
        ({"recovery": 1.5}, "is not a share"),
        ({"level": -1.0}, "is negative"),
        ({"late": "naive"}, "is unknown"),
        ({"term": "rate"}, "is not a term"),
        ({"rate": "lent"}, "is not a rate"),
    ],
)
def test_options_that_do_not_fit_are_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        pb.backtest(invented(size=200), **{**COLUMNS, **changed}, replays=0)


def test_an_end_before_the_loan_is_refused() -> None:
    frame = invented(size=200)
    frame.loc[7, ["issued", "defaulted", "closed"]] = ["2022-01", "2021-05", None]
    with pytest.raises(InputError, match="row 8, column defaulted"):
        clients_of(frame)


def test_the_book_of_everybody_has_every_end() -> None:
    frame = invented()
    clients = clients_of(frame)
    book = book_of(clients, TERMS)
    assert book.defaults.sum() == frame.defaulted.notna().sum()
    assert book.closings.sum() == frame.closed.notna().sum()
    assert (book.issued - book.ended).sum() == (frame.defaulted.isna() & frame.closed.isna()).sum()


@pytest.mark.skipif(not LOANS.exists(), reason="the loans are not part of the project")
@pytest.mark.parametrize(
    ("worth", "required", "category", "least"),
    [
        ("pv5", 0.05, "purpose", -0.3),
        ("pv5", 0.05, "grade", -0.3),
        ("pv5", 0.05, "term", -0.3),
        ("pv8", 0.08, "purpose", 2.5),
        ("pv8", 0.08, "grade", 3.5),
        ("pv8", 0.08, "term", 3.0),
    ],
)
def test_real_loans_at_real_dates(worth: str, required: float, category: str, least: float) -> None:
    found = pb.backtest(
        real_loans(),
        category=category,
        issued="issued",
        term="term",
        rate="int_rate",
        amount="funded_amnt",
        defaulted="defaulted",
        closed="closed",
        reward=worth,
        required=required,
        recovery=0.08,
        lag=5,
        policies=["bayes-ucb", "optimal"],
        replays=0,
        shuffles=0,
    )
    for name in ("bayes-ucb", "optimal"):
        assert found[name].difference.middle >= least * 1e6


def real_loans() -> pd.DataFrame:
    """A default is taken as known five months after the last payment."""
    table = pd.read_csv(LOANS)
    issued = pd.PeriodIndex(table.issue_d, freq="M")
    last = pd.Series(pd.PeriodIndex(table.last_pymnt_d, freq="M")).fillna(pd.Series(issued))
    lost = table.loan_status.str.contains("Charged")
    table["issued"] = issued.astype(str)
    table["defaulted"] = (last + 5).astype(str).where(lost, None)
    table["closed"] = last.astype(str).where(~lost, None)
    return table
