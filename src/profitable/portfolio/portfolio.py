"""Portfolio: an agent in a database, with a journal of all that happened."""

import copy
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Self

import sqlalchemy as sa

from profitable.agent.agent import Agent
from profitable.agent.band_words import on_top
from profitable.agent.locking import alone
from profitable.agent.state_file import record_of, text_of
from profitable.common import check
from profitable.common.extras import extra
from profitable.errors import ConflictError, InputError, ParameterError, ProfitableWarning
from profitable.model.category import Category
from profitable.model.lending import Lending
from profitable.policy.policies import Policy
from profitable.portfolio.amendments import CorrectionRequest, SettingChange, correction
from profitable.portfolio.heads import HeadsFile
from profitable.portfolio.history import DecisionRequest, apply, decide, reinstate
from profitable.portfolio.journal import Line, forms_in, intact, journal, journal_lines, named, one
from profitable.portfolio.loans import applicants_of, history_of
from profitable.portfolio.new_store import make_store
from profitable.portfolio.outcome import Client, LoanOutcome, Outcome, PortfolioAnswer, Receipt
from profitable.portfolio.portfolio_reading import (
    JournalExtract,
    Status,
    chosen_lines,
    explanation,
    status_columns,
)
from profitable.portfolio.portfolio_settings import category_record, policy_record
from profitable.portfolio.row_intake import Intake, Row, unstorable
from profitable.portfolio.session import Session, Writing, actor_of, now
from profitable.portfolio.spelling import check_names, checked_text
from profitable.portfolio.store import WAIT
from profitable.portfolio.stored_decision import DecisionFile, RecordedDecision, as_text
from profitable.portfolio.verify import Progress, Verification, Verifier
from profitable.version import VERSION

if TYPE_CHECKING:
    from altair import VConcatChart

BATCH = 2_000  # rows that are stored in one transaction


class Undone(Exception):
    """Leave a transaction without storing anything."""


class Portfolio(Session):
    """Categories, a policy, and a journal of decisions and outcomes in a database.

    What is acknowledged is stored, and counts exactly once.  Several processes may use
    a portfolio at the same time.

    Parameters
    ----------
    where : str or path
        A file, or an address such as postgresql+psycopg://user@host/database.
    actor : str, optional
        Who acts, for the journal; the name of the user unless given.
    wait : float, optional
        Seconds to wait for the write lock.

    Attributes
    ----------
    name : str
        A name for people to read; may be empty.
    actor : str
        Who acts, for the journal.
    origin : str
        The hash of the first line, which copies share.

    Examples
    --------
    >>> import profitable as pb, tempfile
    >>> from pathlib import Path
    >>> where = Path(tempfile.mkdtemp()) / "lending.db"
    >>> names = ("students", "shops")
    >>> coin = pb.Bernoulli()
    >>> categories = [pb.Category(name, coin, threshold=0.5) for name in names]
    >>> book = pb.Portfolio.create(where, categories, policy="kl-ucb", seed=7)

    A decision is stored before it is returned, and the same key returns it again.

    >>> book.decide(key="2026-11-16").accepted
    ('students', 'shops')
    >>> ids = [f"loan-{i}" for i in range(8)]
    >>> outcomes = [pb.Outcome(id, "students", reward=0, decision=1) for id in ids]
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
        lending: Lending | None = None,
        actor: str | None = None,
        wait: float = WAIT,
    ) -> Self:
        """Create a portfolio of categories and a policy, or of an agent.

        Parameters
        ----------
        where : str or path
            A new file, or the address of an empty database.
        categories : iterable of Category, optional
            The categories; required unless `agent` is given.
        policy : Policy or str, optional
            The policy; required unless `agent` is given.
        seed : int, optional
            The seed of a policy that draws; random unless given.
        agent : Agent, optional
            An agent, which the portfolio copies with all that it knows.
        name : str, optional
            A name for people to read.
        shadow : bool, optional
            Whether nobody acts on its decisions.  A shadow decides and stores like any
            other portfolio.
        lending : Lending, optional
            For loans whose outcomes are known late: clients are opened with a term, and
            outcomes are defaults and closings (docs/portfolio.md).
        actor : str, optional
            Who acts, for the journal; the name of the user unless given.
        wait : float, optional
            Seconds to wait for the write lock.

        Returns
        -------
        Portfolio
            The new portfolio, open.

        Raises
        ------
        InputError
            If there is a portfolio already, or an argument is wrong.

        """
        if (agent is None) == (categories is None):
            raise ParameterError(
                "categories",
                categories,
                "cannot be combined with an agent" if agent is not None else "is missing",
                "give categories and a policy, or agent=",
            )
        if agent is None:
            if policy is None:
                raise ParameterError("policy", None, "is missing", 'give one, such as policy="ts"')
            agent = Agent(categories or (), policy=policy, seed=seed, lending=lending)
        else:
            for field, value in (("policy", policy), ("seed", seed), ("lending", lending)):
                if value is not None:
                    raise ParameterError(
                        field,
                        value,
                        "cannot be combined with an agent, which has its own",
                        "leave it out",
                    )
        check_names(agent.names)
        actor = actor_of(actor)
        content = {
            "name": "" if name is None else checked_text("name", name),
            "shadow": bool(shadow),
            "agent": text_of(record_of(agent)),
        }
        first = Line(1, now(), actor, VERSION, "create", round=agent.round, body=as_text(content))
        make_store(where, first, wait)
        return cls(where, actor=actor, wait=wait)

    # ------------------------------------------------------------------------- deciding

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
        applicants: Iterable[Client] | None = None,
    ) -> RecordedDecision:
        """Decide the next round and store it, or return the decision of a known key.

        Parameters
        ----------
        key : str
            Your name for this decision, such as the day.
        available, budget, places, demand, explore : optional
            As in `Agent.decide`.
        applicants : iterable of Client, optional
            In a portfolio that lends: who asks today, accepted or not, with the terms
            of the loans.  Without them, today's terms are those of the clients who were
            opened last.

        Returns
        -------
        RecordedDecision
            The decision, stored.

        Raises
        ------
        ConflictError
            If the key belongs to a decision with other options.

        """
        key = checked_text("key", key)
        with self._writing() as writing:
            today = None if applicants is None else applicants_of(applicants, writing.agent)
            asked = DecisionRequest.read(available, budget, places, demand, explore, today)
            found = named(writing.connection, "decide", key)
            if found is None:
                body = decide(writing.agent, asked)
                found = writing.add(writing.new("decide", id=key, body=body))
                writing.passed = True
            else:
                self._check_asked(intact(writing.connection, found), asked)
            return self._recorded(found, writing.agent)

    def _check_asked(self, line: Line, asked: DecisionRequest) -> None:
        before, wanted = DecisionRequest.of(line.content).to_dict(), asked.to_dict()
        for name in DecisionRequest._fields:
            if before.get(name) != wanted.get(name):
                raise ConflictError(
                    "key",
                    line.id,
                    f"belongs to round {line.round}, decided with {name} = {before.get(name)!r}",
                    f"ask for the same, or give another key, not {name}",
                )

    @alone
    def reinstate(self, decision: str | bytes) -> RecordedDecision:
        """Put back a decision that was acted on, after an earlier backup was restored.

        It must be the next round, and the settings must be as they were.  A decision
        that is stored already is returned again.

        Parameters
        ----------
        decision : str or bytes
            Its JSON, as `RecordedDecision.to_json` or `profitable decide --json` wrote
            it.

        Returns
        -------
        RecordedDecision
            The decision, stored again.

        Raises
        ------
        InputError
            If the JSON was altered, or belongs to another portfolio or round.
        ConflictError
            If another decision is stored under its key.

        """
        file = DecisionFile.read(decision)
        file.check_origin(self.origin)
        with self._writing() as writing, file.read_as_decision():
            found = named(writing.connection, "decide", file.key)
            if found is None:
                found = writing.new(
                    "decide", id=file.key, round=file.head["round"], body=file.body()
                )
                file.check_fits(writing.agent, self._recorded(found, writing.agent))
                reinstate(writing.agent, found)
                writing.add(found)
                writing.passed = True
            else:
                file.check_same(intact(writing.connection, found))
            return self._recorded(found, writing.agent)

    # ------------------------------------------------------------------------- learning

    @alone
    def open(
        self, clients: Iterable[Client], *, all_or_nothing: bool = False, dry_run: bool = False
    ) -> Receipt:
        """Report accepted clients whose outcomes arrive later.

        They count meanwhile as `Agent.expect` defines.  An id that is open already,
        with the same content, is acknowledged again.

        Parameters
        ----------
        clients : iterable of Client
            The clients.
        all_or_nothing, dry_run : bool, optional
            As in `observe`.

        Returns
        -------
        Receipt
            An answer for each client.

        """
        return self._take(list(clients), (Client,), all_or_nothing, dry_run)

    @alone
    def observe(
        self,
        outcomes: Iterable[Outcome | LoanOutcome],
        *,
        all_or_nothing: bool = False,
        dry_run: bool = False,
    ) -> Receipt:
        """Report outcomes, whenever they are known; each id counts exactly once.

        Parameters
        ----------
        outcomes : iterable of Outcome or LoanOutcome
            The outcomes; in a portfolio that lends, those of loans.
        all_or_nothing : bool, optional
            Whether nothing counts if one outcome is wrong.  By default, wrong ones are
            refused and the others count.
        dry_run : bool, optional
            Whether to store nothing, and only return what would happen.

        Returns
        -------
        Receipt
            An answer for each outcome.

        """
        return self._take(list(outcomes), (Outcome, LoanOutcome), all_or_nothing, dry_run)

    def _take(
        self,
        rows: Sequence[Row],
        kinds: tuple[type[Row], ...],
        all_or_nothing: bool,
        dry_run: bool,
    ) -> Receipt:
        for row in rows:
            if not isinstance(row, kinds):
                name = kinds[0].__name__
                raise ParameterError(
                    "rows", row, f"must be of type {name}", f"give profitable.{name}(...)"
                )
        answers: list[PortfolioAnswer] = []
        size = len(rows) if all_or_nothing or dry_run else BATCH
        for start in range(0, len(rows), max(1, size)):
            answers += self._take_some(rows[start : start + size], all_or_nothing, dry_run)
        return Receipt(tuple(answers), is_trial=dry_run)

    def _take_some(
        self, rows: Sequence[Row], all_or_nothing: bool, dry_run: bool
    ) -> list[PortfolioAnswer]:
        answers: list[PortfolioAnswer] = []
        unfit = unstorable(rows, self._store.codec)
        sent = [row for place, row in enumerate(rows) if place not in unfit]
        try:
            with self._writing(sent) as writing:
                answers = Intake(
                    writing, was_shadow=self._was_shadow, decisions=self._decisions
                ).take(sent)
                for place, answer in sorted(unfit.items()):
                    answers.insert(place, answer)
                failed = all_or_nothing and any(each.status == "refused" for each in answers)
                if failed:
                    answers = [each.left_out() for each in answers]
                if dry_run or failed:
                    raise Undone
        except Undone:  # so their lines are not stored
            answers = [replace(each, line=None) for each in answers]
        return answers

    @alone
    def correct(
        self,
        id: str,
        *,
        reward: float | None = None,
        amount: float | None = None,
        cost: float | None = None,
        defaulted: str | date | None = None,
        closed: str | date | None = None,
        take_back: bool = False,
        reason: str | None = None,
        key: str | None = None,
    ) -> PortfolioAnswer:
        """Replace an outcome that was reported wrongly, or take it back.

        The journal keeps the old values.  A correction that changes nothing is
        acknowledged and not stored.

        Parameters
        ----------
        id : str
            The id of the outcome.
        reward, amount, cost : float, optional
            The right values; what is not given stays as it was.
        defaulted, closed : date or str, optional
            The day on which a loan ended, in a portfolio that lends.
        take_back : bool, optional
            Whether there is no such outcome; a loan is open again.
        reason : str, optional
            Why, for those who read the journal.
        key : str, optional
            Your name for this command: with the same key and content, it is done once.

        Returns
        -------
        PortfolioAnswer
            The line of the correction, or why none was needed.

        Raises
        ------
        CorrectionError
            If the id has no outcome, or it was taken back.
        ConflictError
            If the key has other content; or, without a key, if the same actor made the
            same correction before and it was corrected since: it may be a retry.

        """
        wanted = CorrectionRequest.read(
            id,
            {"reward": reward, "amount": amount, "cost": cost},
            LoanOutcome(id, defaulted=defaulted, closed=closed),
            take_back,
            reason,
            key,
        )
        with self._writing() as writing:
            fields = correction(writing.connection, writing.agent, wanted, self.actor, writing.time)
            if isinstance(fields, PortfolioAnswer):
                return fields
            line = writing.new("correct", **fields)
            writing.touched |= apply(writing.agent, line)
            return PortfolioAnswer(id, "counted", line=writing.add(line).line)

    # ------------------------------------------------------------------------- changing

    @alone
    def set_threshold(
        self, name: str, threshold: float, *, key: str | None = None
    ) -> PortfolioAnswer:
        """Change a threshold; past outcomes keep counting, against the new one.

        Parameters
        ----------
        name : str
            The category.
        threshold : float
            The new threshold.
        key : str, optional
            Your name for this command: with the same key, it is done once.  Without a
            key, ConflictError if the same actor made the same change in this round and
            it was changed since: it may be a retry.

        Returns
        -------
        PortfolioAnswer
            The line of the change, or why none was needed.

        """
        with self._writing() as writing:
            category = writing.agent.category(name)
            after = category.with_threshold(threshold).threshold
            return self._change(
                writing, SettingChange("threshold", category.threshold, after, name), key
            )

    @alone
    def pause(self, name: str, *, key: str | None = None) -> PortfolioAnswer:
        """Stop accepting a category until it is resumed; outcomes still count.

        Parameters
        ----------
        name : str
            The category.
        key : str, optional
            Your name for this command: with the same key, it is done once.  Without a
            key, ConflictError if the same actor made the same change in this round and
            it was changed since: it may be a retry.

        Returns
        -------
        PortfolioAnswer
            The line of the change, or why none was needed.

        """
        return self._set_paused(name, True, key)

    @alone
    def resume(self, name: str, *, key: str | None = None) -> PortfolioAnswer:
        """Let a paused category be accepted again.

        Parameters
        ----------
        name : str
            The category.
        key : str, optional
            Your name for this command: with the same key, it is done once.  Without a
            key, ConflictError if the same actor made the same change in this round and
            it was changed since: it may be a retry.

        Returns
        -------
        PortfolioAnswer
            The line of the change, or why none was needed.

        """
        return self._set_paused(name, False, key)

    def _set_paused(self, name: str, paused: bool, key: str | None) -> PortfolioAnswer:
        with self._writing() as writing:
            before = writing.agent[name].paused
            return self._change(writing, SettingChange("paused", before, paused, name), key)

    @alone
    def set_policy(self, policy: Policy | str, *, key: str | None = None) -> PortfolioAnswer:
        """Change the policy from the next round on; past outcomes keep counting.

        Parameters
        ----------
        policy : Policy or str
            The new policy.
        key : str, optional
            Your name for this command: with the same key, it is done once.  Without a
            key, ConflictError if the same actor made the same change in this round and
            it was changed since: it may be a retry.

        Returns
        -------
        PortfolioAnswer
            The line of the change, or why none was needed.

        """
        with self._writing() as writing:
            before, after = policy_record(writing.agent.policy), policy_record(Policy.of(policy))
            return self._change(writing, SettingChange("policy", before, after), key)

    @alone
    def add_category(self, *categories: Category) -> None:
        """Add categories.

        They are accepted until outcomes, or an informative prior, are evidence against
        them.  One that was added before with the same terms is left as it is.  A band
        becomes the highest of its order; a ProfitableWarning says so.

        Parameters
        ----------
        *categories : Category
            The new categories.

        """
        with self._writing() as writing:
            for category in categories:
                if not isinstance(category, Category):
                    raise ParameterError(
                        "category", category, "must be a Category", "give profitable.Category(...)"
                    )
                check_names([category.name], known=writing.agent.names)
                new = SettingChange("category", None, category_record(category), category.name)
                # One that was added before with the same terms is left as it is.
                if category.name not in writing.agent or new.line(writing.connection) is None:
                    start = len(writing.agent)
                    self._change(writing, new, None)
                    for doubt in on_top(writing.agent.ledger.categories, start):
                        warnings.warn(doubt, ProfitableWarning, stacklevel=2)

    @alone
    def set_shadow(self, shadow: bool, *, key: str | None = None) -> PortfolioAnswer:
        """Mark or unmark this portfolio as a shadow, whose decisions nobody acts on.

        Parameters
        ----------
        shadow : bool
            Whether it is a shadow.
        key : str, optional
            Your name for this command: with the same key, it is done once.  Without a
            key, ConflictError if the same actor made the same change in this round and
            it was changed since: it may be a retry.

        Returns
        -------
        PortfolioAnswer
            The line of the change, or why none was needed.

        """
        with self._writing() as writing:
            answer = self._change(
                writing, SettingChange("shadow", self._shadow[-1][1], bool(shadow)), key
            )
            changed = [(line.line, bool(shadow)) for line in writing.lines]
        self._shadow += changed
        return answer

    def _change(self, writing: Writing, wanted: SettingChange, key: str | None) -> PortfolioAnswer:
        key = None if key is None else checked_text("key", key)
        answer = wanted.answer(
            writing.connection, key=key, actor=self.actor, round=writing.agent.round
        )
        if answer is not None:
            return answer
        line = writing.new("change", id=key, category=wanted.category, body=wanted.body)
        apply(writing.agent, line)
        writing.changed = True
        return PortfolioAnswer(wanted.title, "counted", line=writing.add(line).line)

    # -------------------------------------------------------------------------- reading

    @property
    def policy(self) -> Policy:
        """The policy that decides, as a copy of the current settings."""
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
        """A copy of the agent; changes to it do not reach the portfolio."""
        with self._reading() as (_, agent):
            return copy.copy(agent)

    @alone
    def status(self) -> Status:
        """Summarise clients, mean, profit, evidence and patience of each category.

        Returns
        -------
        Status
            One row for each category; it prints as a table.

        """
        with self._reading() as (_, agent):
            return Status(
                self.where,
                self.name,
                self._shadow[-1][1],
                str(agent.policy),
                agent.round,
                self._head,
                status_columns(agent),
                tuple(agent.cutoff(order) for order in agent.orders),
            )

    @alone
    def explain(self, category: str, *, round: int | None = None, key: str | None = None) -> str:
        """Explain what is known about a category, or the verdict of a round.

        Parameters
        ----------
        category : str
            The name of a category.
        round : int, optional
            The round to explain; the present state unless `round` or `key` is given.
        key : str, optional
            The key of the round to explain.

        Returns
        -------
        str
            A text of several lines.

        Raises
        ------
        InputError
            If the category or the round is unknown.

        """
        with self._reading() as (connection, agent):
            if round is None and key is None:
                return agent.explain(category)
            agent.category(category)  # which must be there
            return explanation(
                connection, self._recorded(self._decided(connection, round, key), agent), category
            )

    @alone
    def plot_loans(self, path: str | os.PathLike[str] | None = None) -> "VConcatChart":
        """Draw what `Agent.plot_loans` draws, and defaults as each decision knew them.

        They are read from the journal, and drawn against those that were affordable.

        Parameters
        ----------
        path : str or os.PathLike, optional
            File to write the chart to: SVG, PNG, PDF or HTML, by its ending.

        Returns
        -------
        altair.VConcatChart
            A chart that shows itself in notebooks.

        Raises
        ------
        InputError
            If the portfolio does not lend, the ending is not known, or an extra is
            missing.
        NotSavedError
            If the file cannot be written.
        """
        with extra("plot", "charts are drawn with it"):
            from profitable.agent.loan_charts import loan_chart
            from profitable.common.charts import saved
        with self._reading() as (connection, agent):
            book = agent.ledger.read_book()
            history = history_of(
                intact(connection, line)
                for line in journal_lines(connection, journal.c.kind == "decide")
            )
        return saved(loan_chart(*book, history), path)

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
    ) -> JournalExtract:
        """Return lines of the journal, the oldest first.

        Parameters
        ----------
        since, until : str or date, optional
            The first and the last day or moment (UTC).
        category : str, optional
            Only lines about this category.
        kind : str, optional
            Only lines of this kind: create, decide, open, outcome, correct, change,
            upgrade or restore.
        id : str, optional
            All lines about this client, or about this key; excludes other filters.
        limit : int, optional
            The number of newest lines; all of them unless given.

        Returns
        -------
        JournalExtract
            A sequence of lines that prints as a table.

        """
        with self._reading() as (connection, agent):
            return JournalExtract(
                chosen_lines(
                    connection,
                    agent,
                    since=since,
                    until=until,
                    category=category,
                    kind=kind,
                    id=id,
                    limit=limit,
                )
            )

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
        """Recompute everything from the journal, and find changed or missing lines.

        Parameters
        ----------
        head : str, optional
            The hash of a line that was kept elsewhere; it also reveals lines that were
            cut off at the end, or a journal that was rewritten.
        heads : path, optional
            A file of such heads.  All are compared and, if nothing is found, the
            present head is added.
        sign : path, optional
            A private key (Ed25519, PEM) that signs the added head.
        public_key : path, optional
            A public key that checks the signatures; no head is added then.
        progress : callable, optional
            Called with the number of lines done.

        Returns
        -------
        Verification
            Findings, which are changes that should not be there, and notes.

        """
        kept = None if heads is None else HeadsFile(heads, sign=sign, public_key=public_key)
        found = Verifier(self._store, head, progress).run()
        return found if kept is None else kept.keep(found, self._store)

    def _recorded(self, line: Line, agent: Agent) -> RecordedDecision:
        return RecordedDecision(
            line,
            agent.ledger.categories,
            is_shadow=self._was_shadow(line.line),
            origin=self.origin,
        )

    @alone
    def decision(self, round: int | None = None, *, key: str | None = None) -> RecordedDecision:
        """Return a stored decision.

        Parameters
        ----------
        round : int, optional
            The number of the round; the latest unless `round` or `key` is given.
        key : str, optional
            The key with which it was decided.

        Returns
        -------
        RecordedDecision
            The decision as it read on the day.

        Raises
        ------
        InputError
            If there is no such decision.

        """
        with self._reading() as (connection, agent):
            return self._recorded(self._decided(connection, round, key), agent)

    def _decided(self, connection: sa.Connection, round: int | None, key: str | None) -> Line:
        """Return the line of a decision."""
        chosen = [journal.c.kind == "decide"]
        if round is not None:
            # Which every database can compare.
            chosen.append(journal.c.round == min(max(round, -1), check.MOST))
        if key is not None:
            chosen.append(journal.c.id.in_(forms_in(connection, key)))
        if (found := one(connection, *chosen)) is None:
            latest = one(connection, journal.c.kind == "decide")
            remedy = "decide a round first"
            if latest is not None:
                remedy = f"the latest is round {latest.round}, key {latest.id!r}"
            field, value = ("round", round) if key is None else ("key", key)
            raise InputError(field, value, "was not decided here", remedy)
        return intact(connection, found)

    def __repr__(self) -> str:
        shadow = ", a shadow" if self.is_shadow else ""
        size = f"{len(self.names)} categories, {self.round} rounds"
        return f"<Portfolio {self.where}: {self.policy}, {size}{shadow}>"
