"""The look of a curve: a colour and a pattern of dashes."""

from dataclasses import dataclass

# Okabe and Ito's colours: colour-blind readers can tell them apart.
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#777777"
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, GREY)
SOLID, DASHED, DASH_DOT, SHORT = (1, 0), (5, 3), (8, 2, 2, 2), (2, 2)


@dataclass(frozen=True, slots=True)
class Look:
    """A colour, and the lengths of dashes and gaps."""

    colour: str
    dash: tuple[int, ...] = SOLID
