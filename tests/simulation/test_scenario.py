"""Scenario files: what comes out goes in again, and every mistake is named in one
sentence.
"""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import profitable as pb
from profitable.simulation.cut_rewards import cut_mean, reward_cells
from tests.matrix import FAMILIES, FamilyRow
from tests.simulation.worlds import single

CONTRACT = """
name = "three segments"

[[category]]
name = "students"
family = "bernoulli"            # a comment
mean = 0.3
threshold = 0.2
clients = 5

[[category]]
name = "shops"
family = "exponential"
mean = 4.0
threshold = 3.0
bound = 100.0
clients = { law = "one-plus-poisson", rate = 6 }

[[category]]
name = "car loans"
loan = { amount = 1000.0, rate = 0.12, repayment = 0.93 }
clients = 2
"""


def test_the_contract_s_file() -> None:
    scenario = pb.Scenario.from_toml(CONTRACT)
    assert scenario.name == "three segments"
    assert scenario.names == ("students", "shops", "car loans")
    students, shops, loans = scenario.truths
    assert students.clients.average == 5
    assert shops.clients.average == 7
    assert shops.category.bound == 100
    assert loans.category.threshold == pytest.approx(1 / 1.12)
    # Money: amount ((1 + rate) repayment - 1).
    assert loans.loss == pytest.approx(1000 * (1.12 * 0.93 - 1))
    assert all(truth.profitable for truth in scenario.truths)
    assert pb.Scenario.from_toml(scenario.to_toml()) == scenario


MISTAKES = [
    ("mean = 0.3", "mean = 1.3", ["'students'", "mean = 1.3", "from 0 to 1"]),
    ("mean = 0.3", 'mean = "x"', ["'students'", "mean = 'x'"]),
    ("mean = 0.3", "mean = nan", ["'students'", "mean = nan"]),
    ("mean = 0.3", "maen = 0.3", ["'students'", "maen = 0.3", "did you mean mean"]),
    ("mean = 0.3", "", ["'students'", "mean", "missing"]),
    ("mean = 4.0", "mean = 0.0", ["'shops'", "mean = 0.0"]),
    ("threshold = 0.2", "threshold = -0.2", ["'students'", "threshold = -0.2", "from 0 to 1"]),
    ('"bernoulli"', '"bernouli"', ["'students'", "'bernouli'", "choose from bernoulli"]),
    ('"bernoulli"', '"bounded"', ["'students'", "'bounded'"]),
    ('"bernoulli"', '["bernoulli"]', ["'students'", "family"]),
    ('"bernoulli"', '"gaussian"', ["'students'", "sigma", "missing"]),
    ('"exponential"', '"gamma"\nshape = -2', ["'shops'", "shape = -2"]),
    ("bound = 100.0", "bound = 3.1", ["'shops'", "bound = 3.1", "other side of the threshold"]),
    ("bound = 100.0", "bound = 2.0", ["'shops'", "bound = 2.0", "threshold"]),
    ("clients = 5", "clients = 0", ["'students'", "clients = 0", "1 or more"]),
    ("clients = 5", "clients = 2.5", ["'students'", "clients = 2.5", "whole number"]),
    ("clients = 5", "clients = true", ["'students'", "clients = True"]),
    ("clients = 5", "clients = []", ["'students'", "clients", "empty"]),
    ("clients = 5", "clients = [3, 0]", ["'students'", "clients", "round 2 = 0"]),
    ("clients = 5", "", ["'students'", "clients", "missing"]),
    (
        "clients = 5",
        'clients = { law = "uniform", low = 5, high = 2 }',
        ["'students'", "clients", "high = 2"],
    ),
    (
        "clients = 5",
        'clients = { law = "poisson", rate = 2 }',
        ["'students'", "clients", "law = 'poisson'"],
    ),
    ("clients = 5", "clients = { law = [1] }", ["'students'", "clients", "law"]),
    ("rate = 6", "rate = -6", ["'shops'", "clients", "rate = -6"]),
    ("rate = 6", "speed = 6", ["'shops'", "clients", "speed"]),
    ("rate = 0.12", "rate = 12", ["'car loans'", "loan", "rate = 12", "0.12 for 12 %"]),
    ("repayment = 0.93", "repayment = 1.2", ["'car loans'", "loan", "repayment = 1.2"]),
    (
        "repayment = 0.93",
        "repayment = 0.93, recovery = 1",
        ["'car loans'", "recovery = 1", "0.4 for 40 %"],
    ),
    ("repayment = 0.93", "repayment = 0.93, amount_sd = -1", ["'car loans'", "amount_sd = -1"]),
    ("amount = 1000.0", "amount = 0", ["'car loans'", "amount = 0"]),
    ('"shops"', '"students"', ["category 2", "'students'", "twice"]),
    ('"shops"', '""', ["category 2", "name"]),
    ('name = "three segments"', "", ["name"]),
    ('name = "three segments"', "name = 3", ["name = 3"]),
    ('name = "three segments"', 'name = "x"\ncolour = 3', ["colour = 3"]),
]


@pytest.mark.parametrize(
    ("old", "new", "named"), MISTAKES, ids=[f"{new or 'no ' + old}" for old, new, _ in MISTAKES]
)
def test_mistakes(old: str, new: str, named: list[str]) -> None:
    assert CONTRACT.count(old) >= 1
    with pytest.raises(pb.ProfitableError) as caught:
        pb.Scenario.from_toml(CONTRACT.replace(old, new, 1), source="segments.toml")
    message = str(caught.value)
    assert message.startswith("segments.toml: ")
    assert "\n" not in message
    for part in named:
        assert part in message, message


@pytest.mark.parametrize(
    "text", ['name = "x"', 'name = "x"\ncategory = []', 'name = "x"\ncategory = 3']
)
def test_no_categories(text: str) -> None:
    with pytest.raises(pb.errors.InputError, match="at least one"):
        pb.Scenario.from_toml(text)


def test_no_file(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "broken.toml").write_text("name = ")
    for name in ("missing.toml", "binary.toml", "broken.toml", "."):
        with pytest.raises(pb.errors.InputError, match="scenario = "):
            pb.Scenario.load(tmp_path / name)


def test_a_scenario_needs_a_law() -> None:
    category = pb.Category("a", pb.Bounded(low=0, high=1), threshold=0.5)
    with pytest.raises(pb.errors.InputError, match="no law"):
        pb.Truth(category, mean=0.5)


names = st.text(min_size=1).filter(
    lambda text: text.strip() and text.isprintable() and text.encode("utf-8", "ignore")
)
counts = st.integers(1, 1000)
laws = st.one_of(
    counts,
    st.lists(counts, min_size=1, max_size=5),
    st.builds(pb.OnePlusPoisson, rate=st.floats(0, 1e6)),
    counts.flatmap(
        lambda low: st.builds(pb.UniformClients, low=st.just(low), high=st.integers(low, 2000))
    ),
)


@given(
    name=names,
    row=st.sampled_from(FAMILIES),
    clients=laws,
    worth=st.floats(1e-3, 1e6),
    prior=st.booleans(),
)
def test_round_trip(name: str, row: FamilyRow, clients: object, worth: float, prior: bool) -> None:
    if row.law is None:
        return
    belief = pb.Prior.like(clients=3, mean=row.mean) if prior and row.sigma is None else None
    category = pb.Category(
        name, row.family, threshold=row.threshold, bound=row.bound, worth=worth, prior=belief
    )
    scenario = pb.Scenario(
        name, [pb.Truth(category, mean=row.mean, clients=clients, sigma=row.sigma)]
    )  # type: ignore[arg-type]
    assert pb.Scenario.from_toml(scenario.to_toml()) == scenario


@given(
    amount=st.floats(1, 1e9),
    rate=st.floats(1e-9, 1),
    repayment=st.floats(0, 1),
    recovery=st.just(0.0) | st.floats(0.01, 0.9),
    share=st.just(0.0) | st.floats(1e-5, 3.0),
)
def test_round_trip_of_loans(
    amount: float, rate: float, repayment: float, recovery: float, share: float
) -> None:
    spread = share * amount
    category = pb.Category.loan("loan", amount=amount, rate=rate, recovery=recovery)
    scenario = pb.Scenario("one", [pb.Truth(category, mean=repayment, amount_sd=spread)])
    again = pb.Scenario.from_toml(scenario.to_toml())
    assert again.truths[0].category.threshold == pytest.approx(category.threshold, rel=1e-15)
    assert again.truths[0].amount_sd == spread
    assert (again.truths[0].category.recovery, again.truths[0].category.amount) == (
        recovery,
        amount,
    )


def test_loans_with_recovery() -> None:
    text = CONTRACT.replace("repayment = 0.93", "repayment = 0.93, recovery = 0.4")
    loans = pb.Scenario.from_toml(text).truths[2]
    assert loans.category.threshold == pytest.approx(0.6 / 0.72)
    assert loans.loss == pytest.approx(1000 * (1.12 * 0.93 + 0.4 * 0.07 - 1))
    assert "recovery = 0.4" in pb.Scenario.from_toml(text).to_toml()
    assert "recovery" not in pb.Scenario.from_toml(CONTRACT).to_toml()


def test_a_scenario_file_does_not_warn() -> None:
    edge = pb.Scenario.from_toml(CONTRACT.replace("rate = 0.12", "rate = 0.0"))
    assert edge.truths[2].category.threshold == 1.0
    assert pb.Scenario.from_toml(edge.to_toml()) == edge
    pb.simulate(edge, ["kl-ucb"], horizon=5, runs=2, progress=False)


def test_amounts_are_not_simulated() -> None:
    with pytest.raises(pb.errors.InputError, match="draws none"):
        pb.Truth(
            pb.Category.returns("cards", required=0.05, family=pb.Gaussian(sigma=0.3)), mean=1.1
        )


@pytest.mark.parametrize(
    "row", [row for row in FAMILIES if row.law is not None and row.bound], ids=str
)
def test_cut_mean_is_the_mean_of_cut_rewards(row: FamilyRow) -> None:
    assert row.law is not None
    law = row.law(row.of_mean(row.mean))
    low = -2.5 if row.family.support.low < 0 else 0.0
    for high in (row.mean * 1.1, row.mean * 3.0):
        if row.family.support.whole:
            values = range(2_000)
            expected = sum(law.pmf(value) * min(value, high) for value in values)
        else:
            # E[cut X] = low + integral of P(X > x) over [low, high]
            steps = 200_000
            width = (high - low) / steps
            expected = low + width * sum(law.sf([low + (i + 0.5) * width for i in range(steps)]))
        assert cut_mean(row.drawn, row.mean, low, high) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("family", "mean", "bound", "expected"),
    [
        (pb.Exponential(), 1.0, 1e5, 1.0),
        (pb.Exponential(), 1.0, 1e80, 1.0),
        (pb.Gamma(shape=100.0), 5.0, 1e4, 5.0),
        (pb.Gamma(shape=0.001), 1.0, 1e6, 1.0),
        (pb.Gaussian(sigma=1.0), 0.5, 3000.0, 0.5),
        (pb.Gaussian(sigma=1.0), 1e8, 1e8 + 1.0, 1e8 - 0.08331547),  # phi(1) - (1 - Phi(1))
        (pb.Weibull(shape=2.5), 2.0, 1e4, 2.0),
        (pb.Pareto(scale=2.0), 5.0, 1e12, 5.0 - 1.5 * (2.0 / 1e12) ** (5 / 3) * 1e12),
    ],
)
def test_cut_mean_under_a_bound_far_away(
    family: pb.Family, mean: float, bound: float, expected: float
) -> None:
    low = -bound if family.support.low < 0 else 0.0
    assert cut_mean(family, mean, low, bound) == pytest.approx(expected, rel=1e-9)
    if bound < 1e50:
        single(family, mean, 0.9 * mean, 1, bound)


@pytest.mark.parametrize("row", [row for row in FAMILIES if row.family.support.whole], ids=str)
def test_cells_are_the_law(row: FamilyRow) -> None:
    assert row.law is not None
    law = row.law(row.of_mean(row.mean))
    cells = reward_cells(row.family, row.mean)
    left = 1.0
    for reward, odds in zip(cells[0, :-1], cells[2, :-1], strict=True):
        expected = law.pmf(reward)
        if expected > 1e-12:
            assert left * odds == pytest.approx(expected, rel=1e-9)
        assert cells[3, int(reward)] == list(cells[0]).index(reward)
        left *= 1.0 - odds
    end = cells.shape[1] - 1
    assert cells[2, -1] == pytest.approx(law.sf(end - 1), rel=1e-6, abs=1e-300)
    assert cells[2, -1] < 1e-18


def test_truth_keeps_what_it_is_given() -> None:
    truth = single(pb.Bernoulli(), 0.5, 0.5, [1, 2, 3])
    assert truth.clients.average == 2
    assert truth.loss == 0.0
    assert math.isinf(single(pb.Bernoulli(), 0.5, 0.4, pb.OnePlusPoisson(rate=2)).clients.largest)
