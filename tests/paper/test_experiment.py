"""The experiments are the paper's: the numbers below are typed from its section 8."""

import inspect

import pytest

from profitable.cli.paper_commands import paper
from profitable.errors import InputError
from profitable.paper.experiment import BEYOND, FOLDER, NAMES, PAPER, choose, load
from profitable.simulation.clients_per_round import OnePlusPoisson

WORLDS = {
    "bernoulli": ("Bernoulli()", (0.1, 0.3, 0.5, 0.5, 0.7), (0.2, 0.2, 0.4, 0.6, 0.8), {2, 3}),
    "poisson": ("Poisson()", (1, 2, 3, 4, 5), (2, 1, 4, 3, 6), {2, 4}),
    "sharp-poisson": ("Poisson()", (1, 2, 3, 4, 5), (1.1, 1.9, 3.1, 3.9, 5.1), {2, 4}),
    "exponential": ("Exponential()", (1, 2, 3, 4, 5), (2, 1, 4, 3, 6), {2, 4}),
}
KNOWING = {"kl-ucb", "bayes-ucb", "ts", "kl-ucb+"}
BOUNDED = {"kl-emp-ucb", "kl-gaussian-ucb", "ucb-v"}
SCALED = {"kl-bernoulli-ucb", "kl-bernoulli-ucb+"}
POLICIES = {
    "bernoulli": KNOWING | BOUNDED,
    "poisson": KNOWING | BOUNDED | SCALED,
    "sharp-poisson": KNOWING,
    "exponential": KNOWING | BOUNDED | SCALED,
}


@pytest.mark.parametrize("name", PAPER)
def test_as_in_the_paper(name: str) -> None:
    experiment = load(name)
    family, means, thresholds, profitable = WORLDS[name]
    truths = experiment.scenario.truths
    assert {repr(truth.category.family) for truth in truths} == {family}
    assert tuple(truth.mean for truth in truths) == means
    assert tuple(truth.category.threshold for truth in truths) == thresholds
    assert {place for place, truth in enumerate(truths, 1) if truth.profitable} == profitable
    assert [truth.clients for truth in truths] == [
        OnePlusPoisson(rate=rate) for rate in (3, 4, 5, 6, 7)
    ]
    assert (experiment.horizon, experiment.runs) == (10_000, 10_000)
    assert set(experiment.policies) == POLICIES[name]
    bounds = {truth.category.bound for truth in truths}
    assert bounds == ({100.0} if name in ("poisson", "exponential") else {None})


@pytest.mark.parametrize("name", PAPER)
def test_as_the_authors_ran_it(name: str) -> None:
    variant = load(name).as_authors_ran()
    assert [truth.clients for truth in variant.scenario.truths] == [
        OnePlusPoisson(rate=rate) for rate in (2, 3, 4, 5, 6)
    ]
    plus = {policy for policy in variant.policies if "+" in policy}
    assert plus == {policy + ":inflate=10" for policy in POLICIES[name] if policy.endswith("+")}
    assert variant.scenario.lower_bound().total == load(name).scenario.lower_bound().total


def test_one_file_each() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == sorted(NAMES)
    assert {load(name).horizon for name in BEYOND} == {10**12}
    assert [load(name).authors_runs for name in ("bernoulli", "arrivals")] == [1_000, 0]
    assert "authors' published settings" in load("exponential").source


def test_choose() -> None:
    both = [
        each.name
        for each in choose(["bernoulli", "unlucky"], variant="both", runs=None, quick=False)
    ]
    assert both == ["bernoulli", "bernoulli-authors", "unlucky"]
    authors = [
        each.name for each in choose(["bernoulli"], variant="authors", runs=None, quick=False)
    ]
    assert authors == ["bernoulli-authors"]
    assert [each.runs for each in choose(["poisson"], variant="paper", runs=300, quick=False)] == [
        300
    ]
    quick = choose([], variant="paper", runs=None, quick=True)
    assert [each.name for each in quick] == list(PAPER)
    assert all(each.runs * 50 <= load(each.name).runs or each.runs == 100 for each in quick)


@pytest.mark.parametrize(
    ("names", "variant", "field"), [(["cauchy"], "both", "experiment"), ([], "ours", "variant")]
)
def test_unknown(names: list[str], variant: str, field: str) -> None:
    with pytest.raises(InputError, match="choose from") as found:
        choose(names, variant=variant, runs=None, quick=False)
    assert found.value.field == field


def test_help_names_every_experiment() -> None:
    shown = inspect.getsource(paper)
    assert all(name in shown for name in NAMES)
