"""Policies in words: complete for all policies and parameters of the registry."""

import pytest

from profitable.model.prior import Prior
from profitable.policy.in_words import PARAMETERS, POLICY_WORDS, in_words
from profitable.policy.policies import POLICIES, Policy, ThompsonSampling

OURS = {name: kind for name, kind in POLICIES.items() if kind.__module__.startswith("profitable.")}


def test_every_policy_and_every_parameter_has_words() -> None:
    """A new policy, or a new parameter, fails here until it has words."""
    assert set(POLICY_WORDS) == set(OURS)
    assert set(PARAMETERS) == {each for kind in OURS.values() for each in kind.constants()}
    plain = [in_words(kind()) for kind in OURS.values()]
    assert plain == list(POLICY_WORDS.values())
    assert len(set(plain)) == len(plain)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ts:window=12", "Thompson sampling that remembers 12 rounds"),
        ("ts:window=1", "Thompson sampling that remembers 1 round"),
        ("kl-ucb+:count=rounds", "stricter upper confidence bound by rounds"),
        (
            "kl-ucb:c=3,forget=0.995",
            "upper confidence bound with c = 3, that forgets 0.5 % a round",
        ),
        ("kl-ucb:inflate=10", "upper confidence bound with time counted 10 times"),
        ("optimal:horizon", "optimal stopping up to the last round"),
        ("optimal:horizon=10000", "optimal stopping up to round 10 000"),
        ("optimal:discount=0.99", "optimal stopping with a round later worth 99 %"),
        ("optimal:kappa=2", "optimal stopping expecting 2 times the past"),
        ("optimal:kappa=3", "optimal stopping"),
        ("optimal:risk=0.3,clients=20", "optimal stopping at risk 0.3, for 20 clients a round"),
        (
            "bayes-ucb:floor=0.05",
            "Bayesian upper confidence bound which accepts 5 % of what it rejects by chance",
        ),
        ("kl-ucb:trust=0", "upper confidence bound with each band alone"),
        ("kl-ucb:trust=inf", "upper confidence bound with the order taken as certain"),
        ("kl-ucb:trust=2", "upper confidence bound with the order taken at 2 nats"),
    ],
)
def test_parameters(name: str, words: str) -> None:
    assert in_words(Policy.of(name)) == words


def test_a_prior_is_named() -> None:
    policy = ThompsonSampling(prior=Prior.beta(1, 2))
    assert in_words(policy) == "Thompson sampling with the prior beta(1, 2)"
