"""How do amounts, rates and recoveries become decisions?

A lender describes each segment in money. The package computes the share of loans that
must be repaid, and reports profit in money as outcomes arrive.
"""

import profitable as pb

segments = [
    pb.Category.loan("cars", amount=12_000, rate=0.08, recovery=0.5),
    pb.Category.loan("students", amount=3_000, rate=0.14),
    pb.Category.returns("cards", required=0.05, high=1.3),  # money back per unit lent
]
for each in segments:
    print(f"{each.name}: lending pays if the mean is above {each.threshold:.4f}")

agent = pb.Agent(segments, policy=pb.BayesUCB(inflate=10))
agent.decide()
agent.expect({"cars": 40, "students": 60, "cards": 5})  # accepted; outcomes come later

agent.observe("cars", [1, 1, 1, 1], costs=[9_000, 15_000, 12_500, 11_000])
agent.observe("students", count=30, total=24)
agent.observe("cards", [1.12, 0.40, 1.09, 1.15], amounts=[500, 800, 1_200, 300])

# Segments with an expected profit come first; a tenth of the budget is for learning.
decision = agent.decide(budget=200_000, demand={"cars": 20, "students": 30, "cards": 90})
print(decision)
print()
print(agent)
