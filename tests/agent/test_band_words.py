"""What is said of bands: the cut-off, and why each is accepted or refused."""

import pytest

import profitable as pb
from profitable.agent.decision import Decision

EDGES = range(540, 700, 20)
NAMES = [f"{edge}-{edge + 20}" for edge in EDGES]


def loan(name: str) -> pb.Category:
    return pb.Category.loan(name, amount=1_000, rate=3 / 17, order="score")


def decided(
    repaid: dict[str, tuple[int, int]], policy: str = "kl-ucb", rounds: int = 30
) -> Decision:
    """The decision after so many rounds, and repaid loans of all: (repaid, clients)."""
    agent = pb.Agent([loan(name) for name in repaid], policy=policy, seed=1)
    for name, (good, number) in repaid.items():
        if number:
            agent.observe(name, count=number, total=good)
    for _ in range(rounds):
        agent.decide()
    return agent.decide()


def test_the_cut_off_is_printed() -> None:
    decision = decided(
        {
            "540-560": (300, 300),
            "560-580": (30, 60),
            "580-600": (40, 60),
            "600-620": (49, 60),
            "620-640": (56, 60),
            "640-660": (58, 60),
        }
    )
    said = "score: accepted from 620 up; testing 600-620; 540-560 left the order"
    assert decision.cut_offs == (said,)
    assert str(decision).endswith(said)
    assert said in decision._repr_html_()
    assert decision["540-560"].reason.endswith("it left the order 'score' and is judged alone")
    assert decision.rejected == ("560-580", "580-600")


def test_bands_refused_together_say_so() -> None:
    decision = decided(
        {"560-580": (7, 9), "580-600": (14, 22), "600-620": (20, 29), "620-640": (9, 9)},
        "kl-ucb:trust=inf",
    )
    assert decision["560-580"].reason == (
        "refused: together with bands 580-600 and 600-620, which did no better, 41 of 60 repaid "
        "against a break-even of 0.85; evidence 5.25 nats, patience 3.4; its own 9 clients alone "
        "would not decide it"
    )
    assert decision["560-580"].order == "score"
    assert decision["560-580"].next_round is None
    assert "skipped for good" not in str(decision)
    assert decision["620-640"].reason == (
        "accepted: the mean of its 9 clients is not below the threshold"
    )


def test_a_band_below_its_threshold_may_have_better_ones_below_it() -> None:
    decision = decided({"560-580": (60, 60), "580-600": (4, 5)}, "kl-ucb:trust=inf")
    assert decision["580-600"].reason == (
        "accepted: the mean of its 5 clients is below the threshold, but bands below it did better"
    )


def test_a_band_without_clients_is_refused_by_others() -> None:
    decision = decided({"560-580": (0, 0), "580-600": (20, 60)}, "kl-ucb:trust=inf")
    assert decision["560-580"].reason == (
        "refused: together with band 580-600, which did no better, 20 of 60 repaid against a "
        "break-even of 0.85; evidence 40.9 nats, patience 3.4; it has no clients of its own"
    )
    assert decision.cut_offs == ("score: no band is accepted",)


def test_other_rewards_and_policies_have_their_words() -> None:
    bands = [
        pb.Category(name, pb.Poisson(), threshold=2.0, order="grade") for name in ("C", "B", "A")
    ]
    agent = pb.Agent(bands, policy="optimal:horizon=90,trust=inf")
    agent.observe({"C": [0, 1, 0, 1, 1], "B": [1, 1, 0, 1, 1, 1], "A": [4, 3, 5]})
    for _ in range(20):
        agent.decide()
    reason = agent.decide()["C"].reason
    assert reason.startswith(
        "refused: together with band B, which did no better, a mean of 0.7273 from 11 clients "
        "against a threshold of 2; P(profitable) is "
    )
    said = agent.explain("C")
    assert "nats of its own, " in said
    assert "under the order 'grade'." in said
    assert "Cut-off: grade: accepted from A up." in said
    assert said.endswith("not known: that depends on the other bands, too.")
    assert "not known: that depends" not in agent.explain("A")


@pytest.mark.parametrize("policy", ["ts", "ts:trust=inf"])
def test_thompson_sampling_may_accept_a_band_in_every_round(policy: str) -> None:
    decision = decided({"560-580": (2, 9), "580-600": (14, 22), "600-620": (58, 60)}, policy)
    verdict = decision["560-580"]
    assert "this round accepted it with probability" in verdict.reason
    assert verdict.next_round == decision.round + 1
    assert verdict.propensity == pytest.approx(2.718281828459045**-verdict.evidence)


def test_long_lists_are_ranges() -> None:
    decision = decided(dict.fromkeys(NAMES, (7, 10)), "kl-ucb:trust=inf", rounds=15)
    assert decision.cut_offs == ("score: testing 640-660 to 680-700",)
