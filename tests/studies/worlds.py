"""Small studies for the tests."""

SMALL = """
name = "small"
horizon = 300
runs = 400
seed = 3
policies = ["ts", "kl-gaussian-ucb", "kl-ucb:c={c}", "optimal:horizon={horizon},risk={risk}"]

[axes]
gap = [0.05, 0.1]
c = [0, 3]
risk = [1, 0.3]

[[scenario.category]]
name = "good"
family = "bernoulli"
threshold = 0.5
mean = "0.5 + gap"
clients = 2

[[scenario.category]]
name = "bad"
family = "bernoulli"
threshold = 0.5
mean = "0.5 - gap"
clients = { law = "one-plus-poisson", rate = "2 * gap" }
"""
