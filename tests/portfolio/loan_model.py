"""Model of a portfolio that lends: as `model.py`, of loans and how they ended."""

import math
from dataclasses import dataclass, field
from typing import Any

import profitable as pb
from tests.portfolio.model import Model

ISSUED = "2024-01-08"
BEFORE = "2024-01-07"  # when no loan can have ended
DAYS = ("2024-06-03", "2024-07-01")


@dataclass
class Loan:
    """A loan with an outcome."""

    said: pb.LoanOutcome  # at first
    client: pb.Client
    counted_in: int  # the round in which its last end counts
    ends: list[dict[str, str]] = field(default_factory=list)  # empty where it was open again
    is_correction: list[bool] = field(default_factory=list)

    @property
    def end(self) -> dict[str, str]:
        return self.ends[-1]

    def was_corrected_so(self, end: dict[str, str]) -> bool:
        """Whether a correction before the last line says so."""
        earlier = zip(self.ends[:-1], self.is_correction[:-1], strict=True)
        return any(each == end and correction for each, correction in earlier)


class LoanModel(Model):
    """An agent that lends, and what it was told."""

    def __init__(self, agent: pb.Agent, *, shadow: bool = False) -> None:
        super().__init__(agent, shadow=shadow)
        self.asked: dict[int, set[tuple[str, int]]] = {}  # who asked, by round
        self.outcomes: dict[str, Loan] = {}  # type: ignore[assignment]
        self.loan_keys: dict[str, tuple[str, dict[str, str]]] = {}

    def decide(
        self, key: str, *, applicants: list[pb.Client] | None = None, **asked: Any
    ) -> pb.Decision:
        """The decision of a key, after quoting who asks; or a ConflictError."""
        wanted = {**asked, "applicants": applicants}
        if key in self.decisions:
            before, decision = self.decisions[key]
            if before != wanted:
                raise pb.errors.ConflictError("key", key, "was used", "give another")
            return decision
        rates: dict[tuple[str, int], list[float]] = {}
        for client in applicants or ():
            assert client.term is not None
            assert client.rate is not None
            rates.setdefault((client.category, client.term), []).append(client.rate)
        for (name, term), found in sorted(rates.items()):
            self.agent.quote(name, len(found), term=term, rate=math.fsum(found) / len(found))
        decision = self.agent.decide(**asked)
        self.asked[decision.round] = {*rates}
        self.was_shadow[decision.round] = self.is_shadow
        self.decisions[key] = wanted, decision
        return decision

    def open(self, client: pb.Client) -> str:
        """Open a loan; returns the status of the answer."""
        if client.id in self.clients:
            return "known" if self.clients[client.id] == client else "refused"
        round, term = client.decision or 0, client.term or 0
        if not self._was_accepted(client.category, round):
            return "refused"
        is_asked = (client.category, term) in self.asked[round]
        rate = None if is_asked else client.rate
        try:
            self.agent.expect(client.category, 1, accepted_in=round, term=term, rate=rate)
        except pb.errors.InputError:  # nobody knows the rate
            return "refused"
        self.clients[client.id] = client
        return "counted"

    def observe(self, outcome: pb.LoanOutcome) -> str:  # type: ignore[override]
        """Report how a loan stands; returns the status of the answer."""
        client, known = self.clients.get(outcome.id), self.outcomes.get(outcome.id)
        if client is None or outcome.category not in (None, client.category):
            return "refused"
        if known is not None and outcome.ended and outcome.ended in known.ends:
            return "known"
        if known is not None and known.end:
            return "refused"
        if not outcome.ended:
            return "still open"
        if not self._can_end(client, outcome.ended):
            return "refused"
        if known is None:
            known = Loan(outcome, client, self.agent.round)
            self.outcomes[outcome.id] = known
        self._end(known, outcome.ended)
        return "counted"

    def _can_end(self, client: pb.Client, end: dict[str, str]) -> bool:
        """Whether a loan can have ended on that day; without `issued`, only today."""
        return client.issued is not None and all(day >= str(client.issued) for day in end.values())

    def _end(self, loan: Loan, end: dict[str, str]) -> None:
        """Book the end of a loan that is open, in this round."""
        client, loan.counted_in = loan.client, self.agent.round
        self.agent.observe(
            client.category,
            **dict.fromkeys(end, 1),  # type: ignore[arg-type]
            accepted_in=client.decision,
            term=client.term,
        )
        loan.is_correction.append(bool(loan.ends))
        loan.ends.append(end)

    def correct(  # type: ignore[override]
        self, id: str, *, take_back: bool = False, key: str | None = None, **right: str
    ) -> str:
        """Correct how a loan ended; returns the status, or raises an InputError."""
        assert take_back != bool(right)
        if key in self.loan_keys:
            if self.loan_keys[key] != (id, right):
                raise pb.errors.ConflictError("key", key, "was used", "give another")
            return "known"
        if id not in self.outcomes:
            raise pb.errors.CorrectionError("id", id, "is unknown", "report it")
        loan = self.outcomes[id]
        if key is None and right == loan.end:
            return "known"
        if key is None and loan.was_corrected_so(right):
            raise pb.errors.ConflictError("id", id, "was corrected so before", "give a key")
        if not self._can_end(loan.client, right):
            raise pb.errors.ParameterError("day", right, "is too early", "correct the day")
        self._replace_end(loan, right)
        if key is not None:
            self.loan_keys[key] = id, right
        return "counted"

    def _replace_end(self, loan: Loan, right: dict[str, str]) -> None:
        was, now = (next(iter(each), None) for each in (loan.end, right))
        if was is None and now is not None:
            self._end(loan, right)
            return
        if was is None:
            loan.counted_in = self.agent.round
        elif was != now:
            client = loan.client
            self.agent.correct(
                client.category,
                was=was,  # type: ignore[arg-type]
                now=now,  # type: ignore[arg-type]
                counted_in=loan.counted_in,
                accepted_in=client.decision,
                term=client.term,
            )
        loan.ends.append(right)
        loan.is_correction.append(True)
