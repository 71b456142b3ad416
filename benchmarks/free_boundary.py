"""Solve the free boundary of the one-armed bandit with Brownian rewards, twice.

The solutions show the errors of the closed form.

A category has N units of information and M to come, s = 1 + M/N.  It is optimal to stop
for good as soon as z = (posterior mean - threshold) / (posterior standard deviation)
falls to -b(s).  `docs/optimal.md` tells why.

1. `solve` computes b(s) from an integral equation.  At the boundary nothing more can be
   gained.  So the expected rewards of all later moments at which the mean is above the
   boundary add up to 0.  With r = (information then)/N,

       0 = integral over r of weight(r) (-b(s) Phi(d) + sigma phi(d)) dr,
       sigma^2 = 1 - 1/r,   d = (b(s at r)/sqrt(r) - b(s)) / sigma.

   Horizon: weight 1 up to r = s, and s at r is s/r.
   Discount: weight exp(-(r - 1)/(s - 1)), and s at r is 1 + (s - 1)/r.
   b is sqrt(log s) times a polynomial in sqrt(log s), found by Newton's method.
2. `walk` allows a decision only at finitely many moments, and goes back from the last
   one: dynamic programming for a random walk.  Its boundary is lower by 0.5826 standard
   deviations of a step (Chernoff and Petkau).  What remains shrinks with the step, and
   Richardson's extrapolation removes most of it.  Given another boundary, it computes
   what that boundary loses.

.venv/bin/python benchmarks/free_boundary.py [picture.svg]
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import altair as alt
import numpy as np
from numpy.polynomial import Chebyshev
from numpy.polynomial.chebyshev import chebpts1, chebvander
from numpy.polynomial.legendre import leggauss
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from profitable.common.charts import Rows, saved, styled
from profitable.common.line_styles import BLUE, DASHED, GREEN, GREY, SHORT, VERMILION
from profitable.kernels.patience import worth_finding_out

Curve = Callable[[np.ndarray], np.ndarray]

FORGOTTEN = 40.0  # exp(-40) of the rewards is all that comes later
OVERSHOOT = (
    # -zeta(1/2) / sqrt(2 pi): of a normal random walk over a far boundary, in standard
    # deviations.
    0.5825971579390106
)
# So many standard deviations above the boundary, nothing that comes makes it worth
# stopping.
REACH = 13.0
SHOWN = np.array([1.001, 1.01, 1.1, 1.3, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1e3, 1e4, 1e5, 1e6])


def closed_form(s: np.ndarray) -> np.ndarray:
    """Return the P(profitable) below which `Optimal` stops, at risk 1."""
    return np.exp(-np.vectorize(worth_finding_out)(s - 1.0, 1.0))


def with_logarithm(s: np.ndarray) -> np.ndarray:
    """Return a closed form with a logarithm only, with larger errors up to s = 2."""
    return 2.0 / (s + 3.0 + 2.6 * np.log(s))


def large_s(s: np.ndarray) -> np.ndarray:
    """Lai's limit for s to infinity; a number from s = 10 on."""
    return np.sqrt(np.maximum(2.0 * np.log(s) - np.log(np.log(s)) - np.log(16.0 * np.pi), 0.0))


def as_boundary(probability: Curve) -> Curve:
    """b(s) of a rule that stops when P(profitable) falls to a given number."""
    return lambda s: -ndtri(np.minimum(probability(s), 0.5))


def density(x: float | np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)


def solve(
    *, discounted: bool = False, nodes: int = 40, points: int = 320, largest: float = 1e6
) -> Curve:
    """b(s) for 1 <= s <= largest.

    Twice the nodes and points change it by less than 1e-8.
    """
    top = np.sqrt(np.log(largest))
    root = 0.5 * top * (1.0 + chebpts1(nodes))  # sqrt(log s) at the nodes
    to_come = np.expm1(root**2)  # s - 1 = M/N
    x, x_weights = leggauss(points)
    angle, angle_weights = 0.25 * np.pi * (1.0 + x), 0.25 * np.pi * x_weights
    span = np.log1p(FORGOTTEN * to_come) if discounted else root**2
    log_r = span[:, None] * np.cos(angle) ** 2  # removes the square roots at both ends
    r = np.exp(log_r)
    weights = angle_weights * r * span[:, None] * np.sin(2.0 * angle)
    if discounted:
        weights *= np.exp(-np.expm1(log_r) / to_come[:, None])
        later = np.sqrt(np.log1p(to_come[:, None] / r))
    else:
        later = root[:, None] * np.sin(angle)
    sigma = np.sqrt(-np.expm1(-log_r))

    def basis(at: np.ndarray) -> np.ndarray:
        return chebvander(2.0 * at / top - 1.0, nodes - 1) * at[..., None]

    now, then = basis(root), basis(later) / np.sqrt(r)[..., None]
    coefficients = np.linalg.solve(now, 0.65 * root)  # a start of the right shape
    for _ in range(50):
        b = (now @ coefficients)[:, None]
        d = (then @ coefficients - b) / sigma
        below, bell = ndtr(d), density(d)
        gained = ((-b * below + sigma * bell) * weights).sum(axis=1)
        slope = np.einsum(
            "ij,ijk->ik", -(b + sigma * d) * bell * weights / sigma, then - now[:, None, :]
        )
        slope -= (below * weights).sum(axis=1)[:, None] * now
        step = np.linalg.solve(slope, gained)
        coefficients -= step / max(1.0, 2.0 * float(np.abs(now @ step).max()))
        if np.abs(now @ step).max() < 1e-13:
            break
    factor = Chebyshev(coefficients, domain=[0.0, top])
    return lambda s: np.sqrt(np.log(s)) * factor(np.sqrt(np.log(s)))


class Walk(NamedTuple):
    """Values of `walk` at each of its times."""

    s: np.ndarray
    boundary: np.ndarray  # b, with the correction for the step, not extrapolated
    # Bayes regret of a category of which as much is known, with posterior mean =
    # threshold.
    regret: np.ndarray


class Step(NamedTuple):
    """The way from one moment to the next."""

    now: float  # what a mean of 1 brings on the way
    kept: float  # what is left of rewards after it
    deviation: float  # of the posterior mean's change
    later: np.ndarray  # posterior means after it, from the boundary up to `high`
    masses: np.ndarray  # their values, times the weights of the quadrature
    high: float
    forever: float  # what a mean of 1 brings after it to whom accepts always


def accept(y: float | np.ndarray, step: Step) -> np.ndarray:
    """Return the value of accepting until the next moment; above `high`, for ever."""
    above = (y - step.high) / step.deviation
    rest = step.forever * (y * ndtr(above) + step.deviation * density(above))
    bells = density((step.later - np.asarray(y)[..., None]) / step.deviation)
    return step.now * y + step.kept * (bells @ step.masses + rest)


def moments(step: float, *, discounted: bool, first: float, largest: float) -> np.ndarray:
    """Return values of s; a step has `step` times the variance still to be learnt."""
    values = [1.0 + first]
    while values[-1] < largest:
        to_come = values[-1] - 1.0
        values.append(
            values[-1] + step * (to_come * to_come / (1.0 + to_come) if discounted else to_come)
        )
    return np.array(values)


def walk(s: np.ndarray, rule: Curve | None = None, *, discounted: bool = False) -> Walk:
    """Go back from the last moment, s[0], to the first.

    The rule is optimal unless another one is given.

    The horizon (or the discount's 1/(-log gamma)) is 1, so 1/(posterior variance) is
    the information.  y is the posterior mean, and its value is known at nodes from the
    boundary upwards.
    """
    x, weights = leggauss(240)
    x, weights = 0.5 * REACH * (1.0 + x), 0.5 * REACH * weights
    variance = s - 1.0 if discounted else s
    learnt = np.sqrt((s - 1.0) ** 2 / s) if discounted else np.sqrt(s - 1.0)
    # What a mean of 1 brings to whom accepts always.
    forever = np.ones(len(s)) if discounted else 1.0 - 1.0 / s
    b, regret = np.zeros(len(s)), np.zeros(len(s))
    # At s[0], what is still to be learnt does not count.
    edge, value = 0.0, forever[0] * learnt[0] * x
    for i in range(1, len(s)):
        length = 1.0 / variance[i - 1] - 1.0 / variance[i]
        deviation = float(np.sqrt(variance[i] - variance[i - 1]))
        step = Step(
            now=-np.expm1(-length) if discounted else length,
            kept=np.exp(-length) if discounted else 1.0,
            deviation=deviation,
            later=edge + learnt[i - 1] * x,
            masses=weights * learnt[i - 1] * value / deviation,
            high=edge + learnt[i - 1] * REACH,
            forever=forever[i - 1],
        )
        scale, lag = np.sqrt(variance[i]), OVERSHOOT * deviation / np.sqrt(variance[i])
        if rule is None:
            edge = float(brentq(accept, -7.0 * scale, 0.0, args=(step,)))
        else:
            edge = -max(float(rule(s[i])) - lag, 0.0) * scale
        value = accept(edge + learnt[i] * x, step)
        b[i] = lag - edge / scale
        regret[i] = forever[i] * scale / np.sqrt(2.0 * np.pi) - accept(0.0, step)
    return Walk(s[1:], b[1:], regret[1:])


def extrapolated(
    at: np.ndarray, *, discounted: bool = False, step: float = 0.16, first: float = 1e-4
) -> np.ndarray:
    """Return b of the walk, continued to steps of length 0 (Richardson)."""
    rows = []
    for part in (step, step / 2.0, step / 4.0):
        found = walk(
            moments(part, discounted=discounted, first=first, largest=1.01 * at[-1]),
            discounted=discounted,
        )
        rows.append(np.interp(np.sqrt(np.log(at)), np.sqrt(np.log(found.s)), found.boundary))
    # Without what is proportional to the step.
    coarse, fine = 2.0 * rows[1] - rows[0], 2.0 * rows[2] - rows[1]
    return fine + (fine - coarse) / (2.0**1.5 - 1.0)  # without the step to the power 3/2


def fit_errors(probability: Curve, exact: Curve) -> str:
    """Return the largest errors of a closed form on a fine grid from s = 1 to 10^6."""
    s = np.exp(np.linspace(0.001, np.sqrt(np.log(1e6)), 5_000) ** 2)
    ratio, shift = probability(s) / ndtr(-exact(s)) - 1.0, as_boundary(probability)(s) - exact(s)
    worst, furthest = np.abs(ratio).argmax(), np.abs(shift).argmax()
    return (
        f"P {ratio[worst]:+.2%} at s = {s[worst]:.3g}, z "
        f"{shift[furthest]:+.4f} at s = {s[furthest]:.3g}"
    )


def print_boundary(*, discounted: bool) -> None:
    """b(s) of both methods, and the closed form beside it."""
    exact = solve(discounted=discounted)
    finer = solve(discounted=discounted, nodes=80, points=640)
    # Towards s = 1 the discounted walk needs 1/(s - 1) steps.
    seen = SHOWN[SHOWN >= 1.1] if discounted else SHOWN
    steps = dict(
        zip(
            seen,
            extrapolated(
                seen, discounted=discounted, step=0.08, first=1 / 30 if discounted else 1e-4
            ),
        )
    )
    print(
        f"\n{'discount' if discounted else 'horizon'}: doubling nodes and "
        "points changes b by at most",
        end=" ",
    )
    print(f"{np.abs(finer(SHOWN) - exact(SHOWN)).max():.0e}")
    print(
        f"{'s':>9}{'b':>10}{'walk - b':>11}{'P':>12}"
        f"{'closed form':>13}{'error of P':>12}{'of z':>9}"
    )
    for s in SHOWN:
        b, p, form = float(exact(s)), float(ndtr(-exact(s))), float(closed_form(s))
        gap = f"{steps[s] - b:+11.0e}" if s in steps else f"{'':11}"
        print(
            f"{s:9g}{b:10.5f}{gap}{p:12.4e}"
            f"{form:13.4e}{form / p - 1:+12.2%}{-ndtri(form) - b:+9.4f}"
        )
    print("largest errors, closed form:  ", fit_errors(closed_form, exact))
    print("largest errors, with 2.6 log s:", fit_errors(with_logarithm, exact))


def print_limits() -> None:
    exact = solve(nodes=80, points=640, largest=1e12)
    small = 1.0 + 1e-8
    print(
        f"\nb / sqrt(s - 1) at s = 1 + 1e-8: {exact(small) / np.sqrt(small - 1.0):.6f}",
        end="; discount:",
    )
    print(f" {solve(discounted=True)(small) / np.sqrt(small - 1.0):.6f} (1/sqrt 2 = 0.707107)")
    print(f"{'s':>9}{'b':>10}{'Lai - b':>10}{'P s / 2':>10}")
    for s in 10.0 ** np.arange(2, 13, 2):
        print(
            f"{s:9.0e}{exact(s):10.5f}"
            f"{large_s(s) - exact(s):+10.4f}{ndtr(-exact(s)) * s / 2.0:10.4f}"
        )


def print_losses(*, discounted: bool) -> None:
    """Print the Bayes regret of a boundary over the smallest possible."""
    s = moments(0.01, discounted=discounted, first=1 / 30 if discounted else 1e-4, largest=1e6)
    at = [
        np.abs(s[1:] - value).argmin() for value in (1.1, 1.3, 2.0, 5.0, 10.0, 100.0, 1e3, 1e4, 9e5)
    ]
    rules = {
        "free boundary": solve(discounted=discounted, largest=2e6),
        "the other problem's": solve(discounted=not discounted, largest=2e6),
        "closed form": as_boundary(closed_form),
        "with 2.6 log s": as_boundary(with_logarithm),
        "P = 2/s, at most 1/2": as_boundary(lambda s: 2.0 / s),  # up to s = 4 it stops at once
    }
    best = walk(s, discounted=discounted).regret
    print(
        "\nBayes regret above the optimum, "
        f"{'discount' if discounted else 'horizon'}; s at the start:"
    )
    print(f"{'':22}" + "".join(f"{value:10.4g}" for value in s[1:][at]))
    for name, rule in rules.items():
        extra = walk(s, rule, discounted=discounted).regret / best - 1.0
        print(f"{name:22}" + "".join(f"{value:10.3%}" for value in extra[at]))


def draw(path: Path) -> None:
    """Draw the free boundary, the closed form and the two limits."""
    exact = solve()
    s = np.exp(np.linspace(0.01, np.sqrt(np.log(1e6)), 400) ** 2)
    near, far = s[s < 6.0], s[s > 60.0]
    thick, thin = [1, 0], 2.0
    lines = (  # name, s, b(s), colour, dashes, width, opacity
        ("free boundary b(s)", s, exact(s), BLUE, thick, 6.0, 0.35),
        ("closed form", s, as_boundary(closed_form)(s), BLUE, thick, thin, 1.0),
        ("limit for s → 1", near, 0.6388 * np.sqrt(near - 1.0), VERMILION, DASHED, thin, 1.0),
        ("limit for s → ∞ (Lai 1987)", far, large_s(far), GREEN, SHORT, thin, 1.0),
    )
    across = alt.X(
        "x:Q",
        title="M/N: clients to come per client known",
        scale=alt.Scale(type="log", domain=[1e-3, 1e6]),
        axis=alt.Axis(
            values=[10.0**k for k in range(-3, 7)],
            labelExpr="format(datum.value, datum.value < 1 ? '~g' : '~s')",
            grid=False,
        ),
    )
    up = alt.Y(
        "y:Q",
        title="standard deviations below the threshold",
        scale=alt.Scale(domain=[0.0, 5.0]),
    )
    names = [line[0] for line in lines]

    def scale(place: int) -> alt.Scale:
        return alt.Scale(type="ordinal", domain=names, range=[line[place] for line in lines])

    rows: Rows = [
        {"x": x - 1.0, "y": y, "line": name}
        for name, at, values, *_ in lines
        for x, y in zip(at.tolist(), values.tolist(), strict=True)
        if x - 1.0 >= 1e-3
    ]
    legend = alt.Legend(title=None, orient="top-left", columns=1, offset=10)
    curves = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(clip=True)
        .encode(
            x=across,
            y=up,
            color=alt.Color("line:N", scale=scale(3), legend=legend),
            strokeDash=alt.StrokeDash("line:N", scale=scale(4), legend=legend),
            strokeWidth=alt.StrokeWidth("line:N", scale=scale(5), legend=legend),
            opacity=alt.Opacity("line:N", scale=scale(6), legend=legend),
        )
    )
    words: Rows = [
        {"x": 0.03, "y": 3.2, "word": "stop for good"},
        {"x": 1e4, "y": 1.2, "word": "accept"},
    ]
    texts = alt.Chart(alt.InlineData(values=words)).mark_text(color=GREY, fontSize=16)
    both = alt.layer(curves, texts.encode(x=across, y=up, text="word:N"))
    saved(styled(both.properties(width=640, height=380)), path)


def main() -> None:
    for discounted in (False, True):
        print_boundary(discounted=discounted)
    print_limits()
    for discounted in (False, True):
        print_losses(discounted=discounted)
    for name in sys.argv[1:]:
        draw(Path(name))


if __name__ == "__main__":
    main()
