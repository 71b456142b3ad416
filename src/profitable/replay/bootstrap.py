"""The paired bootstrap: the same clients, each of them there as often as a Poisson number says, for all policies.

A policy is replayed anew on each such portfolio, and compared with accepting everybody in the same portfolio.  So the
interval is about the difference over new portfolios of the same law, and what both have in common drops out.

The weights of a replicate depend on the seed and its number alone.
"""

import numpy as np

from profitable.common.types import IntArray
from profitable.replay.clients import Clients
from profitable.replay.crowd import Crowd, SmallInts
from profitable.replay.off_policy import Log

WEIGHTS, ORDER = 3, 5  # name the random streams of the weights, and of the order


def weights_of(clients: Crowd, log: Log | None, seed: int, replicate: int) -> IntArray:
    """How often each client, or each cell of clients, is there in a replicate, [n].

    >>> clients = Clients.of(
    ...     names=("a",), labels=("1",), round=[1] * 8, category=[0] * 8, known=[1] * 8, reward=[1] * 8, profit=[1] * 8
    ... )
    >>> weights_of(clients, None, seed=1, replicate=0).tolist()
    [0, 0, 2, 0, 1, 1, 2, 1]
    """
    generator = np.random.default_rng([seed, WEIGHTS, replicate])
    return clients.draw_weights(generator) if log is None else log.draw_weights(generator).astype(np.int64, copy=False)


def shuffled(clients: Clients, seed: int, number: int) -> Clients:
    """The same clients in an order drawn by lot: rounds are dealt out anew, and each keeps its delay."""
    order = np.random.default_rng([seed, ORDER, number]).permutation(len(clients))
    rounds = clients.round[order]
    delay = clients.known.astype(np.int64) - clients.round
    last: SmallInts = np.minimum(rounds + delay, np.iinfo(np.int32).max).astype(np.int32)
    more = {name: getattr(clients, name) for name in ("amount", "promised", "score", "logged", "propensity")}
    return Clients.of(
        names=clients.names,
        labels=clients.labels,
        round=rounds,
        category=clients.category,
        known=last,
        reward=clients.reward,
        profit=clients.profit,
        **more,
    )
