"""Which segments should I accept this month?

A shop can send letters to three groups of clients. A letter costs 1 and an order brings
8, so letters pay if more than 1 client in 8 orders.
"""

import profitable as pb

agent = pb.Agent(
    [pb.Category.offer(name, cost=1, revenue=8) for name in ("new", "regular", "lapsed")],
    policy=pb.KLUCB(),
)

print("Nothing is known yet, so round 1 accepts every group:", agent.decide().accepted)

agent.observe("new", count=200, total=19)  # 19 of 200 letters brought an order
agent.observe("regular", count=150, total=36)
agent.observe("lapsed", count=100, total=4)

decision = agent.decide()
print(decision)
print()
print(agent.explain("lapsed"))
