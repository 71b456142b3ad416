"""Checks of the optimal policy and of its price.

`optimal_checks.toml` has the statements and the tests in words; `DECIDED_BY` has the
functions that carry them out.
"""

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from profitable.paper.contest import CAREFUL, WITH_HORIZON, Contest, against, below, share_text
from profitable.paper.experiment import PAPER, WITH_OPTIMAL
from profitable.paper.finding import SURE, Finding, judge, not_run, only, ratio_of, unless_too_few
from profitable.paper.reproduction import Trial

GAIN = 0.15  # the mean is to be lower by at least this share


def _decidable(found: Sequence[Contest]) -> list[Contest]:
    return [each for each in found if each.paper is not None]


def _trials(found: Sequence[Contest]) -> list[Trial]:
    return [trial for each in found for trial in each.trials]


def _listed(found: Sequence[Contest], texts: Sequence[str]) -> str:
    return ", ".join(f"{text} ({each.name})" for each, text in zip(found, texts, strict=True))


def decide_gain(found: Sequence[Contest]) -> Finding:
    """Check that knowing the horizon lowers the mean by at least `GAIN`."""
    found = _decidable(found)
    if not found:
        return not_run(*PAPER, *WITH_OPTIMAL)
    ratios = [ratio_of(each.score(WITH_HORIZON).mean, each.four[0].mean) for each in found]
    verdict = judge(
        shown=all(ratio + SURE * error <= 1.0 - GAIN for ratio, error in ratios),
        refuted=any(ratio - SURE * error > 1.0 - GAIN for ratio, error in ratios),
        restriction=all(ratio + SURE * error < 1.0 for ratio, error in ratios),
    )
    gains = _listed(
        found, [against(each.score(WITH_HORIZON).mean, each.four[0].mean) for each in found]
    )
    seen = (
        f"{only([each.trial for each in found], WITH_OPTIMAL)}Mean regret against the best of the "
        f"four: {gains}."
    )
    short = _listed(found, [f"{ratio - 1.0:+.0%}" for ratio, _ in ratios])
    return Finding(
        verdict, seen, f"Mean regret against the best of the four: {short}.", trials=_trials(found)
    )


def decide_price(found: Sequence[Contest]) -> Finding:
    """Check that knowing the horizon loses profitable categories more often."""
    found = _decidable(found)
    if not found:
        return not_run(*PAPER, *WITH_OPTIMAL)
    scores = [each.score(WITH_HORIZON) for each in found]
    leads = [below(each.four[0].lost, mine.lost) for mine, each in zip(scores, found, strict=True)]
    verdict = judge(
        shown=any(lead > SURE for lead in leads),
        refuted=all(lead < -SURE for lead in leads),
        restriction=False,
    )
    lost = [
        f"{share_text(mine.lost)} against {share_text(each.four[0].lost)} of {each.four[0].policy}"
        for mine, each in zip(scores, found, strict=True)
    ]
    tails = [
        f"{mine.tail_text} against {each.tails[-1].tail_text}"
        for mine, each in zip(scores, found, strict=True)
    ]
    seen = (
        f"{only([each.trial for each in found], WITH_OPTIMAL)}"
        f"Runs that lose a profitable category: {_listed(found, lost)}. "
    )
    seen += f"99 % quantile against the largest of the four: {_listed(found, tails)}."
    short = _listed(
        found,
        [
            f"{mine.lost[0]:.2%} and {each.four[0].lost[0]:.2%}"
            for mine, each in zip(scores, found, strict=True)
        ],
    )
    return Finding(
        verdict,
        seen,
        f"Runs that lose a profitable category, and those of the best of the four: {short}.",
        trials=_trials(found),
    )


def decide_careful(found: Sequence[Contest]) -> Finding:
    """Check that a small risk improves both the mean and the worst runs of all four."""
    found = _decidable(found)
    if not found:
        return not_run(*PAPER, *WITH_OPTIMAL)
    scores = [each.score(CAREFUL) for each in found]
    means = [below(mine.mean, each.four[0].mean) for mine, each in zip(scores, found, strict=True)]
    tails = [below(mine.tail, each.tails[0].tail) for mine, each in zip(scores, found, strict=True)]
    of_best = [
        below(mine.tail, each.four[0].tail) for mine, each in zip(scores, found, strict=True)
    ]
    everything = [*means, *tails]
    verdict = judge(
        shown=all(lead > SURE for lead in everything),
        refuted=any(lead < -SURE for lead in everything),
        restriction=all(lead > SURE for lead in (*means, *of_best)),
    )
    gains = _listed(
        found,
        [against(mine.mean, each.four[0].mean) for mine, each in zip(scores, found, strict=True)],
    )
    quantiles = _listed(
        found,
        [against(mine.tail, each.tails[0].tail) for mine, each in zip(scores, found, strict=True)],
    )
    seen = (
        f"{only([each.trial for each in found], WITH_OPTIMAL)}Mean regret against the best of the "
        f"four: {gains}; "
    )
    seen += f"99 % quantile against the smallest of the four: {quantiles}."
    unclear = [each.name for each, lead in zip(found, tails, strict=True) if not lead > SURE]
    if unclear and all(lead > SURE for lead in of_best):
        seen += (
            f" In {', '.join(unclear)} the quantile is shown to be smaller only than that of "
            "the best mean."
        )
    short = [
        f"{mine.mean[0] / each.four[0].mean[0] - 1.0:+.0%} and "
        f"{mine.tail[0] / each.tails[0].tail[0] - 1.0:+.0%}"
        for mine, each in zip(scores, found, strict=True)
    ]
    return Finding(
        verdict,
        seen,
        f"Mean and 99 % quantile against the smallest of the four: {_listed(found, short)}.",
        trials=_trials(found),
    )


DECIDED_BY: dict[str, Callable[[Sequence[Contest]], Finding]] = {
    "gain": decide_gain,
    "price": decide_price,
    "careful": decide_careful,
}


def checks(found: Sequence[Contest]) -> list[dict[str, Any]]:
    """Return the checks of `optimal_checks.toml`, with what was found."""
    table = tomllib.loads(
        Path(__file__).with_name("optimal_checks.toml").read_text(encoding="utf-8")
    )
    return [
        {"key": key, **entry, **unless_too_few(DECIDED_BY[key](found)).to_dict()}
        for key, entry in table.items()
    ]
