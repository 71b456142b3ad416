"""Is my own rule better than those of the package?

Your own policy is a class with a name and an index. It is simulated in the same world
as the others. `seen` holds arrays with one entry per run, so one NumPy expression
decides for all runs.
"""

import numpy as np
from numpy.typing import NDArray

import profitable as pb


class Hoeffding:
    """Accept while an upper confidence bound of the mean reaches the threshold."""

    name = "hoeffding"

    def index(self, category: pb.Category, seen: pb.Seen, t: int) -> NDArray[np.float64]:
        """Return the upper confidence bound in each run."""
        return seen.mean + np.sqrt(np.log(t) / (2 * seen.clients))


world = pb.Scenario(
    "two offers",
    [
        pb.Truth(pb.Category("good", pb.Bernoulli(), threshold=0.2), mean=0.3, clients=5),
        pb.Truth(pb.Category("bad", pb.Bernoulli(), threshold=0.2), mean=0.1, clients=5),
    ],
)
result = pb.simulate(world, [Hoeffding(), "kl-ucb", "ts"], horizon=2_000, runs=200, seed=1)
print(result)

more, error = result.difference("hoeffding", "kl-ucb")
print(f"It loses {more[-1]:.1f} ± {error[-1]:.1f} more than kl-UCB over 2 000 rounds.")
