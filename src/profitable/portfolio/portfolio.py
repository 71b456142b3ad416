"""Portfolio: an agent in a database.  What is acknowledged is stored, and counts exactly once."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Self

import sqlalchemy as sa

from profitable.agent.agent import Agent
from profitable.agent.one_at_a_time import alone
from profitable.agent.state_file import record_of, text_of
from profitable.common import check
from profitable.errors import ConflictError, InputError, ParameterError
from profitable.kernels.agent_table import Row
from profitable.model.category import Category
from profitable.policy.policies import Policy
from profitable.portfolio.explain import explanation
from profitable.portfolio.heads import HeadsFile
from profitable.portfolio.history import Asked, apply, decide, reinstate
from profitable.portfolio.intake import Intake, unstorable
from profitable.portfolio.journal import CHANGE, CORRECT, CREATE, DECIDE, Line, forms_in, intact, named, one
from profitable.portfolio.log import Log, conditions, newest, story
from profitable.portfolio.new_store import make_store
from profitable.portfolio.outcome import Answer, Client, Outcome, Receipt, check_names, text
from profitable.portfolio.policy_text import category_record, policy_record
from profitable.portfolio.recorded import RecordedDecision, as_text
from profitable.portfolio.reinstated import Told
from profitable.portfolio.session import Session, Writing, actor_of, now
from profitable.portfolio.setting import Setting
from profitable.portfolio.status import Status, status_columns
from profitable.portfolio.store import WAIT
from profitable.portfolio.tables import journal
from profitable.portfolio.verify import Progress, Verification, Verifier
from profitable.version import VERSION

BATCH = 2_000  # rows that are stored in one transaction


class Undone(Exception):
    """Leave a transaction without storing anything."""


class Portfolio(Session):
    """Categories, a policy, and a journal of decisions and outcomes, in a file or in PostgreSQL.

    >>> import profitable as pb, tempfile
    >>> from pathlib import Path
    >>> where = Path(tempfile.mkdtemp()) / "lending.db"
    >>> categories = [pb.Category(name, pb.Bernoulli(), threshold=0.5) for name in ("students", "shops")]
    >>> book = pb.Portfolio.create(where, categories, policy="kl-ucb", seed=7)
    >>> decision = book.decide(key="2026-11-16")  # stored before it is returned; the same key gives the same decision
    >>> decision.accepted
    ('students', 'shops')
    >>> outcomes = [pb.Outcome(f"loan-{i}", "students", reward=0, decision=1) for i in range(8)]
    >>> print(book.observe(outcomes))
    8 rows: 8 counted
    >>> print(book.observe(outcomes))  # the same job once more
    8 rows: 8 known already
    >>> book.decide(key="2026-11-17").accepted, book.decide(key="2026-11-16").accepted
    (('shops',), ('students', 'shops'))
    >>> book.verify().is_clean
    True
    """

    @classmethod
    def create(
        cls,
        where: str | Path,
        categories: Iterable[Category] | None = None,
        *,
        policy: Policy | str | None = None,
        seed: int | None = None,
        agent: Agent | None = None,
        name: str | None = None,
        shadow: bool = False,
        actor: str | None = None,
        wait: float = WAIT,
    ) -> Self:
        """Make a new portfolio of some categories and a policy, or of an `agent` with all that it knows.

        A *shadow* decides and stores like any other, but is marked: nobody acts on its decisions.
        """
        if (agent is None) == (categories is None):
            problem = "is given beside an agent" if agent is not None else "is missing"
            raise ParameterError("categories", categories, problem, "give categories and a policy, or agent=")
        if agent is None:
            if policy is None:
                raise ParameterError("policy", None, "is missing", 'give one, such as policy="ts"')
            agent = Agent(categories or (), policy=policy, seed=seed)
        elif policy is not None or seed is not None:
            given = "policy" if policy is not None else "seed"
            raise ParameterError(given, policy or seed, "is given beside an agent, which has its own", "leave it out")
        check_names(agent.names)
        actor = actor_of(actor)
        content = {"name": "" if name is None else text("name", name), "shadow": bool(shadow)}
        content["agent"] = text_of(record_of(agent))
        first = Line(1, now(), actor, VERSION, CREATE, round=agent.round, body=as_text(content))
        make_store(where, first, wait)
        return cls(where, actor=actor, wait=wait)

    # ------------------------------------------------------------------------------------------ looking

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self.agent.policy

    @property
    def round(self) -> int:
        """The number of rounds decided so far."""
        return self.agent.round

    @property
    def names(self) -> tuple[str, ...]:
        """The categories, in the order they were added."""
        return self.agent.names

    @property
    def agent(self) -> Agent:
        """A copy of the agent as it is now, to look at or to try things with; the portfolio does not change."""
        with self._reading() as (_, agent):
            return copy.copy(agent)

    @alone
    def status(self) -> Status:
        """Where the portfolio stands: clients, means, profit, evidence and patience of each category."""
        with self._reading() as (_, agent):
            about = (self.where, self.name, self._shadow[-1][1], str(agent.policy), agent.round, self._head)
            return Status(*about, status_columns(agent))

    @alone
    def explain(self, category: str, *, round: int | None = None, key: str | None = None) -> str:
        """What is known about a category now or, with a round or its key, why it was accepted or refused then."""
        with self._reading() as (connection, agent):
            if round is None and key is None:
                return agent.explain(category)
            agent.category(category)  # which must be there
            return explanation(connection, self._recorded(self._decided(connection, round, key), agent), category)

    @alone
    def log(
        self,
        *,
        since: str | date | None = None,
        until: str | date | None = None,
        category: str | None = None,
        kind: str | None = None,
        id: str | None = None,
        limit: int | None = None,
    ) -> Log:
        """The lines of the journal, or the newest of them; of a time, a category, a kind, a client or a key."""
        with self._reading() as (connection, agent):
            if category is not None:
                agent.category(category)  # which must be there
            chosen = conditions(since=since, until=until, category=category, kind=kind)
            if id is None:
                return Log(newest(connection, chosen, limit))
            if chosen:
                raise ParameterError("id", id, "is given beside other filters", "leave them out")
            return Log(story(connection, id))

    @alone
    def verify(
        self,
        *,
        head: str | None = None,
        heads: str | Path | None = None,
        sign: str | Path | None = None,
        public_key: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Verification:
        """Recompute everything from the journal, and look for lines that were changed, removed or put in between.

        `head` is the hash of a line that was kept elsewhere: it also shows whether lines were cut off at the end, or
        all of them rewritten since.  `heads` is a file of them: all are compared and, if nothing is found, the head
        of now is added.  `sign` is a private key (Ed25519, PEM) to sign it with.  With `public_key`, signatures are
        checked, and nothing is added.  `progress` is called with the number of lines done.
        """
        kept = None if heads is None else HeadsFile(heads, sign=sign, public_key=public_key)
        found = Verifier(self._store, head, progress).run()
        return found if kept is None else kept.keep(found, self._store)

    # ------------------------------------------------------------------------------------------ deciding

    @alone
    def decide(
        self,
        *,
        key: str,
        available: Iterable[str] | None = None,
        budget: float | None = None,
        places: int | None = None,
        demand: Mapping[str, int] | None = None,
        explore: float | None = None,
    ) -> RecordedDecision:
        """Decide the next round, and store it; the same key gives the decision that was made for it before.

        The key is yours: the day, for a job that runs daily.  The other options are those of `Agent.decide`.
        """
        key = text("key", key)
        asked = Asked.read(available, budget, places, demand, explore)
        with self._writing() as writing:
            found = named(writing.connection, DECIDE, key)
            if found is None:
                body = decide(writing.agent, asked)
                found = writing.add(writing.new(DECIDE, id=key, body=body))
                writing.passed = True
            else:
                self._check_asked(intact(writing.connection, found), asked)
            return self._recorded(found, writing.agent)

    def _check_asked(self, line: Line, asked: Asked) -> None:
        before = {name: value for name, value in line.content["asked"].items() if name != "limit"}
        wanted = asked.to_dict()
        for name in Asked._fields:
            if before.get(name) != wanted.get(name):
                problem = f"belongs to round {line.round}, which was decided with {name} = {before.get(name)!r}"
                raise ConflictError("key", line.id, problem, f"ask for the same, or give another key, not {name}")

    def _recorded(self, line: Line, agent: Agent) -> RecordedDecision:
        is_shadow = self._was_shadow(line.line)
        return RecordedDecision(line, agent._ledger.categories, is_shadow=is_shadow, origin=self.origin)

    @alone
    def reinstate(self, decision: str | bytes) -> RecordedDecision:
        """Put back a decision that was acted on and is missing here, because an earlier backup was restored.

        `decision` is its JSON, as `RecordedDecision.to_json` and `profitable decide --json` have written it.  It must
        be the next round, and the settings must be as they were.  One that is here already is acknowledged again.
        """
        told = Told.read(decision)
        told.check_origin(self.origin)
        with self._writing() as writing, told.read_as_decision():
            found = named(writing.connection, DECIDE, told.key)
            if found is None:
                found = writing.new(DECIDE, id=told.key, round=told.head["round"], body=told.body())
                told.check_fits(writing.agent, self._recorded(found, writing.agent))
                reinstate(writing.agent, found)
                writing.add(found)
                writing.passed = True
            else:
                told.check_same(intact(writing.connection, found))
            return self._recorded(found, writing.agent)

    @alone
    def decision(self, round: int | None = None, *, key: str | None = None) -> RecordedDecision:
        """A decision that was made before: that of a round or of a key, the latest one unless given."""
        with self._reading() as (connection, agent):
            return self._recorded(self._decided(connection, round, key), agent)

    def _decided(self, connection: sa.Connection, round: int | None, key: str | None) -> Line:
        """The line of a decision."""
        chosen = [journal.c.kind == DECIDE]
        if round is not None:
            chosen.append(journal.c.round == min(max(round, -1), check.MOST))  # which every database can compare
        if key is not None:
            chosen.append(journal.c.id.in_(forms_in(connection, key)))
        if (found := one(connection, *chosen)) is None:
            latest = one(connection, journal.c.kind == DECIDE)
            remedy = f"the latest is round {latest.round}, key {latest.id!r}" if latest else "decide a round first"
            field, value = ("round", round) if key is None else ("key", key)
            raise InputError(field, value, "was not decided here", remedy)
        return intact(connection, found)

    # ------------------------------------------------------------------------------------------ learning

    @alone
    def open(self, clients: Iterable[Client], *, all_or_nothing: bool = False, dry_run: bool = False) -> Receipt:
        """Say who was accepted, so that outcomes which come late count as `Agent.expect` says.

        An id that is open already, with the same content, is acknowledged again.  The options are those of `observe`.
        """
        return self._take(list(clients), Client, all_or_nothing, dry_run)

    @alone
    def observe(self, outcomes: Iterable[Outcome], *, all_or_nothing: bool = False, dry_run: bool = False) -> Receipt:
        """Report outcomes, whenever they are known; each id counts exactly once.

        The receipt has an answer for each of them.  What is wrong is refused, and the others count; with
        `all_or_nothing`, nothing counts if one of them is wrong.  With `dry_run`, nothing is stored in any case, and
        the receipt says what would happen.
        """
        return self._take(list(outcomes), Outcome, all_or_nothing, dry_run)

    def _take(
        self, rows: Sequence[Outcome | Client], kind: type[Outcome | Client], all_or_nothing: bool, dry_run: bool
    ) -> Receipt:
        for row in rows:
            if not isinstance(row, kind):
                remedy = f"give profitable.{kind.__name__}(...)"
                raise ParameterError("rows", row, f"is no {kind.__name__.lower()}", remedy)
        answers: list[Answer] = []
        size = len(rows) if all_or_nothing or dry_run else BATCH
        for start in range(0, len(rows), max(1, size)):
            answers += self._take_some(rows[start : start + size], all_or_nothing, dry_run)
        return Receipt(tuple(answers), is_trial=dry_run)

    def _take_some(self, rows: Sequence[Outcome | Client], all_or_nothing: bool, dry_run: bool) -> list[Answer]:
        answers: list[Answer] = []
        refused = False
        unfit = unstorable(rows, self._store.codec)
        sent = [row for place, row in enumerate(rows) if place not in unfit]
        try:
            with self._writing(sent) as writing:
                answers = Intake(writing, was_shadow=self._was_shadow, accepted=self._accepted).take(sent)
                for place, answer in sorted(unfit.items()):
                    answers.insert(place, answer)
                refused = any(answer.status == "refused" for answer in answers)
                if dry_run or (all_or_nothing and refused):
                    raise Undone
        except Undone:
            if all_or_nothing and refused:
                why = "another row was refused"
                answers = [Answer(each.id, "left out", why) if each.status == "counted" else each for each in answers]
            answers = [Answer(each.id, each.status, each.why) for each in answers]  # lines that were not stored
        return answers

    @alone
    def correct(
        self,
        id: str,
        *,
        reward: float | None = None,
        amount: float | None = None,
        cost: float | None = None,
        take_back: bool = False,
        reason: str | None = None,
        key: str | None = None,
    ) -> Answer:
        """Replace an outcome that was reported wrongly, or take it back; what was said before stays in the journal.

        What is not given stays as it was.  The same key and content are acknowledged again, whatever was corrected
        since.  Without a key, a correction that changes nothing is acknowledged and not stored, and one that the same
        actor made before and that was corrected since is refused: it may be the old one, sent again.
        """
        from profitable.portfolio.correction import Wanted, correction

        wanted = Wanted.read(id, {"reward": reward, "amount": amount, "cost": cost}, take_back, reason, key)
        with self._writing() as writing:
            fields = correction(writing.connection, writing.agent, wanted, self.actor)
            if isinstance(fields, Answer):
                return fields
            line = writing.new(CORRECT, **fields)
            writing.touched |= apply(writing.agent, line)
            return Answer(id, "counted", line=writing.add(line).line)

    # ------------------------------------------------------------------------------------------ changing

    # The same key, for the same change, is acknowledged again, whatever was changed since.  Without a key, what is so
    # already is acknowledged and not stored, and what the same actor set in the same round before is refused if it was
    # changed since: it may be the old one, sent again.

    @alone
    def set_threshold(self, name: str, threshold: float, *, key: str | None = None) -> Answer:
        """Change a threshold because costs changed; past outcomes keep counting, against the new threshold."""
        with self._writing() as writing:
            category = writing.agent.category(name)
            changed = category.with_threshold(threshold)
            return self._change(writing, Setting("threshold", category.threshold, changed.threshold, name), key)

    @alone
    def pause(self, name: str, *, key: str | None = None) -> Answer:
        """Do not accept a category until it is resumed; outcomes still count."""
        return self._set_paused(name, True, key)

    @alone
    def resume(self, name: str, *, key: str | None = None) -> Answer:
        """Let a paused category be accepted again."""
        return self._set_paused(name, False, key)

    def _set_paused(self, name: str, paused: bool, key: str | None) -> Answer:
        with self._writing() as writing:
            ledger = writing.agent._ledger
            is_paused = bool(ledger.table[Row.PAUSED, ledger.categories.position(name)])
            return self._change(writing, Setting("paused", is_paused, paused, name), key)

    @alone
    def set_policy(self, policy: Policy | str, *, key: str | None = None) -> Answer:
        """Let another policy decide from the next round on; past outcomes and rounds keep counting."""
        with self._writing() as writing:
            before, after = policy_record(writing.agent.policy), policy_record(Policy.of(policy))
            return self._change(writing, Setting("policy", before, after), key)

    @alone
    def add_category(self, *categories: Category) -> None:
        """Add categories: they are accepted until an outcome (or an informative prior) speaks against them.

        One that was added before with the same terms is left as it is.
        """
        with self._writing() as writing:
            for category in categories:
                if not isinstance(category, Category):
                    raise ParameterError("category", category, "is not a category", "give profitable.Category(...)")
                check_names([category.name], known=writing.agent.names)
                new = Setting("category", None, category_record(category), category.name)
                if not (category.name in writing.agent and new.was_added(writing.connection)):
                    self._change(writing, new, None)

    @alone
    def set_shadow(self, shadow: bool, *, key: str | None = None) -> Answer:
        """Say whether this portfolio is a shadow, whose decisions nobody acts on."""
        with self._writing() as writing:
            answer = self._change(writing, Setting("shadow", self._shadow[-1][1], bool(shadow)), key)
            changed = [(line.line, bool(shadow)) for line in writing.lines]
        self._shadow += changed
        return answer

    def _change(self, writing: Writing, wanted: Setting, key: str | None) -> Answer:
        key = None if key is None else text("key", key)
        answer = wanted.answer(writing.connection, key=key, actor=self.actor, round=writing.agent.round)
        if answer is not None:
            return answer
        line = writing.new(CHANGE, id=key, category=wanted.category, body=wanted.body)
        apply(writing.agent, line)
        writing.changed = True
        return Answer(wanted.title, "counted", line=writing.add(line).line)

    def __repr__(self) -> str:
        shadow = ", a shadow" if self.is_shadow else ""
        return f"<Portfolio {self.where}: {self.policy}, {len(self.names)} categories, {self.round} rounds{shadow}>"
