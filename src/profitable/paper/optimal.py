"""The optimal policy in the report.

Its gain and its price, the cost of a wrong horizon, and long horizons.

The gain is in the mean.  The price is in the worst runs: a policy that stops for good
can lose a profitable category. So every table and sentence has both.
"""

from collections.abc import Sequence
from typing import Any

from profitable.common.text_tables import horizon_text, number_text
from profitable.paper.asymptotics import slope_of_clients
from profitable.paper.claims import KNOWING
from profitable.paper.contest import (
    ANYTIME,
    CAREFUL,
    FORMS,
    WITH_HORIZON,
    Contest,
    Score,
    against,
    below,
    checks,
    contests,
    share_text,
)
from profitable.paper.experiment import OPTIMAL_LONG, load
from profitable.paper.finding import (
    SURE,
    Estimate,
    checkpoint,
    pair_or_none,
    plus_minus,
    ratio_of,
    rounded_text,
)
from profitable.paper.reproduction import Reproduction, Trial
from profitable.paper.slopes import LONG, slope_from
from profitable.simulation.curve import Curve

GIVEN = "horizon="  # in the name of a policy that was given a number for its horizon
# N d + k log N = log T: half a log N is in the evidence, a whole one in the patience
# log(M/2N).
LOGARITHMS = 1.5


def optimal_summary(reproduction: Reproduction) -> dict[str, Any]:
    """Everything the report says about the optimal policy, as plain values."""
    found = contests(reproduction)
    long = reproduction.find(OPTIMAL_LONG)
    return {
        "contests": [
            {
                "name": each.trial.experiment.name,
                "title": load(each.name).title,
                "reading": reading(each),
                "runs": each.trial.result.finished,
                "best_of_four": each.four[0].policy if each.four else None,
                "policies": [
                    score.to_dict() | _ratios(score, each)
                    for score in (*each.four, *map(each.score, FORMS))
                ],
            }
            for each in found
        ],
        "numbers": _table_of_scores(found),
        "checks": checks(found),
        "wrong_horizon": _table_of_horizons(found),
        "long": _long_table(long[0], reproduction) if long else None,
    }


def _ratios(score: Score, contest: Contest) -> dict[str, float | None]:
    """Mean and quantile over the smallest of the four; None if these were not run."""
    if not contest.four:
        return {"regret_ratio": None, "quantile_ratio": None}
    best, safest = contest.four[0], contest.tails[0]
    return {
        "regret_ratio": score.mean[0] / best.mean[0],
        "quantile_ratio": score.tail[0] / safest.tail[0],
    }


def reading(contest: Contest) -> list[str]:
    """Write gain and price of three forms in one experiment, and the worst runs."""
    subjects = {
        WITH_HORIZON: f"`{WITH_HORIZON}`",
        CAREFUL: "With `risk=0.3` it",
        ANYTIME: f"Without a horizon, `{ANYTIME}`",
    }
    return [
        *(_gain_and_price(contest, contest.score(each), who) for each, who in subjects.items()),
        *_of_four(contest),
    ]


def _gain_and_price(contest: Contest, score: Score, who: str) -> str:
    gain, price = score.mean_text, score.tail_text
    if contest.four:
        best = contest.four[0]
        gain += (
            f", {_less_or_more(score.mean, best.mean)} than `{best.policy}`, the best of the four"
        )
        price += f", {_place(score, contest)}"
    return (
        f"{who} loses {gain}. One run in a hundred loses more than {price}. "
        f"{share_text(score.lost)} of the runs lose a profitable category."
    )


def _of_four(contest: Contest) -> list[str]:
    """Return the worst runs of the four, to compare with."""
    if not contest.four:
        return []
    tails = " to ".join(
        rounded_text(each.tail[0], 3) for each in (contest.tails[0], contest.tails[-1])
    )
    shares = [100.0 * each.lost[0] for each in contest.four]
    lost = (
        f"{number_text(min(shares))} to {number_text(max(shares))} %"
        if max(shares) > 0.0
        else "0 %"
    )
    return [
        (
            f"The four: one run in a hundred loses more than {tails}. {lost} of the runs lose a "
            "profitable category."
        )
    ]


def _less_or_more(mine: Estimate, other: Estimate) -> str:
    """As in "25.7 ± 1.5 % less"; with a doubt if it may be chance."""
    ratio, error = ratio_of(mine, other)
    doubt = "" if abs(below(mine, other)) > SURE else " (which may be chance)"
    return (
        f"{plus_minus(100.0 * abs(1.0 - ratio), 100.0 * error)} % "
        f"{'less' if ratio < 1.0 else 'more'}{doubt}"
    )


def _place(score: Score, contest: Contest) -> str:
    """Return how the quantile compares with those of all four."""
    safest, riskiest = contest.tails[0], contest.tails[-1]
    if safest.tail[0] <= score.tail[0] <= riskiest.tail[0]:
        return "as with some of the four"
    less = score.tail[0] < safest.tail[0]
    lead = below(score.tail, safest.tail) if less else below(riskiest.tail, score.tail)
    return (
        f"{'less' if less else 'more'} than with each of the "
        f"four{'' if lead > SURE else ' (which may be chance)'}"
    )


def _table_of_scores(found: Sequence[Contest]) -> dict[str, Any]:
    """Mean, 99 % quantile and lost runs of the four and of the new ones."""
    rows = [
        [
            each.name,
            score.policy,
            score.mean_text,
            against(score.mean, each.four[0].mean if each.four else None),
            score.tail_text,
            against(score.tail, each.tails[0].tail if each.four else None),
            share_text(score.lost),
        ]
        for each in found
        for score in (*each.four, *map(each.score, FORMS))
    ]
    best = "against the best of the four"
    headers = ["experiment", "policy", "mean regret", best, "99 % quantile", best, "lost"]
    return {"headers": headers, "rows": rows}


def given_horizon(policy: str) -> int:
    """Return the horizon in a policy's name; 0 if there is none.

    >>> given_horizon("optimal:horizon=1000,risk=0.3"), given_horizon("optimal:horizon")
    (1000, 0)
    """
    return int(float(policy.partition(GIVEN)[2].partition(",")[0] or 0))


def _table_of_horizons(found: Sequence[Contest]) -> dict[str, Any]:
    """Return the cost of a wrong horizon."""
    rows: list[list[str]] = []
    for each in found:
        result = each.trial.result
        right = each.score(WITH_HORIZON)
        for score in (right, *map(each.score, _wrong_horizons(each)), each.score(ANYTIME)):
            rows.append(
                [
                    each.name,
                    "none" if score.policy == ANYTIME else _given(score.policy, result.horizon),
                    score.mean_text,
                    against(score.mean, right.mean),
                    against(score.mean, each.four[0].mean if each.four else None),
                    score.tail_text,
                    share_text(score.lost),
                ]
            )
    headers = ["experiment", "horizon given", "mean regret", "against the right horizon"]
    headers += ["against the best of the four", "99 % quantile", "lost"]
    return {"headers": headers, "rows": rows, "seen": " ".join(_cost_of_horizons(found))}


def _wrong_horizons(contest: Contest) -> list[str]:
    """Return the policies that were given a number for their horizon, longest first."""
    named = filter(given_horizon, contest.trial.result.policies)
    return sorted(named, key=given_horizon, reverse=True)


def _cost_of_horizons(found: Sequence[Contest]) -> list[str]:
    """For each wrong horizon, and for none, what it costs on average."""
    if not found:
        return []
    horizon = found[0].trial.result.horizon
    subjects = {
        policy: f"A horizon of {_given(policy, horizon).replace(' (', ', ').removesuffix(')')},"
        for policy in _wrong_horizons(found[0])
    }
    said: list[str] = []
    for policy, subject in (subjects | {ANYTIME: "Giving none (`optimal`)"}).items():
        changes = [
            each.score(policy).mean[0] / each.score(WITH_HORIZON).mean[0] - 1.0 for each in found
        ]
        leads = {
            each.name: below(each.score(policy).mean, each.four[0].mean)
            for each in found
            if each.four
        }
        behind = [name for name, lead in leads.items() if lead < -SURE]
        text = f"{subject} changes the mean regret by {_span(changes)}"
        if leads:
            ahead = sum(lead > SURE for lead in leads.values())
            text += (
                f"; by 4 standard errors it is below the best of the four in {ahead} of "
                f"{len(leads)} experiments"
            )
            text += f", and above it in {', '.join(behind)}" if behind else ""
        said.append(f"{text}.")
    return said


def _span(shares: Sequence[float]) -> str:
    """From the smallest to the largest: "-3 % to +9 %"."""
    texts = [f"{100.0 * share:+.0f} %" for share in (min(shares), max(shares))]
    return " to ".join(dict.fromkeys(texts))


def _given(policy: str, horizon: int) -> str:
    given = given_horizon(policy)
    if not given:
        return f"{horizon_text(horizon)} (right)"
    word, times = ("long", given / horizon) if given > horizon else ("short", horizon / given)
    return f"{horizon_text(given)} ({number_text(times)} times too {word})"


def _long_table(trial: Trial, reproduction: Reproduction) -> dict[str, Any]:
    """Return the regret at each given horizon, and its slope to the next."""
    result = trial.result
    scenario, anytime = result.scenario, result[ANYTIME]
    constant = scenario.lower_bound().total
    given = sorted(filter(given_horizon, result.policies), key=given_horizon)
    long = reproduction.find(LONG[0])
    rows: list[list[str]] = []
    values: list[dict[str, Any]] = []
    for before, policy in zip(["", *given], given, strict=False):
        curve, horizon = result[policy], given_horizon(policy)
        four = [_at(long[0].curve(each), horizon) for each in KNOWING] if long else []
        regret, free = _at(curve, horizon), _at(anytime, horizon)
        value: dict[str, Any] = {
            "horizon": horizon,
            "regret": pair_or_none(regret),
            "anytime": pair_or_none(free),
        }
        slopes = ["", "", ""]
        if before:
            early = given_horizon(before)
            slope = slope_from((result[before], early), (curve, horizon), "unprofitable")
            free_slope = slope_from((anytime, early), (anytime, horizon), "unprofitable")
            form = slope_of_clients(scenario, LOGARITHMS, early, horizon)
            value |= {
                "slope": pair_or_none(slope),
                "anytime_slope": pair_or_none(free_slope),
                "closed_form": form,
            }
            over = [
                f"{plus_minus(*each)} ({each[0] / constant:.2f})" for each in (slope, free_slope)
            ]
            slopes = [over[0], f"{form:.4g} ({form / constant:.2f})", over[1]]
        best = plus_minus(*min(four)) if four else "-"
        lost = plus_minus(*_at(curve, horizon, "profitable"))
        with_horizon = [horizon_text(horizon), plus_minus(*regret), lost, *slopes[:2]]
        rows.append([*with_horizon, plus_minus(*free), slopes[2], best])
        values.append(value)
    headers = [
        "T",
        "regret",
        "of it from profitable categories",
        "slope (÷ bound)",
        "closed form (÷ bound)",
    ]
    headers += ["optimal", "its slope (÷ bound)", "best of the four"]
    return {
        "headers": headers,
        "rows": rows,
        "numbers": {"runs": number_text(result.finished), "constant": f"{constant:.2f}"},
        "values": values,
        "constant": constant,
        "runs": result.finished,
        "horizon": result.horizon,
        "scenario": scenario.name,
    }


def _at(curve: Curve, t: float, part: str = "regret") -> Estimate:
    place = checkpoint(curve, t)
    return float(curve.mean(part)[place]), float(curve.error(part)[place])
