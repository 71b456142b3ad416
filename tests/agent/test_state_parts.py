"""The parts of an agent that a database stores: reading leaves every bit as it is."""

from collections.abc import Callable

import numpy as np
import pytest

import profitable as pb
from profitable.agent.state_parts import COLUMN_PART, WHOLE_PARTS, part_of

READS: dict[str, Callable[[pb.Agent], object]] = {
    "standing": lambda agent: [agent[name] for name in agent.names],
    "explain": lambda agent: [agent.explain(name) for name in agent.names],
    "print": lambda agent: (str(agent), repr(agent), agent._repr_html_()),
    "frame": lambda agent: agent.to_frame(),
    "plot": lambda agent: agent.plot(),
    "preview": lambda agent: agent.preview().to_json(),
    "money": lambda agent: (agent.profit, agent.waiting, agent.memory),
}


def used(policy: str) -> pb.Agent:
    """An agent with outcomes, cohorts and a floor of evidence that has aged."""
    categories = [
        pb.Category("students", pb.Bernoulli(), threshold=0.4),
        pb.Category("shops", pb.Bernoulli(), threshold=0.6),
        pb.Category.loan("cars", amount=1_000, rate=0.12),
        pb.Category.returns("cards", required=0.05),
    ]
    agent, rng = pb.Agent(categories, policy=policy, seed=3), np.random.default_rng(5)
    for turn in range(12):
        decision = agent.decide()
        for name in decision.accepted:
            agent.observe(name, (rng.random(3) < 0.5).astype(float))
        if turn == 4:
            agent.expect("cars", 5, matures=20)
            agent.observe("cars", [1, 0], accepted_in=agent.round)
    return agent


def stored(agent: pb.Agent) -> list[bytes]:
    columns = [part_of(agent, COLUMN_PART, k) for k in range(len(agent))]
    return [*(part_of(agent, part) for part in WHOLE_PARTS), *columns]


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize(
    "policy",
    ["kl-ucb", "ts:forget=0.9", "bayes-ucb:forget=0.9", "kl-emp-ucb:forget=0.8", "ucb-v:window=4"],
)
def test_reading_changes_no_bit_of_what_is_stored(policy: str, read: str) -> None:
    agent, twin = used(policy), used(policy)
    before = stored(agent)
    READS[read](agent)
    assert stored(agent) == before
    assert agent.decide().to_json() == twin.decide().to_json()


def test_a_decision_never_changes() -> None:
    """Evidence that a bound settled is computed apart, and arrays are read-only."""
    agent = used("ts:forget=0.9")
    decision = agent.decide(places=3, demand=dict.fromkeys(agent.names, 2))
    table = decision._table.copy()
    text = decision.to_json()
    arrays = (decision.evidence, decision.patience, decision.propensity, decision.accepted_mask)
    for array in (*arrays, decision.paused_mask, decision.granted_clients):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    for name in agent.names:
        agent.observe(name, [1, 0])
    agent.decide()
    assert (decision._table == table).all()
    assert decision.to_json() == text
