"""Start plan: the layout that fits a file best, and what it assumes.

Plans are tried from the one that says most to the one that says least, on the sample:
loans with the dates of their ends, money lent and back, offers beside a control group,
outcomes with two values, gains.  The first one that can be read is taken.  No category
is suggested that looks like a leak.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from profitable.common.text_tables import percent_text
from profitable.errors import InputError
from profitable.past import calendar_rounds as rounds
from profitable.past.calendar_rounds import MISSING
from profitable.past.candidates import (
    FEW_ROWS,
    MOST_MISSING,
    Candidate,
    Finder,
    is_status,
    open_words,
    quoted,
)
from profitable.past.column_names import hinted
from profitable.past.column_profile import Kind
from profitable.past.date_formats import moment_text
from profitable.past.layout import FIELDS, Layout, is_list
from profitable.past.leak_measures import banded, predicts
from profitable.past.leaks import Leak, check_categories, find_leaks, loans_that_know
from profitable.past.past import SingleClients
from profitable.past.read import read
from profitable.past.source import Source

ROUNDS_OF_ROWS = 50  # without a time
NICE = (1, 2, 5)  # numbers of rows in a round, times powers of ten
MONTHS_OF_ROUNDS = 6  # fewer months than this, and a round is a week
CATEGORIES_TRIED = 8
NOT_BY_CHANCE = 0.05  # of the spread of a treatment: a column that explains so much decided it
PLACEHOLDERS = {
    "category": ("CATEGORY", "the column whose values are judged, such as a purpose or a grade"),
    "reward": (
        "REWARD",
        "the column of what a client brought, or column=value, such as status=paid",
    ),
}
# What the options of a plan exclude, if the user has given them.
NO_AMOUNT = ("cost", "revenue", "treated")


@dataclass
class StartPlan:
    """Options of a layout, what they assume, and what is missing."""

    options: dict[str, Any] = field(default_factory=lambda: {})
    assumed: list[str] = field(default_factory=lambda: [])
    placeholders: dict[str, str] = field(default_factory=lambda: {})  # name: what to put there
    leaks: list[Leak] = field(default_factory=lambda: [])
    problem: str = ""  # why it could not be read

    @property
    def is_complete(self) -> bool:
        """Whether a backtest runs with it as it is."""
        return not self.placeholders and not self.problem


def plan_start(sample: Source, finder: Finder, given: Mapping[str, Any], rows: int) -> StartPlan:
    """Return the options to start from, with those that are given."""
    planner = _Planner(sample, finder, dict(given), rows)
    found = planner.best()
    found.assumed += dict.fromkeys(planner.said)
    return found


class _Planner:
    """Tries plans on a sample."""

    def __init__(self, sample: Source, finder: Finder, given: dict[str, Any], rows: int) -> None:
        self.sample, self.finder, self.given, self.rows = sample, finder, given, rows
        self.said: list[str] = []
        self.categories = [
            each for each in finder.of("category") if each.column not in self._used_by_user()
        ]

    def _used_by_user(self) -> set[str]:
        values = [self.given.get(name) for name in FIELDS if name not in ("category", "scorecard")]
        return {
            part.partition("=")[0]
            for value in values
            for part in (value if is_list(value) else [value])
            if isinstance(part, str)
        }

    def best(self) -> StartPlan:
        """Return the first plan that can be read, or an incomplete one."""
        failed: StartPlan | None = None
        error: InputError | None = None
        for plan in self._plans():
            if plan.placeholders:
                return plan if failed is None or not failed.options else failed
            try:
                return self._checked(plan)
            except InputError as problem:
                if "skip_bad_rows" in problem.remedy and "skip_bad_rows" not in self.given:
                    plan.options["skip_bad_rows"] = True
                    plan.assumed.append(
                        f"skip_bad_rows: {_first_part(problem)}; such rows are "
                        "left out, and counted"
                    )
                    with suppress(InputError):
                        return self._checked(plan)
                error = error or problem
                failed = failed or StartPlan(
                    plan.options, plan.assumed, problem=str(problem).rstrip(".")
                )
        if error is not None and self.given:
            raise error
        assert failed is not None
        return failed

    # ---------------------------------------------------------------------------- plans

    def _plans(self) -> Iterator[StartPlan]:
        """Yield plans, those that say most first."""
        for outcome in self._outcomes():
            plan = StartPlan(dict(outcome.options), list(outcome.assumed))
            for optional in self._ends(plan):
                whole = StartPlan(
                    {**optional.options, **self._time(optional), **self.given},
                    optional.assumed,
                )
                self._say_who_is_open(whole)
                self._leave_out_future(whole)
                self._add_formats(whole)
                self._add_decimal(whole)
                self._add_category(whole)
                if not whole.options.keys() & {"known", "defaulted", "matures"}:
                    whole.assumed.append(self._immediate())
                yield whole
        yield self._without_outcome()

    def _without_outcome(self) -> StartPlan:
        """Return a plan with placeholders, where no outcome was found."""
        plan = StartPlan({**self._time(StartPlan()), "cost": 1, **self.given})
        self._add_formats(plan)
        self._add_category(plan)
        if "reward" not in self.given:
            name, what = PLACEHOLDERS["reward"]
            plan.options["reward"] = name
            plan.placeholders[name] = what
        if "cost" not in self.given and "amount" not in self.given:
            plan.assumed.append(
                "cost: not in the file; 1 is a placeholder. Put what a client costs, or give "
                "--amount if money was lent"
            )
        if "amount" in self.given:
            plan.options.pop("cost", None)
        return plan

    def _outcomes(self) -> Iterator[StartPlan]:
        given, finder = self.given, self.finder
        is_free = "reward" not in given and "cost" not in given and "revenue" not in given
        lends = "treated" not in given and not (given.keys() & {"cost", "revenue"})
        treated = None if "amount" in given else finder.first("treated")
        rewards = finder.of("reward")
        others = [each for each in rewards if not each.is_back]
        if "reward" in given:
            others = [
                Candidate("reward", _column_of(given["reward"]), str(given["reward"]), "given", 9.0)
            ]
        if treated is not None and (apart := self._apart(treated)):
            self.said.append(
                f"{treated.column} may be a control group, but its clients differ by {apart}: it "
                "was not drawn at random. With the probabilities, give --treated and --propensity"
            )
            treated = None
        if "treated" in given or (treated is not None and "accepted" not in given):
            for each in others:
                if treated is None or each.column != treated.column:
                    yield self._by_treatment(each, treated)
        if lends:
            yield from self._loans()
            yield from self._money(rewards)
        if lends and is_free:
            yield from self._losses()
        if is_free and "amount" not in given and "treated" not in given:
            yield from self._underwriting()
        if "amount" in given or "defaulted" in given:
            return
        for each in others:
            yield self._by_reward(each)

    def _apart(self, treated: Candidate) -> str:
        """Return a column by which treated clients differ from others; "" if none."""
        flag = self.finder.is_treated(treated).astype(np.float64)
        outcomes = {each.column for each in self.finder.of("reward")}
        for each in self.finder.columns:
            if each.name == treated.column or each.name in outcomes:
                continue
            codes = banded(each.numbers) if each.numbers is not None else each.codes
            if each.missing <= FEW_ROWS and predicts(codes, flag) > NOT_BY_CHANCE:
                return each.name
        return ""

    def _loans(self) -> Iterator[StartPlan]:
        """Yield a plan by hazards, if all dates and terms are there."""
        if self.given.keys() & {"known", "matures", "emerges", "open_value", "reward"}:
            return
        found = {
            role: self.finder.first(role)
            for role in ("defaulted", "closed", "term", "rate", "amount")
        }
        options = {role: each.option for role, each in found.items() if each is not None}
        rate = found["rate"]
        if rate is not None and "per cent" in rate.reason:
            options["rate"] = f"{quoted(rate.option)} / 100"
        if "instalment" in self.given:
            options.pop("rate", None)
        if len(options.keys() | self.given.keys() & options.keys()) < len(found) - (
            "instalment" in self.given
        ):
            return
        plan = StartPlan(options)
        self._add_required(plan, " a year")
        plan.assumed.append(
            "loans are judged by when they default and close: recovery 0 and lag 0 are assumed; "
            "give --recovery and --lag if a default returns something or is known late"
        )
        yield plan

    def _money(self, rewards: Sequence[Candidate]) -> Iterator[StartPlan]:
        amount = self.given.get("amount") or (self.finder.lent and self.finder.lent.name)
        if amount is None:
            return
        backs = [each for each in rewards if each.is_back]
        if "reward" in self.given:
            named = _column_of(self.given["reward"])
            if "amount" not in self.given and named not in [each.column for each in backs]:
                return
            backs = [Candidate("reward", named, self.given["reward"], "given", 9.0)]
        for each in backs:
            plan = StartPlan({"reward": each.option, "amount": amount})
            if "reward" not in self.given:
                plan.assumed.append(f"reward: {each.option} is what came back of {amount}")
            self._add_required(plan)
            yield plan

    def _losses(self) -> Iterator[StartPlan]:
        loss, lent = self.finder.first("loss"), self.finder.lent
        amount = self.given.get("amount") or (lent and lent.name)
        if loss is None or amount is None:
            return
        reward = f"{quoted(amount)} - {quoted(loss.column)}"
        plan = StartPlan({"reward": reward, "amount": amount})
        plan.assumed.append(f"reward: {amount} less {loss.column} came back")
        lent, lost = (self.finder.by_name[name].numbers for name in (amount, loss.column))
        if "required" not in self.given and lent is not None and lost is not None:
            both = ~np.isnan(lent) & ~np.isnan(lost)
            share = float(f"{lost[both].sum() / lent[both].sum():.2g}")
            plan.options["required"] = -share
            plan.assumed.append(
                f"required: {-share:g}, because interest is not in the file: {share:.2g} per unit "
                "lent is lost on average, so that a category pays if it loses less. Put minus the "
                "losses that your interest covers"
            )
        yield plan

    def _underwriting(self) -> Iterator[StartPlan]:
        """Yield premium less claim, where a file has both."""
        premium, claim = self.finder.first("premium"), self.finder.first("claim")
        if premium is None or claim is None:
            return
        reward = f"{quoted(premium.column)} - {quoted(claim.column)}"
        plan = StartPlan({"reward": reward, "cost": 0})
        plan.assumed.append(
            f"reward: {premium.column} less {claim.column}; put what a policy costs you as --cost"
        )
        yield plan

    def _add_required(self, plan: StartPlan, unit: str = "") -> None:
        if "required" not in self.given:
            plan.options["required"] = 0
            plan.assumed.append(
                f"required: not in the file; with 0, only losses stop a category. Put the return "
                f"that you need per unit lent{unit}, such as 0.05"
            )

    def _by_treatment(self, reward: Candidate, treated: Candidate | None) -> StartPlan:
        plan = StartPlan({"reward": reward.option})
        if treated is not None and "treated" not in self.given:
            plan.options["treated"] = treated.option
            plan.assumed.append(
                f"treated: {treated.option} says who got an offer, by chance as far as the other "
                "columns show; the effect of the offer is then the reward"
            )
        if "cost" not in self.given:
            plan.options["cost"] = 0
            plan.assumed.append("cost: not in the file; 0 is assumed. Put what an offer costs")
        return plan

    def _by_reward(self, reward: Candidate) -> StartPlan:
        plan = StartPlan({"reward": reward.option})
        if reward.reason != "given":
            plan.assumed.append(f"reward: {reward.option} ({reward.reason})")
        accepted = self.finder.first("accepted")
        if accepted is not None and not self.refused_have_outcomes(accepted, reward.column):
            plan.options["accepted"] = accepted.option
        if "cost" in self.given:
            return plan
        mean, has_losses = self._mean(reward.option)
        plan.options["cost"] = 0 if has_losses else mean
        plan.assumed.append(
            f"cost: not in the file; 0 is assumed, because {reward.column} has losses"
            if has_losses
            else f"cost: not in the file; {mean:g} is the mean reward, so that a category pays if "
            "it is better than the average. Put what a client costs, in the unit of the reward"
        )
        return plan

    def _mean(self, option: str) -> tuple[float, bool]:
        """Return the mean reward with two digits, and whether some are losses."""
        name, _, value = option.partition("=")
        column = self.finder.by_name.get(option) or self.finder.by_name.get(name)
        if column is None:
            return 1.0, False
        if value and option not in self.finder.by_name:
            known = self.finder.ended & (column.codes > 0)
            has_it = column.codes == [*column.words, value].index(value) + 1
            share = has_it[known].sum() / max(int(known.sum()), 1)
            return float(f"{share:.2g}"), False
        if column.numbers is None:
            return 1.0, False
        given = column.numbers[self.finder.ended]
        return float(f"{np.nanmean(given):.2g}"), bool((given < 0.0).any())

    def refused_have_outcomes(self, accepted: Candidate, reward: str) -> bool:
        """Whether clients whom the past refused have outcomes."""
        flags, outcome = (self.finder.by_name.get(name) for name in (accepted.column, reward))
        if flags is None or outcome is None or flags.numbers is None:
            return False
        return bool((outcome.codes[flags.numbers == 0.0] > 0).mean() > 0.5)

    # ---------------------------------------------------------------------------- parts

    def _ends(self, plan: StartPlan) -> Iterator[StartPlan]:
        """Yield a plan with a date at which outcomes were known, and without."""
        known = self.finder.first("known")
        late = ("known", "matures", "defaulted")
        is_open = not any(name in self.given or name in plan.options for name in late)
        if known is not None and self._dates_gains_only(known):
            known = None
        if known is not None and is_open and known.weight >= 1.0 and not self._is_by_rows():
            yield StartPlan(plan.options | {"known": known.option}, list(plan.assumed))
        yield plan

    def _dates_gains_only(self, known: Candidate) -> bool:
        """Whether a date is empty for most of those who have a date of default."""
        defaulted = self.finder.first("defaulted")
        if defaulted is None or defaulted.column == known.column:
            return False
        end, loss = (self.finder.by_name[each.column].codes for each in (known, defaulted))
        return bool((end[loss > 0] == 0).mean() > MOST_MISSING)

    def _leave_out_future(self, plan: StartPlan) -> None:
        """Leave out clients who asked in the future, where years have two digits."""
        asked, today = self.finder.asked, np.datetime64("now", "us")
        if "where" in self.given or asked is None or asked.times is None:
            return
        late = (asked.times != MISSING) & (asked.times > today.astype(np.int64))
        if 0.0 < late.mean() <= FEW_ROWS and "%y" in (asked.date_format or ""):
            latest = moment_text(int(asked.times.max()), has_day=True)
            self._add_condition(plan, f"{quoted(asked.name)} <= '{str(today)[:10]}'")
            plan.assumed.append(
                f"where: years have two digits, and those below 69 are read as 20..: {late.sum()} "
                f"sampled rows have dates as late as {latest}, and are left out"
            )

    def _add_condition(self, plan: StartPlan, condition: str) -> None:
        before = plan.options.get("where")
        plan.options["where"] = condition if before is None else f"{before} and {condition}"

    def _say_who_is_open(self, plan: StartPlan) -> None:
        """Say of which clients nobody knows yet how they end, where a status tells."""
        if "open" in self.given or "defaulted" in plan.options or "treated" in plan.options:
            return
        for column in self.finder.columns:
            if not is_status(column) or column.name in str(self.given.get("where", "")):
                continue
            shares = dict(zip(column.words, column.shares, strict=True))
            still, name = open_words(column), quoted(column.name)
            share = sum(shares[each] for each in still) + column.missing
            called = [*still, *(["without a status"] if column.missing else [])]
            if called:
                words = [repr(each) for each in (*still, *([""] if column.missing else []))]
                plan.options["open"] = (
                    f"{name} == {words[0]}"
                    if len(words) == 1
                    else f"{name} in ({', '.join(words)})"
                )
                who = f"{percent_text(share)} of the clients are {', '.join(called)}"
                plan.assumed.append(
                    f"open: {who}: what they paid so far is no outcome. They are counted as "
                    "open; without them, the last rounds would consist of early ends, and look "
                    "worse or better than they are"
                )
                return

    def _immediate(self) -> str:
        """Say that outcomes are taken as known at once."""
        known = self.finder.first("known")
        defaulted, closed = (self.finder.first(role) for role in ("defaulted", "closed"))
        if defaulted is not None and known is not None and self._dates_gains_only(known):
            return (
                f"known: {defaulted.column} dates losses and {known.column} the others, so that "
                "neither is when outcomes were known, and every policy learns too soon; give "
                "--known and a column that joins them, or judge loans by when they end: "
                f"--defaulted {defaulted.column} --closed {known.column}, with --term, --rate and "
                "--amount"
            )
        if defaulted is not None and closed is None:
            return (
                f"known: {defaulted.column} dates losses only, so that outcomes are taken as known "
                "at once, and every policy learns too soon; give --matures and a number of "
                "rounds, or add the date at which other clients repaid"
            )
        return NO_KNOWN_DATE

    def _is_by_rows(self) -> bool:
        return isinstance(self.given.get("round"), int) and "time" not in self.given

    def _time(self, plan: StartPlan) -> dict[str, Any]:
        if "time" in self.given or "issued" in self.given or self._is_by_rows():
            return {}
        best = self.finder.first("time")
        if best is None:
            size = max(self.rows // ROUNDS_OF_ROWS, 1)
            power = 10 ** (len(str(size)) - 1)
            nice = max(each * power for each in NICE if each * power <= size)
            plan.assumed.append(
                f"time: no column has dates, so that rows are taken in their order, {nice} in a "
                "round"
            )
            return {"round": nice}
        role = "issued" if "defaulted" in plan.options else "time"
        if best.option != best.column:
            return {role: best.column.split(",")}
        options: dict[str, Any] = {role: best.column}
        column = self.finder.by_name[best.column]
        if column.times is not None and "round" not in self.given:
            given = column.times[column.times != MISSING]
            months = np.unique(rounds.periods(given, "month")).size
            days = float(np.ptp(given)) / rounds.MICROSECONDS
            if months < MONTHS_OF_ROUNDS and column.time_kind != rounds.MONTH:
                options["round"] = "week" if days >= 21 else "day"
        if column.other_format is not None:
            plan.assumed.append(
                f"{column.name}: its dates are read as {column.date_format}; they could be "
                f"{column.other_format}, too"
            )
        return options

    def _add_formats(self, plan: StartPlan) -> None:
        """Add the format of the dates, if they are not written as 2026-01-31."""
        if "date_format" in self.given:
            return
        best = self.finder.first("time")
        time = plan.options.get("time")
        if best is not None and is_list(time) and list(time) == best.column.split(","):
            plan.options["date_format"] = best.reason.partition("a date, ")[2]
            return
        names = [
            plan.options[role]
            for role in ("time", "issued", "known", "defaulted", "closed")
            if isinstance(plan.options.get(role), str)
        ]
        columns = [self.finder.by_name[name] for name in names if name in self.finder.by_name]
        formats = {each.name: each.date_format for each in columns if each.kind == Kind.DATE}
        different = set(formats.values())
        if different <= {None}:
            return
        if len(different) == 1:
            plan.options["date_format"] = different.pop()
        else:
            plan.options["date_format"] = [
                f"{name}={pattern}" for name, pattern in formats.items() if pattern is not None
            ]

    def _all_formats(self) -> dict[str, Any]:
        """Return the formats of all columns of dates, so that leaks are read, too."""
        formats = {each.name: each.date_format for each in self.finder.columns}
        given = [f"{name}={each}" for name, each in formats.items() if each is not None]
        is_joined = is_list(self.given.get("time")) or "date_format" in self.given
        return {"date_format": given} if given and not is_joined else {}

    def _add_decimal(self, plan: StartPlan) -> None:
        """Add the decimal sign, if numbers could mean two things without it."""
        used = {
            name
            for name in self.finder.by_name
            for value in plan.options.values()
            if isinstance(value, str) and name in value
        }
        signs = {self.finder.by_name[name].decimal for name in used} - {None}
        if "decimal" not in self.given and len(signs) == 1:
            plan.options["decimal"] = signs.pop()

    def _add_category(self, plan: StartPlan) -> None:
        if "category" in self.given or "scorecard" in self.given:
            return
        first = next(iter(self._free_categories(plan)), None)
        if first is None:
            name, what = PLACEHOLDERS["category"]
            plan.options["category"] = name
            plan.placeholders[name] = what
        else:
            plan.options["category"] = first.option

    def _free_categories(self, plan: StartPlan) -> list[Candidate]:
        """Return candidates that have no other role in a plan."""
        used = {
            part.partition("=")[0]
            for name, value in plan.options.items()
            for part in (value if is_list(value) else [value])
            if isinstance(part, str) and name != "category"
        }
        text = " ".join(used)
        taken = used | {name for name in self.finder.by_name if f"{name} " in f"{text} "}
        return [each for each in self.categories if each.column not in taken]

    # --------------------------------------------------------------------------- checks

    def _checked(self, plan: StartPlan) -> StartPlan:
        """Read the sample by a plan, and take a category that is no leak."""
        layout = Layout.of(plan.options)
        past = read(self.sample, layout)
        if isinstance(past.clients, SingleClients) and layout.by_hazards:
            for said in loans_that_know(past.clients, layout):
                raise InputError("defaulted", layout.defaulted, said, "give other columns")
        leaks = find_leaks(self.sample, Layout.of(plan.options | self._all_formats()))
        plan.leaks = leaks
        if "category" in self.given or "scorecard" in self.given:
            return plan
        plan.leaks = [replace(each, is_category=False) for each in leaks]
        bad = {each.column for each in leaks}
        free = self._free_categories(plan)
        # What is called a product or a grade may be no leak, and say most.
        may_be = {each.column for each in leaks if not each.is_certain}
        doubtful = [
            each for each in free if each.column in may_be and hinted(each.column, "category")
        ]
        for each in free[:CATEGORIES_TRIED]:
            if each.column in bad:
                continue
            plan.options["category"] = each.option
            past = read(self.sample, Layout.of(plan.options))
            if not check_categories(past) and len(past.clients.names) > 1:
                plan.assumed += [self._if_honest(each) for each in doubtful]
                return plan
        if doubtful:
            plan.options["category"] = doubtful[0].option
            is_used = doubtful[0].column
            plan.leaks = [replace(each, is_category=each.column == is_used) for each in leaks]
            plan.assumed.append(
                f"category: {is_used} may be a leak, and no other column is left; use it only if "
                "it was known when the client asked"
            )
            return plan
        name, what = PLACEHOLDERS["category"]
        plan.options["category"] = name
        plan.placeholders[name] = what
        return plan

    def _if_honest(self, candidate: Candidate) -> str:
        """Say that what predicts well may be the best category, and no leak."""
        return (
            f"category: {candidate.option} was left out, because it may be a leak; if it was known "
            f"when the client asked, it says most: add --or {shlex.quote(candidate.option)}"
        )


NO_KNOWN_DATE = (
    "known: no column says when outcomes were known, so that every policy learns too soon; give "
    "--known, or --matures and a number of rounds"
)


def _first_part(error: InputError) -> str:
    """Return an error without its remedy."""
    return str(error).removesuffix(f"; {error.remedy}.")


def _column_of(reward: Any) -> str:
    return str(reward).partition("=")[0]
