"""Figures of matplotlib, which is an extra: `pip install 'profitable[plot]'`."""

# matplotlib leaves some of its keyword arguments untyped.
# pyright: reportUnknownMemberType=false

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from profitable.common.extras import extra
from profitable.errors import InputError, NotSavedError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float) -> "Figure":
    """A matplotlib figure that needs no window system."""
    with extra("plot", "pictures are drawn with it"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure; InputError if there is no such kind of picture, NotSavedError if the file cannot be written."""
    kinds = figure.canvas.get_supported_filetypes()
    if path.suffix and path.suffix[1:].lower() not in kinds:
        raise InputError("path", str(path), "ends like no picture that can be made", f"choose from {', '.join(kinds)}")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph")  # a name in letters that the font does not have
            cast(Any, figure).savefig(path, dpi=150)  # its stub is partly untyped
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        raise NotSavedError("path", str(path), problem, "choose another file") from None
