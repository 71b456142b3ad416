"""Policies in words, for readers who do not know their short names.

>>> from profitable.policy.policies import Policy
>>> print(in_words(Policy.of("ts:forget=0.97")))
Thompson sampling that forgets 3 % a round
>>> print(in_words(Policy.of("optimal:horizon,risk=0.3")))
optimal stopping up to the last round, at risk 0.3
"""

import math
from collections.abc import Callable

from profitable.common.text_tables import number_text, several
from profitable.policy.policies import BY_ROUNDS, Policy

POLICY_WORDS = {
    "kl-ucb": "upper confidence bound",
    "kl-ucb+": "stricter upper confidence bound",
    "bayes-ucb": "Bayesian upper confidence bound",
    "ts": "Thompson sampling",
    "kl-bernoulli-ucb": "upper confidence bound of scaled rewards",
    "kl-bernoulli-ucb+": "stricter upper confidence bound of scaled rewards",
    "kl-gaussian-ucb": "Gaussian upper confidence bound",
    "kl-emp-ucb": "empirical upper confidence bound",
    "ucb-v": "upper confidence bound with estimated variance",
    "optimal": "optimal stopping",
}


def _share(value: float) -> str:
    """Write a share in percent.

    >>> _share(0.03), _share(1.0 - 0.97), _share(0.0005)
    ('3 %', '3 %', '0.05 %')
    """
    return f"{100.0 * value:.4g} %"


def _forget(value: str) -> str:
    return f"that forgets {_share(1.0 - float(value))} a round"


def _window(value: str) -> str:
    return f"that remembers {several(int(value), 'round')}"


def _floor(value: str) -> str:
    return f"which accepts {_share(float(value))} of what it rejects by chance"


def _trust(value: str) -> str:
    if float(value) == 0.0:
        return "with each band alone"
    known = "as certain" if math.isinf(float(value)) else f"at {number_text(float(value))} nats"
    return f"with the order taken {known}"


def _count(value: str) -> str:
    return "by rounds" if value == BY_ROUNDS else f"by {value}"


def _horizon(value: str) -> str:
    return f"up to round {number_text(int(value))}" if value else "up to the last round"


def _kappa(value: str) -> str:
    return f"expecting {number_text(float(value))} times the past"


def _clients(value: str) -> str:
    return f"for {several(round(float(value)), 'client')} a round"


# What follows the words of a policy; a parameter without its value is an empty text.
PARAMETERS: dict[str, Callable[[str], str]] = {
    "c": lambda value: f"with c = {value}",
    "inflate": lambda value: f"with time counted {value} times",
    "count": _count,
    "forget": _forget,
    "window": _window,
    "floor": _floor,
    "trust": _trust,
    "horizon": _horizon,
    "discount": lambda value: f"with a round later worth {_share(float(value))}",
    "kappa": _kappa,
    "risk": lambda value: f"at risk {value}",
    "clients": _clients,
}


def in_words(policy: Policy) -> str:
    """Describe a policy with its parameters in words.

    A policy of the user's own, for which there are no words, keeps its name.

    Parameters
    ----------
    policy : Policy
        A policy.

    Returns
    -------
    str
        A noun phrase that can begin a sentence's subject.
    """
    name, _, rest = str(policy).partition(":")
    if name not in POLICY_WORDS:
        return str(policy)
    said: list[str] = []
    for part in filter(None, rest.split(",")):
        key, _, value = part.partition("=")
        said.append(PARAMETERS[key](value) if key in PARAMETERS else f"with {part}")
    prior = getattr(policy, "prior", None)
    if prior is not None:
        said.append(f"with the prior {prior.kind}({prior.first:g}, {prior.second:g})")
    return " ".join([POLICY_WORDS[name], ", ".join(said)]) if said else POLICY_WORDS[name]
