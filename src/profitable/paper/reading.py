"""What a figure shows, in two or three sentences made from its numbers.  Names of policies stand in backquotes."""

import numpy as np

from profitable.common.text_tables import horizon_text, number
from profitable.paper.finding import SURE, by_regret, final, lead, plus_minus
from profitable.paper.reproduction import Trial


def reading(trial: Trial) -> str:
    """Which policy loses least, how much more the next one loses, and which one loses most."""
    best, *others = by_regret(trial)
    seen = f"Up to T = {horizon_text(trial.result.horizon)}, `{best.policy}` loses least: {final(best)}."
    if not others:
        return seen
    second, worst = others[0], others[-1]
    gap = plus_minus(float(second.regret[-1] - best.regret[-1]), float(np.hypot(best.stderr[-1], second.stderr[-1])))
    chance = "" if lead(best, second) > SURE else ", which may be chance"
    seen += f" The next, `{second.policy}`, loses {gap} more{chance}."
    if worst is second or best.regret[-1] <= 0.0:
        return seen
    times = float(f"{worst.regret[-1] / best.regret[-1]:.2g}")
    return f"{seen} `{worst.policy}` loses most, {number(times)} times as much as `{best.policy}`."
