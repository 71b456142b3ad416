"""How fast should a policy forget, if segments change every n rounds?

A study simulates a grid of policies and parameters in several worlds. Weak settings get
few runs. The result is the best setting of each world, with its uncertainty.
"""

import profitable as pb

segment = {
    "name": "segment",
    "family": "bernoulli",
    "threshold": 0.5,
    "mean": {"alternates": [0.6, 0.4], "every": "n"},  # profitable and unprofitable in turn
    "clients": 5,
}
question = pb.Study(
    "how much to forget",
    scenario={"category": [segment]},
    policies=["ts", "ts:forget={forget}"],
    axes={"n": [50, 500], "forget": [0.9, 0.97, 0.99]},
    horizon=2_000,
    runs=200,
)
print(pb.study(question))
