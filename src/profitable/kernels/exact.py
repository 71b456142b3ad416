"""Sums and products without rounding error, and the shortfall N tau - S.

Every evidence is built on the shortfall.

The plain formula N d(S/N, tau) has lost all its digits near S/N = tau long before N =
10^9.  Written with the shortfall it keeps them.  Example: 3 clients at a threshold of
0.1, of whom 0.3 was received.

>>> 3 * 0.1 - 0.3, shortfall(3.0, 0.1, 0.3, 0.0)  # exact product, rounded once
(5.551115123125783e-17, 2.7755575615628914e-17)
"""

from profitable.kernels.compile import kernel, part

SPLITTER = 134217729.0  # 2^27 + 1: Dekker's splitting of a double into two halves
CLOSE_GAP = 2.0**-12  # of a sum: beyond it, its carry changes the thirteenth digit of a gap at most
TIE = 4.5e-16  # relative to the mean: two to four times the spacing of doubles there
ROUNDED_WEIGHTS = 1e-12  # D/Q of equal rewards, at most, after many changes of their weight


@part
def exact_product(x: float, y: float) -> tuple[float, float]:
    """x * y as a rounded product and its rounding error (Dekker)."""
    product = x * y
    if not abs(product) < 1e290:
        return product, 0.0
    c = SPLITTER * x
    x_high = c - (c - x)
    x_low = x - x_high
    c = SPLITTER * y
    y_high = c - (c - y)
    y_low = y - y_high
    return product, x_low * y_low - (
        ((product - x_high * y_high) - x_low * y_high) - x_high * y_low
    )


@part
def exact_sum(x: float, y: float) -> tuple[float, float]:
    """x + y as a rounded sum and its rounding error (Knuth)."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


@part
def shortfall(clients: float, mean: float, total: float, carry: float) -> float:
    """Return clients * mean - (total + carry), with the product exact.

    `carry` is what the sum lost to rounding.

    The carry counts where it could change more than the last digits, which is where the
    mean is close.  Elsewhere it would only show that a huge number was once added and
    taken back, which the total does not.
    """
    product, error = exact_product(clients, mean)
    gap = (product - total) + error
    return gap - carry if carry != 0.0 and abs(gap) < CLOSE_GAP * abs(total) else gap


@kernel
def is_below(clients: float, total: float, threshold: float) -> bool:
    """Return whether the mean S/N is below the threshold.

    A difference in the last digits of a double is a tie, not below.

    A threshold is often a rounded quotient.  1/1.15 comes out as the double above
    20/23, but 20 of 23 loans repaid at 15 % break even.
    """
    mean = total / clients
    return mean + TIE * abs(mean) < threshold


@part
def is_above(clients: float, total: float, threshold: float) -> bool:
    """Return whether the mean S/N is above the threshold, by more than a tie."""
    mean = total / clients
    return mean - TIE * abs(mean) > threshold


@part
def squared_deviations(
    clients: float, total: float, carry: float, squares: float, squares_carry: float
) -> float:
    """Return Q - S^2 / N in twice the precision.

    The two terms are nearly equal where the spread is small compared with the mean.
    """
    if clients <= 0.0:
        return 0.0
    product, error = exact_product(total, total)
    error += 2.0 * total * carry
    quotient = product / clients
    back, back_error = exact_product(quotient, clients)
    rest = (((product - back) - back_error) + error) / clients
    return max(0.0, (squares - quotient) + (squares_carry - rest))


@part
def weighted_deviations(
    clients: float, total: float, carry: float, squares: float, squares_carry: float
) -> float:
    """Return the same for sums that were rounded when their weights changed.

    Equal rewards must not seem to differ.
    """
    spread = squared_deviations(clients, total, carry, squares, squares_carry)
    return spread if spread > ROUNDED_WEIGHTS * squares else 0.0
