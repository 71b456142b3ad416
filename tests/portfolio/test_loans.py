"""Portfolios that lend: defaults and closings with their days, each counted once."""

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import profitable as pb
from profitable.agent.explanation import PROFIT_UNKNOWN
from profitable.agent.loan_book import BookReading, LoanBook
from profitable.agent.loan_state import values_of
from profitable.common.types import FloatArray
from profitable.portfolio.compare import compare
from profitable.portfolio.export import write_clients
from profitable.portfolio.journal import START, Line, chained
from profitable.portfolio.new_store import copy_portfolio, upgrade
from tests.portfolio.places import Place
from tests.portfolio.small import assert_clean, small, statuses

LENDING = pb.Lending(required=0.05, recovery=0.1, lag=1)
NAMES = ("cars", "phones")
DAY = "2024-06-03"
ISSUED = "2024-01-08"


@pytest.fixture
def file(tmp_path: Path) -> Place:
    return Place(str(tmp_path / "lending.db"))


def lender(place: Place, policy: str = "bayes-ucb", **options: Any) -> pb.Portfolio:
    """A portfolio that has decided one round, which accepts everybody."""
    categories = [pb.Category.returns(name) for name in NAMES]
    book = place.create(categories, policy=policy, lending=LENDING, **options)
    assert book.decide(key="month 1").accepted == NAMES
    return book


def clients(category: str, number: int, prefix: str = "loan", **terms: Any) -> list[pb.Client]:
    terms = {"term": 12, "rate": 0.12, "issued": ISSUED, **terms}
    return [pb.Client(f"{prefix} {i}", category, **terms) for i in range(1, number + 1)]


def ends(how: str, *numbers: int, day: str = DAY, prefix: str = "loan") -> list[pb.LoanOutcome]:
    return [pb.LoanOutcome(f"{prefix} {i}", **{how: day}) for i in numbers]  # type: ignore[arg-type]


def counts(book: pb.Portfolio, name: str = "cars") -> tuple[int, int, int]:
    """Loans that were issued, defaulted, and are open."""
    loans = book.agent[name].loans
    assert loans is not None
    return loans.issued, loans.defaults, book.agent.waiting.get(name, 0)


def why(receipt: Any) -> str:
    (answer,) = receipt
    assert answer.status == "refused", answer
    return answer.why


# ------------------------------------------------------------------------ exactly once


def test_each_end_counts_once(place: Place) -> None:
    book = lender(place)
    assert len(book.open(clients("cars", 10)).counted) == 10
    assert statuses(book.open(clients("cars", 10, issued=None))) == ["refused"] * 10
    assert statuses(book.open(clients("cars", 10))) == ["known"] * 10
    rows = [*ends("defaulted", 1, 2), *ends("closed", 3), pb.LoanOutcome("loan 4")]
    assert statuses(book.observe(rows)) == ["counted"] * 3 + ["still open"]
    length = place.lines()
    assert statuses(place.open().observe(rows)) == ["known"] * 3 + ["still open"]
    assert (place.lines(), counts(book)) == (length, (10, 2, 7))
    assert statuses(book.observe(ends("closed", 5), dry_run=True)) == ["counted"]
    torn = [*ends("closed", 5), pb.LoanOutcome("nobody")]
    assert statuses(book.observe(torn, all_or_nothing=True)) == ["left out", "refused"]
    assert (place.lines(), counts(book)) == (length, (10, 2, 7))
    assert str(book.observe([*rows, *ends("closed", 6)])).startswith(
        "5 rows: 1 counted, 3 known already, 1 still open"
    )
    assert_clean(book)


def test_a_book_is_judged_when_somebody_looks_and_not_to_be_kept(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    book, judged = lender(place), list[int]()
    read = LoanBook.read

    def counted(loans: LoanBook, thresholds: FloatArray) -> BookReading:
        judged.append(loans.round)
        return read(loans, thresholds)

    def times(step: Callable[[], object]) -> int:
        before = len(judged)
        step()
        return len(judged) - before

    monkeypatch.setattr(LoanBook, "read", counted)
    assert times(lambda: book.open(clients("cars", 9))) == 0
    assert times(lambda: book.observe(ends("defaulted", 1))) == 0
    assert times(lambda: book.observe(ends("closed", 2, 3))) == 0
    assert times(lambda: book.correct("loan 1", closed=DAY)) == 0
    assert times(book.status) == 1
    assert times(book.status) == 0
    assert times(lambda: book.observe(ends("defaulted", 4))) == 0
    assert times(lambda: book.decide(key="month 2")) == 1
    other = place.open()
    assert str(other.status())
    assert times(lambda: other.observe(ends("defaulted", 5))) == 0
    assert times(lambda: book.observe(ends("defaulted", 6))) == 0
    assert_clean(book)


def test_of_one_loan_in_one_report_the_first_end_counts(file: Place) -> None:
    book = lender(file)
    book.open(clients("cars", 2))
    rows = [*ends("defaulted", 1), *ends("closed", 1), *ends("defaulted", 1)]
    assert statuses(book.observe(rows)) == ["counted", "refused", "known"]
    assert counts(book) == (2, 1, 1)
    assert_clean(book)


ROWS: dict[str, tuple[pb.Outcome | pb.LoanOutcome, str]] = {
    "unknown": (pb.LoanOutcome("nobody", closed=DAY), "was not opened here"),
    "unknown and open": (pb.LoanOutcome("nobody"), "was not opened here"),
    "reward": (pb.Outcome("loan 1", "cars", reward=1), "this portfolio lends"),
    "early": (pb.LoanOutcome("loan 1", defaulted="2024-01-07"), "issued on 2024-01-08"),
    "earlier": (pb.LoanOutcome("old", closed="2020-01-01"), "before the loan was opened in line"),
    "future": (pb.LoanOutcome("loan 1", closed="2999-01-01"), "in the future"),
    "category": (pb.LoanOutcome("loan 1", closed=DAY, category="phones"), "'cars', not 'phones'"),
    "other end": (pb.LoanOutcome("ended", defaulted=DAY), "as closed on 2024-06-03, not defaulted"),
    "other day": (pb.LoanOutcome("ended", closed="2024-06-04"), "not closed on 2024-06-04"),
    "open again": (pb.LoanOutcome("ended"), "not open (line"),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_that_are_refused(file: Place, name: str) -> None:
    book = lender(file)
    book.open([*clients("cars", 1), pb.Client("old", "cars", term=12, rate=0.1)])
    book.open([pb.Client("ended", "cars", term=12, rate=0.1, issued=ISSUED)])
    book.observe([pb.LoanOutcome("ended", closed=DAY)])
    before = file.dump()
    row, reason = ROWS[name]
    answers = book.observe([row, *ends("closed", 1)])
    assert statuses(answers) == ["refused", "counted"]
    assert reason in answers[0].why
    assert answers[0].why.count(". ") == 0  # one sentence
    assert file.lines() == len(before[0]) + 1


CLIENTS: dict[str, tuple[dict[str, Any], str]] = {
    "no term": ({"rate": 0.1}, "term = None is missing"),
    "no rate": ({"term": 12}, "nobody has asked for 12 rounds before"),
    "percent": ({"term": 12, "rate": 12.0}, "looks like percent"),
    "matures": ({"term": 12, "rate": 0.1, "matures": 3}, "is learnt from the loans"),
    "emerges": ({"term": 12, "rate": 0.1, "emerges": "evenly"}, "is learnt from the loans"),
    "promised": ({"term": 12, "rate": 0.1, "promised": 1.1}, "is learnt from the loans"),
    "little": ({"term": 12, "instalment": 50.0, "amount": 1_000.0}, "does not repay 1000"),
    "much": ({"term": 12, "instalment": 5_000.0, "amount": 1_000.0}, "does not repay 1000"),
    "future": ({"term": 12, "rate": 0.1, "issued": "2999-01-01"}, "in the future"),
    "decision": ({"term": 12, "rate": 0.1, "decision": 2}, "has not been made"),
}


@pytest.mark.parametrize("name", CLIENTS)
def test_clients_who_are_refused(file: Place, name: str) -> None:
    book = lender(file)
    terms, reason = CLIENTS[name]
    before = file.dump()
    assert reason in why(book.open([pb.Client("loan 1", "cars", **terms)]))
    assert file.dump() == before


def test_days_around_the_present(file: Place) -> None:
    """Days of any time zone are taken, and no others."""
    book, today = lender(file), datetime.now(UTC).date()
    book.open([pb.Client(f"loan {i}", "cars", term=12, rate=0.1) for i in range(5)])
    days = {-2: "refused", -1: "counted", 0: "counted", 1: "counted", 3: "refused"}
    rows = [
        pb.LoanOutcome(f"loan {i}", closed=today + timedelta(days=ahead))
        for i, ahead in enumerate(days)
    ]
    assert statuses(book.observe(rows)) == list(days.values())


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: pb.LoanOutcome("a", defaulted=DAY, closed=DAY), "combined with defaulted"),
        (lambda: pb.LoanOutcome("a", defaulted="soon"), "must be a date"),
        (lambda: pb.LoanOutcome(""), "id"),
        (lambda: pb.Client("a", "cars", rate=0.1, instalment=9.0, amount=1.0), "with a rate"),
        (lambda: pb.Client("a", "cars", term=12, instalment=9.0), "needs the amount"),
        (lambda: pb.Client("a", "cars", term=0), "term"),
    ],
)
def test_values_that_contradict_each_other(make: Callable[[], object], reason: str) -> None:
    with pytest.raises(pb.errors.InputError, match=reason):
        make()


def test_days_are_read_as_days() -> None:
    given = (DAY, "20240603", "2024-06-03T09:30:00", date(2024, 6, 3), datetime(2024, 6, 3, 9))
    assert {pb.LoanOutcome("a", closed=day).closed for day in given} == {DAY}


def test_loans_are_refused_where_nobody_lends(place: Place) -> None:
    book = place.create([pb.Category("cars", pb.Bernoulli(), threshold=0.5)], policy="kl-ucb")
    book.decide(key="day 1")
    assert "for a portfolio that lends" in why(book.open(clients("cars", 1)))
    assert "for a portfolio that lends" in why(book.open([pb.Client("a", "cars", amount=1.0)]))
    rows = [*ends("closed", 1), pb.LoanOutcome("a"), pb.Outcome("b", "cars", reward=1)]
    answers = book.observe(rows)
    assert statuses(answers) == ["refused", "refused", "counted"]
    assert [answers[0].why.split(";")[0], answers[1].why.split(";")[0]] == [
        "closed = '2024-06-03' is for a portfolio that lends",
        "id = 'a' has no reward",
    ]
    with pytest.raises(pb.errors.ParameterError, match="does not lend"):
        book.correct("b", closed=DAY)
    with pytest.raises(pb.errors.ParameterError, match="for a portfolio that lends"):
        book.decide(key="day 2", applicants=clients("cars", 1))
    assert_clean(book)


# ------------------------------------------------------------------------------- terms


def test_the_rate_follows_from_the_instalment(file: Place) -> None:
    book = lender(file)
    book.open([pb.Client("a", "cars", term=36, instalment=332.14, amount=10_000)])
    monthly = brentq(lambda r: 332.14 - 10_000 * r / (1 - (1 + r) ** -36), 1e-9, 1.0, xtol=1e-15)
    (line,) = book.log(kind="open")
    assert line.content["rate"] == pytest.approx(12 * monthly, rel=1e-12)
    assert line.amount == 10_000
    assert statuses(
        book.open([pb.Client("a", "cars", term=36, instalment=332.14, amount=10_000)])
    ) == ["known"]
    assert "amount" in why(
        book.open([pb.Client("a", "cars", term=36, rate=line.content["rate"], amount=9_000)])
    )
    rounded = pb.Client("b", "cars", term=12, instalment=83.33, amount=1_000)  # without interest
    assert book.open([rounded]).counted
    assert book.log(kind="open")[-1].content["rate"] == 0.0


def test_who_asks_today_sets_the_terms(place: Place) -> None:
    """Also those who are refused; and whoever is opened then does not ask again."""
    book = lender(place)
    book.open(clients("cars", 20))
    book.observe(ends("defaulted", 1, 2))
    asked = [*clients("cars", 3, rate=0.5), *clients("cars", 5, rate=0.3, term=24)]
    decision = book.decide(key="month 2", applicants=asked)
    assert decision.line == place.lines()
    found = book.log(kind="decide")[-1].content["asked"]["applicants"]
    assert found == [["cars", 12, 3, 0.5], ["cars", 24, 5, 0.3]]
    mix = book.agent.ledger.loans
    assert mix is not None
    before = mix.asked.copy()
    assert len(book.open(clients("cars", 2, prefix="asked", rate=0.5)).counted) == 2
    again = book.agent.ledger.loans
    assert again is not None
    assert np.array_equal(again.asked, before)
    book.open(clients("cars", 2, prefix="other", rate=0.5, term=6))  # of whom nobody spoke
    assert book.agent.ledger.loans.asked.sum() == pytest.approx(before.sum() + 2)  # type: ignore[union-attr]
    assert book.decide(key="month 2", applicants=asked[::-1]).round == 2
    with pytest.raises(pb.errors.ConflictError, match="applicants"):
        book.decide(key="month 2", applicants=asked[1:])
    with pytest.raises(pb.errors.ParameterError, match="'loan 1' is missing"):
        book.decide(key="month 3", applicants=clients("cars", 1, rate=None))
    with pytest.raises(pb.errors.InputError, match="ships"):
        book.decide(key="month 3", applicants=clients("ships", 1))
    assert_clean(book)


# ------------------------------------------------------------------------- corrections


def test_corrections(place: Place) -> None:
    book, twin = (
        lender(place),
        pb.Agent(
            [pb.Category.returns(name) for name in NAMES], policy="bayes-ucb", lending=LENDING
        ),
    )
    book.open(clients("cars", 30))
    book.observe(ends("defaulted", *range(1, 9)))
    book.decide(key="month 2")
    book.observe(ends("closed", 9))
    assert book.correct("loan 1", closed=DAY, key="ticket 1").line == place.lines()
    assert book.correct("loan 2", take_back=True, reason="not ours").status == "counted"
    assert book.correct("loan 9", defaulted=DAY).status == "counted"
    assert counts(book) == (30, 7, 22)
    # Every one of them is done once.
    length = place.lines()
    assert book.correct("loan 1", closed=DAY, key="ticket 1").status == "known"
    assert book.correct("loan 2", take_back=True).status == "known"
    assert statuses(book.observe(ends("defaulted", 1, 2))) == ["known"] * 2
    with pytest.raises(pb.errors.ConflictError):
        book.correct("loan 1", defaulted=DAY, key="ticket 1")
    assert place.lines() == length
    # What was put back ends again, in the round in which that is reported.
    book.decide(key="month 3")
    assert statuses(book.observe(ends("closed", 2, day="2024-07-01"))) == ["counted"]
    assert statuses(book.observe(ends("closed", 2, day="2024-07-01"))) == ["known"]
    with pytest.raises(pb.errors.ConflictError, match="once more"):
        book.correct("loan 2", take_back=True)  # which may be the old one
    texts = [str(line) for line in str(book.log(id="loan 2")).splitlines()[2:]]
    assert [text.split("  ")[-1].strip() for text in texts] == [
        "loan 2 of cars, accepted in round 1, over 12 rounds at 12 %",
        "loan 2 of cars: defaulted on 2024-06-03, accepted in round 1",
        f"line {texts[1].split()[0]}: defaulted on 2024-06-03 was wrong, open (not ours)",
        f"line {texts[2].split()[0]}: closed on 2024-07-01",
    ]
    assert_clean(book)
    # The same, as it should have been said at first.
    twin.decide()
    for _ in range(30):
        twin.expect("cars", 1, term=12, rate=0.12)
    twin.observe("cars", defaulted=6, closed=1, accepted_in=1)
    twin.decide()
    twin.observe("cars", defaulted=1, accepted_in=1)
    twin.decide()
    twin.observe("cars", closed=1, accepted_in=1)
    mine, theirs = (values_of(each.ledger.loans) for each in (book.agent, twin))  # type: ignore[arg-type]
    assert mine == theirs
    assert np.array_equal(book.agent.decide().evidence, twin.decide().evidence)


def test_corrections_that_are_refused(file: Place) -> None:
    book = lender(file)
    book.open(clients("cars", 2))
    book.observe(ends("defaulted", 1))
    for id, given, error, reason in (
        ("loan 2", {"closed": DAY}, pb.errors.CorrectionError, "has no outcome"),
        ("nobody", {"closed": DAY}, pb.errors.CorrectionError, "has no outcome"),
        ("loan 1", {"reward": 1.0}, pb.errors.ParameterError, "lends"),
        ("loan 1", {}, pb.errors.ParameterError, "missing"),
        ("loan 1", {"closed": DAY, "take_back": True}, pb.errors.ParameterError, "taken back"),
        ("loan 1", {"closed": DAY, "defaulted": DAY}, pb.errors.ParameterError, "combined"),
        ("loan 1", {"closed": "2023-01-01"}, pb.errors.ParameterError, "issued on"),
        ("loan 1", {"closed": "2999-01-01"}, pb.errors.ParameterError, "in the future"),
    ):
        with pytest.raises(error, match=reason):
            book.correct(id, **given)  # type: ignore[arg-type]
    assert book.correct("loan 1", defaulted=DAY).status == "known"
    assert counts(book) == (2, 1, 1)


# --------------------------------------------------------------- settings and decisions


def test_settings(file: Place) -> None:
    book = lender(file)
    book.open(clients("cars", 40))
    book.observe(ends("defaulted", *range(1, 13)))
    assert book.decide(key="month 2").accepted == ("phones",)
    for policy in ("ts", "bayes-ucb:forget=0.9", "kl-ucb:window=3", "ucb-v"):
        with pytest.raises(pb.errors.ParameterError):
            book.set_policy(policy)
    with pytest.raises(pb.errors.ParameterError, match=r"Category\.returns"):
        book.add_category(pb.Category("shops", pb.Bernoulli(), threshold=0.5))
    book.add_category(pb.Category.returns("shops"))
    book.set_policy("kl-ucb")
    book.set_threshold("cars", 0.2)
    book.pause("phones")
    third = book.decide(key="month 3")
    assert third.accepted == ("cars", "shops")
    assert "28 open" not in third["phones"].reason
    assert_clean(book)


def test_a_stored_decision_reads_as_it_did(place: Place) -> None:
    book = lender(place)
    book.open([*clients("cars", 40), *clients("phones", 30, prefix="phone")])
    book.observe([*ends("defaulted", *range(1, 13)), *ends("defaulted", 1, prefix="phone")])
    made = book.agent.decide()
    stored = book.decide(key="month 2")
    cars = made["cars"].loans
    assert cars is not None
    book.observe(ends("defaulted", *range(13, 30)))
    book.decide(key="month 3")
    for read in (stored, place.open().decision(key="month 2")):
        assert [*read] == [*made]
        assert str(read).splitlines()[1:] == str(made).splitlines()[1:]
        assert np.array_equal(read.evidence, made.evidence)
        assert read["cars"].loans == cars
    text = book.explain("cars", key="month 2")
    assert "cars was not accepted in round 2" in text
    assert text.count(cars.sentence()) == 1
    assert cars.sentence().startswith("12 of 40 defaulted; it could afford ")
    assert "Known: 12 loans that ended; 28 accepted clients had no outcome yet." in text
    book.pause("cars")
    paused = book.decide(key="month 4")["cars"]
    assert paused.loans is not None
    assert book.explain("cars", key="month 4").count(paused.loans.sentence()) == 1


def test_status(file: Place) -> None:
    book = lender(file)
    book.open(clients("cars", 40))
    book.observe([*ends("defaulted", *range(1, 13)), *ends("closed", 13)])
    book.decide(key="month 2")
    status, loans = book.status(), book.agent["cars"].loans
    assert loans is not None
    assert status.profit is None
    row = status.to_dict()["categories"][0]
    assert (row["accepted"], row["waiting"], row["known"], row["defaults"]) == (40, 27, 13, 12)
    assert (row["multiplier"], row["break_even"]) == (loans.multiplier, loans.break_even)
    assert ", profit not known\n" in str(status)
    found = status.to_dict()
    assert (found["profit"], found["profit_unknown"]) == (None, PROFIT_UNKNOWN)
    assert book.explain("cars").endswith(f"Profit so far: not known, because {PROFIT_UNKNOWN}.")
    assert "break_even" in str(status)


def test_the_chart_has_what_each_decision_knew(place: Place, tmp_path: Path) -> None:
    book = lender(place)
    book.open(clients("cars", 40))
    for month in range(2, 7):
        book.observe(ends("defaulted", *range(3 * month, 3 * month + 3)))
        book.decide(key=f"month {month}", available=["cars"] if month == 4 else None)
    book.add_category(pb.Category.returns("boats"))
    book.set_policy("kl-ucb")
    book.decide(key="month 7")
    path = tmp_path / "loans.svg"
    chart = book.plot_loans(path).to_dict()
    assert path.stat().st_size > 5_000
    points = next(
        rows
        for rows in reversed(chart["datasets"].values())
        if any(row.get("kind") for row in rows)
    )
    for name in ("cars", "phones"):
        rounds = [2, 3, 5, 6, 7] if name == "phones" else [2, 3, 4, 5, 6, 7]
        standings = [book.decision(round)[name].loans for round in (1, *rounds)]
        known = [each.defaults for each in standings if each is not None]
        assert [
            (row["x"], row["number"])
            for row in points
            if (row["name"], row["kind"]) == (name, "defaults")
        ] == list(zip((1, *rounds), known, strict=True))
    last = book.decision(7)["cars"].loans
    assert last is not None
    drawn = [row for row in points if (row["name"], row["kind"]) == ("cars", "affordable")]
    assert drawn[-1]["number"] == pytest.approx(last.affordable, rel=1e-3)
    with pytest.raises(pb.errors.ParameterError, match="lends"):
        small(Place(str(tmp_path / "other.db"))).plot_loans()


def test_two_portfolios_are_compared_by_how_loans_ended(tmp_path: Path) -> None:
    first, second = (lender(Place(str(tmp_path / f"{name}.db"))) for name in "ab")
    for book in (first, second):
        book.open(clients("cars", 5))
        book.observe(ends("closed", 1, 2))
    assert compare(first, second).is_same_stream
    first.observe([*ends("defaulted", 3), *ends("closed", 4)])
    second.observe(ends("closed", 3))
    found = compare(first, second)
    assert (found.shared, found.differ, found.only_outcomes) == (2, 1, (1, 0))
    assert {(row.both, row.first_profit, row.second_profit) for row in found.rows} == {
        (1, None, None)
    }
    lines = str(found).splitlines()
    assert lines[-1] == f"Profits are not known: {PROFIT_UNKNOWN}."
    assert lines[-2].split() == ["all", *("not", "known") * 2]


@pytest.mark.parametrize("policy", ["bayes-ucb", "kl-ucb", "optimal:horizon=60"])
@pytest.mark.parametrize("seed", range(3))
def test_histories_decide_as_an_agent_does(tmp_path: Path, policy: str, seed: int) -> None:
    """To the last bit, whoever writes, and whether it was opened again or not."""
    chance, place = random.Random(seed), Place(str(tmp_path / "lending.db"))
    book = lender(place, policy)
    other = place.open()
    twin = pb.Agent([pb.Category.returns(name) for name in NAMES], policy=policy, lending=LENDING)
    twin.decide()
    open_: dict[str, tuple[str, int, int]] = {}  # category, term, and round
    ended: dict[str, tuple[str, str, int, int, int]] = {}  # how, and in which round
    for step in range(120):
        writer = chance.choice([book, other])
        match chance.choices(["decide", "open", "end", "correct"], [2, 4, 6, 2])[0]:
            case "decide":
                asked = [
                    pb.Client(f"a {i}", name, term=12, rate=0.1 + 0.01 * i)
                    for name in NAMES
                    for i in range(chance.randrange(3))
                ]
                made = writer.decide(key=f"step {step}", applicants=asked or None)
                for name in NAMES:
                    rates = [each.rate or 0.0 for each in asked if each.category == name]
                    if rates:
                        mean = sum(rates) / len(rates)
                        twin.quote(name, len(rates), term=12, rate=mean)
                right = twin.decide()
                assert np.array_equal(made.evidence, right.evidence)
                assert made.accepted == right.accepted
                assert [each.loans for each in made] == [each.loans for each in right]
            case "open":
                last = writer.decision()
                for name in last.accepted:
                    term = chance.choice([6, 12])
                    new = clients(name, 5, prefix=f"{step} {name}", term=term)
                    assert len(writer.open(new).counted) == 5
                    body = writer.log(kind="decide")[-1].content["asked"]
                    is_asked = any(each[:2] == [name, term] for each in body.get("applicants", ()))
                    for each in new:
                        twin.expect(name, 1, term=term, rate=None if is_asked else 0.12)
                        open_[each.id] = (name, term, last.round)
            case "end" if open_:
                chosen = chance.sample(sorted(open_), min(len(open_), 4))
                rows = []
                for id in chosen:
                    name, term, since = open_.pop(id)
                    how = "defaulted" if name == "phones" or chance.random() < 0.2 else "closed"
                    rows.append(pb.LoanOutcome(id, **{how: DAY}))
                    twin.observe(name, **{how: 1}, accepted_in=since, term=term)
                    ended[id] = (how, name, term, since, twin.round)
                assert len(writer.observe(rows).counted) == len(rows)
            case "correct" if ended:
                id = chance.choice(sorted(ended))
                was, name, term, since, counted_in = ended.pop(id)
                now = chance.choice([None, "closed" if was == "defaulted" else "defaulted"])
                if now is None:
                    writer.correct(id, take_back=True, key=f"step {step}")
                else:
                    writer.correct(id, **{now: DAY}, key=f"step {step}")
                twin.correct(
                    name, was=was, now=now, counted_in=counted_in, accepted_in=since, term=term
                )
            case _:
                pass
    assert twin.round > 8
    assert np.array_equal(twin.ledger.numbers, place.open().agent.ledger.numbers)
    assert_clean(book)


# ---------------------------------------------------------------------------- integrity


def lived(place: Place) -> pb.Portfolio:
    book = lender(place)
    book.open(clients("cars", 40))
    book.observe([*ends("defaulted", *range(1, 10)), *ends("closed", 10)])
    book.decide(key="month 2", applicants=clients("cars", 9, rate=0.2))
    book.correct("loan 1", closed=DAY)
    book.decide(key="month 3")
    return book


def test_an_altered_default_is_found(place: Place) -> None:
    book = lived(place)
    assert place.change(
        "UPDATE profitable_journal SET body = replace(body, 'defaulted', 'closed')"
        " WHERE id = 'loan 5' AND kind = 'outcome'"
    )
    (finding,) = book.verify().findings
    assert "was changed" in finding


FORGERIES: dict[str, tuple[str, str, str]] = {
    "default": ("outcome", '{"defaulted"', '{"closed"'),
    "applicants": ("decide", '"applicants":[["cars",12,9,0.2', '"applicants":[["cars",12,9,0.5'),
    "correction": ("correct", '"now":{"closed"', '"now":{"defaulted"'),
    "rate": ("open", '"rate":0.12', '"rate":0.22'),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_chain_does_not_fit_the_decisions(file: Place, name: str) -> None:
    """Even if all hashes behind it are computed anew."""
    book, (kind, before, after) = lived(file), FORGERIES[name]
    lines = [Line(*row) for row in file.rows("SELECT * FROM profitable_journal ORDER BY line")]
    place = next(
        i for i, line in enumerate(lines) if line.kind == kind and before in str(line.body)
    )
    lines[place] = lines[place]._replace(body=str(lines[place].body).replace(before, after))
    for line in chained(lines, START):
        file.change(
            "UPDATE profitable_journal SET body = :body, hash = :hash WHERE line = :line",
            body=line.body,
            hash=line.hash,
            line=line.line,
        )
    (finding, *_) = book.verify().findings
    assert "does not follow from what was known" in finding


def test_copies_and_decisions_that_are_put_back(file: Place, tmp_path: Path) -> None:
    book = lived(file)
    backup = tmp_path / "backup.db"
    copy_portfolio(file.where, str(backup))
    lost = book.decide(key="month 4", applicants=clients("cars", 3, rate=0.4)).to_json()
    book.open(clients("phones", 4, prefix="late"))
    with pb.Portfolio(backup) as restored:
        again = restored.reinstate(lost)
        assert [*again] == [*book.decision()]
        restored.open(clients("phones", 4, prefix="late"))
        mine, theirs = (each.agent.ledger for each in (book, restored))
        assert np.array_equal(mine.numbers, theirs.numbers)
        assert restored.verify().is_clean
    upgrade(str(backup))  # which computes the state anew
    with pb.Portfolio(backup) as upgraded:
        assert np.array_equal(upgraded.agent.ledger.numbers, book.agent.ledger.numbers)
        assert upgraded.verify().is_clean


def test_loans_as_a_file_for_a_backtest(file: Place, tmp_path: Path) -> None:
    book = lived(file)
    book.open([pb.Client("bare", "phones", term=12, rate=0.1)])  # without an amount
    book.open(clients("phones", 2, prefix="full", amount=500.0))
    book.observe(ends("defaulted", 1, prefix="full"))
    written = write_clients(book, tmp_path / "loans.csv", "csv")
    assert (written.rows, written.left_out) == (2, 41)
    assert (tmp_path / "loans.csv").read_text().splitlines() == [
        "id,category,round,issued,term,rate,amount,defaulted,closed",
        "full 1,phones,3,2024-01-08,12,0.12,500.0,2024-06-03,",
        "full 2,phones,3,2024-01-08,12,0.12,500.0,,",
    ]
    text = written.settings.read_text()
    for setting in ("required = 0.05", "recovery = 0.1", "lag = 1", 'defaulted = "defaulted"'):
        assert setting in text
