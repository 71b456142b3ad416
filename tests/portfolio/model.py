"""Model of a portfolio in memory: an agent that gets one call after the other, and
dicts of the calls.

It shares nothing with `profitable.portfolio` but the values that callers pass.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import profitable as pb
from profitable.agent.correction import correct
from profitable.agent.state_parts import CLOCK_PART, EXTRAS_PART, SETTINGS_PART, part_of
from profitable.kernels.agent_table import AgentRow
from profitable.model.category import said_before

Numbers = dict[str, float | None]


@dataclass(frozen=True)
class Reported:
    """An outcome that counts, or (without a reward) one that was taken back."""

    said: pb.Outcome  # at first
    reward: float | None  # by now, as the others
    amount: float | None
    cost: float | None
    reported_in: int
    terms: pb.Category  # as they were then
    opened: pb.Client | None

    @property
    def numbers(self) -> Numbers:
        """The numbers that can be corrected."""
        return {"reward": self.reward, "amount": self.amount, "cost": self.cost}

    @staticmethod
    def after(before: Numbers, take_back: bool, right: dict[str, float]) -> Numbers:
        """Return the numbers after a correction."""
        return dict.fromkeys(before) if take_back else {**before, **right}

    @property
    def counted_in(self) -> int:
        """The round since which it counts, which may be that of maturity."""
        client = self.opened
        if client is None or client.matures is None or client.emerges not in (None, "at maturity"):
            return self.reported_in
        return max(self.reported_in, (client.decision or 0) + client.matures)


class Model:
    """An agent and what it was told."""

    def __init__(self, agent: pb.Agent, *, shadow: bool = False) -> None:
        self.agent = agent
        self.is_shadow = shadow
        self.was_shadow: dict[int, bool] = {}  # by round
        self.decisions: dict[str, tuple[dict[str, Any], pb.Decision]] = {}
        self.clients: dict[str, pb.Client] = {}
        self.outcomes: dict[str, Reported] = {}
        self.policies: list[tuple[int, pb.Policy]] = []  # those before, and until which round
        self.corrections: dict[str, list[Numbers]] = {}  # what each of them left, by id
        # Of corrections: the id, and what was before and after.
        self.keys: dict[str, tuple[str, Numbers, Numbers]] = {}
        self.settings: set[tuple[Any, ...]] = set()  # what was set, and in which round
        self.setting_keys: dict[str, tuple[Any, ...]] = {}

    def decide(self, key: str, **asked: Any) -> pb.Decision:
        """The decision of a key; ConflictError if the same key was asked for something
        else.
        """
        if key in self.decisions:
            before, decision = self.decisions[key]
            if before != asked:
                raise pb.errors.ConflictError("key", key, "was used", "give another")
            return decision
        decision = self.agent.decide(**asked)
        self.was_shadow[decision.round] = self.is_shadow
        self.decisions[key] = asked, decision
        return decision

    def set_policy(self, policy: str) -> None:
        """Let another policy decide."""
        before = self.agent.policy
        self.agent.set_policy(policy)
        self.policies.append((self.agent.round, before))

    def open(self, client: pb.Client) -> str:
        """Open a client; returns the status of the answer."""
        if client.decision is None:
            known = self.clients.get(client.id)
            client = replace(client, decision=self.agent.round if known is None else known.decision)
        if client.id in self.clients:
            return "known" if self.clients[client.id] == client else "refused"
        if client.id in self.outcomes or not self._was_accepted(
            client.category, client.decision or 0
        ):
            return "refused"
        late: dict[str, Any] = {}
        if client.matures is not None:
            late = {"accepted_in": client.decision, "matures": client.matures}
            late |= {"emerges": client.emerges, "promised": client.promised}
        try:
            self.agent.expect(client.category, 1, **late)
        except pb.errors.InputError:
            return "refused"
        self.clients[client.id] = client
        return "counted"

    def _was_accepted(self, category: str, round: int) -> bool:
        """Whether a client of a category can come from a round; of a shadow's,
        everybody can.
        """
        found = [decision for _, decision in self.decisions.values() if decision.round == round]
        return (
            bool(found)
            and category in self.agent
            and (self.was_shadow[round] or category in found[0].accepted)
        )

    def observe(self, outcome: pb.Outcome) -> str:
        """Report an outcome; returns the status of the answer."""
        known, opened = self.outcomes.get(outcome.id), self.clients.get(outcome.id)
        if known is not None:
            return "known" if self._is_again(outcome, known) else "refused"
        if outcome.category not in self.agent:
            return "refused"
        if opened is not None:
            if opened.category != outcome.category or outcome.decision not in (
                None,
                opened.decision,
            ):
                return "refused"
        elif outcome.decision is not None and not self._was_accepted(
            outcome.category, outcome.decision
        ):
            return "refused"
        money = {"costs": listed(outcome.cost), "amounts": listed(outcome.amount)}
        terms, trial = (
            self.agent.category(outcome.category),
            pb.Agent([self._bare(outcome)], policy=self.agent.policy),
        )
        try:
            trial.observe(outcome.category, [outcome.reward], **money)
        except pb.errors.InputError:
            return "refused"
        if opened is None:
            # So that it takes no place among those who were opened.
            self.agent.expect(outcome.category, 1)
        elif opened.matures is not None:
            money["accepted_in"] = opened.decision
        self.agent.observe(outcome.category, [outcome.reward], **money)
        decision = outcome.decision if opened is None else opened.decision
        numbers = (outcome.reward, outcome.amount, outcome.cost)
        said = replace(outcome, decision=decision)
        self.outcomes[outcome.id] = Reported(said, *numbers, self.agent.round, terms, opened)
        return "counted"

    def _bare(self, outcome: pb.Outcome) -> pb.Category:
        return self.agent.category(outcome.category)

    def _is_again(self, outcome: pb.Outcome, known: Reported) -> bool:
        if outcome.decision is None:
            outcome = replace(outcome, decision=known.said.decision)
        if outcome == known.said or known.reward is None:
            return outcome == known.said
        return outcome == replace(
            known.said,
            reward=known.reward,
            amount=known.amount,
            cost=known.cost,
            known=outcome.known,
        )

    def sets(self, *what: object, is_so: bool, key: str | None = None) -> str:
        """Note that something is set; returns the status of the answer, or raises a
        ConflictError.
        """
        if key is not None:
            if key in self.setting_keys and self.setting_keys[key] != what:
                raise pb.errors.ConflictError("key", key, "was used", "give another")
            known, self.setting_keys[key] = key in self.setting_keys, what
        else:
            known = is_so
            if not is_so and (self.agent.round, *what) in self.settings:
                raise pb.errors.ConflictError("setting", what, "was set so before", "give a key")
        if not known:
            self.settings.add((self.agent.round, *what))
        return "known" if known else "counted"

    def correct(
        self, id: str, *, take_back: bool = False, key: str | None = None, **right: float
    ) -> str:
        """Correct an outcome; returns the status of the answer, or raises an
        InputError.
        """
        if key in self.keys:
            first, before, after = self.keys[key]
            if (id, Reported.after(before, take_back, right)) != (first, after):
                raise pb.errors.ConflictError("key", key, "was used", "give another")
            return "known"
        if id not in self.outcomes:
            raise pb.errors.CorrectionError("id", id, "is unknown", "report it")
        known = self.outcomes[id]
        if known.reward is None:
            if take_back:
                return "known"
            raise pb.errors.CorrectionError("id", id, "was taken back", "report it again")
        numbers = Reported.after(known.numbers, take_back, right)
        after, earlier = replace(known, **numbers), self.corrections.setdefault(id, [])
        if key is None and after == known:
            return "known"
        if (
            key is None
            and any(right.items() <= each.items() for each in earlier[:-1])
            and not take_back
        ):
            raise pb.errors.ConflictError("id", id, "was corrected so before", "give a key")
        status = self._replace(id, known, after) if after != known else "counted"
        earlier.append(numbers)
        if key is not None:
            self.keys[key] = id, known.numbers, numbers
        return status

    def _replace(self, id: str, known: Reported, after: Reported) -> str:
        take_back = after.reward is None
        was = self._money(known, known)
        now = {} if take_back else self._money(after, known)
        numbers = {"was": was["rewards"], "was_costs": was["costs"], "was_amounts": was["amounts"]}
        numbers |= {
            "now": now.get("rewards"),
            "now_costs": now.get("costs"),
            "now_amounts": now.get("amounts"),
        }
        counted_in, weight = self._weight(known)
        accepted_in = (
            None if known.opened is None or known.opened.matures is None else known.opened.decision
        )
        name = known.said.category
        present, then = self.agent.category(name).threshold, known.terms.threshold
        self._set_threshold(name, then)  # a loan brings what it did then
        try:
            self._correct(name, counted_in, accepted_in, numbers, weight)
        finally:
            self._set_threshold(name, present)
        self.outcomes[id] = after
        return "counted"

    def _set_threshold(self, name: str, threshold: float) -> None:
        if self.agent.category(name).threshold != threshold:
            with said_before():
                self.agent.set_threshold(name, threshold)

    def _weight(self, known: Reported) -> tuple[int, float | None]:
        """Since when an outcome counts, and for what: round by round, under the policy
        that there was.
        """
        start = min(self.agent.round, known.counted_in)
        if all(until <= start for until, _ in self.policies):
            return start, None
        weight, since = 1.0, start
        for round in range(start, self.agent.round):
            here = [policy for until, policy in self.policies if until > round]
            policy = here[0] if here else self.agent.policy
            weight *= policy.forget
            moved = [until for until, _ in self.policies if until <= round]
            since = max([start, *moved])
            if policy.window is not None and round + 1 - since >= policy.window:
                weight = 0.0
        return max([start, *(until for until, _ in self.policies)]), weight

    def _correct(
        self,
        name: str,
        counted_in: int,
        accepted_in: int | None,
        numbers: dict[str, Any],
        weight: float | None,
    ) -> None:
        ledger = self.agent.ledger
        k = ledger.categories.position(name)
        if accepted_in is not None and ledger.cohorts.get(k, accepted_in) is None:
            accepted_in = None  # its cohort is complete
        was, now = (
            pb.Batch(
                rewards=numbers[each],
                costs=numbers[f"{each}_costs"],
                amounts=numbers[f"{each}_amounts"],
            )
            for each in ("was", "now")
        )
        wrong = replace(was, accepted_in=accepted_in)
        correct(ledger, k, wrong, None if numbers["now"] is None else now, counted_in, weight)

    def _money(self, numbers: Reported, known: Reported) -> dict[str, Any]:
        if known.terms.weight is not None:
            return {"rewards": [numbers.reward], "costs": None, "amounts": [numbers.amount or 1.0]}
        cost = known.terms.price if numbers.cost is None else numbers.cost
        return {"rewards": [numbers.reward], "costs": [cost], "amounts": None}


def listed(value: float | None) -> list[float] | None:
    return None if value is None else [value]


def assert_same(book: pb.Portfolio, agent: pb.Agent) -> None:
    """The portfolio's agent is the other one, to the last bit."""
    stored = book.agent
    mine, theirs = stored.ledger.table, agent.ledger.table
    differs = ~((mine == theirs) | (np.isnan(mine) & np.isnan(theirs)))
    found = {
        (AgentRow(row).name, k): (mine[row, k], theirs[row, k])
        for row, k in np.argwhere(differs).tolist()
    }
    assert not found, found
    for part in (SETTINGS_PART, CLOCK_PART, EXTRAS_PART):
        assert part_of(stored, part) == part_of(agent, part), part


def assert_same_decision(stored: pb.Decision, made: pb.Decision) -> None:
    """A stored decision equals the other one to the last bit, words included."""
    assert stored.round == made.round
    assert stored.names == made.names
    assert stored.policy == made.policy
    for name in ("evidence", "patience", "propensity", "accepted_mask"):
        mine, theirs = getattr(stored, name), getattr(made, name)
        assert np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f"), (name, mine, theirs)
    assert stored.granted == made.granted
    assert repr(stored.to_columns()["columns"]) == repr(made.to_columns()["columns"])
