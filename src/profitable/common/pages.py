"""Pages that open offline: templates, the script of the charts, pictures.

A page extends `page.html.j2`, which has the style and the script; its tables and
figures come from `parts.html.j2`. It needs `script` (`chart_script()`) and `specs`
(`chart_specs(...)`).  Names are data: `environment` escapes them on pages, and
`json_for_page` inside scripts.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import vl_convert
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from profitable.common.charts import Figure, svg_of
from profitable.common.files import replace_file, replace_text
from profitable.common.text_tables import horizon_text, number_text

SHARED_TEMPLATES = Path(__file__).parent / "templates"


def environment(templates: Path, *, html: bool) -> Environment:
    """Return the templates of a folder and the shared ones.

    A name that is not given is an error.
    """
    made = Environment(
        loader=FileSystemLoader([templates, SHARED_TEMPLATES]),
        autoescape=html,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {"number": number_text, "horizon": horizon_text, "code": code}
    return made


def code(text: str) -> Markup:
    """Words in backquotes as code, for a page.

    >>> str(code("`ts` is < 1"))
    '<code>ts</code> is &lt; 1'
    """
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def chart_script() -> Markup:
    """Vega, Vega-Lite and Vega-Embed as one script, for a page without a network."""
    # Its stub asks for an argument that has a default.
    bundle = cast(Any, vl_convert).javascript_bundle()
    return Markup(bundle.replace("</script", "<\\/script"))


def chart_specs(figures: Iterable[Figure]) -> Markup:
    """All charts as one JSON object, safe inside a script element."""
    return json_for_page({figure.name: figure.chart for figure in figures})


def json_for_page(value: object) -> Markup:
    r"""Return a value as JSON that is safe inside a script element.

    >>> str(json_for_page(["</script>"]))
    '["<\\/script>"]'
    """
    return Markup(
        json.dumps(value, separators=(",", ":")).replace("</", "<\\/").replace("<!--", "<\\u0021--")
    )


def save_pictures(figure: Figure, folder: Path, scale: float | None = None) -> list[Path]:
    """Write a figure as SVG, and with a `scale` also as PNG; returns the paths."""
    svg = svg_of(figure.picture)
    paths = [replace_text(folder / f"{figure.name}.svg", svg)]
    if scale is not None:
        png = vl_convert.svg_to_png(svg, scale=scale)
        paths.append(
            replace_file(folder / f"{figure.name}.png", lambda path: path.write_bytes(png))
        )
    return paths
