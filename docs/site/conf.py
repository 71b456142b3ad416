"""Sphinx's settings for the documentation site.

`make site` (release/site.py) gathers the pages and calls Sphinx.
"""

import re
from typing import Any

from profitable.version import VERSION

project = "profitable"
author = "profitable developers"
version = release = VERSION
html_title = f"profitable {VERSION}"
html_copy_source = html_show_sourcelink = html_show_copyright = False

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
napoleon_google_docstring = False
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = ["misc.highlighting_failure"]
default_role = "code"  # docstrings are written for readers of plain text: `like this`
smartquotes = False
highlight_language = "text"
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
autodoc_default_options = {"members": True, "exclude-members": "__init__,__new__"}
python_display_short_literal_types = True
python_maximum_signature_line_length = 80
add_module_names = False

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
# Summaries are fetched, and a page that is opened as a file may not fetch.
html_show_search_summary = False
html_theme_options: dict[str, Any] = {
    "navigation_with_keys": True,
    "light_css_variables": {
        "color-brand-primary": "#1f5f8b",
        "color-brand-content": "#1f5f8b",
        "sheet": "#f4f5f7",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7cc0ee",
        "color-brand-content": "#7cc0ee",
        "sheet": "#1f2226",
    },
}

ITEM = re.compile(r"\s*(?:[-*] |\d+\. )")


def as_rst(
    app: object, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Rewrite the text above the numpydoc sections as reStructuredText.

    There, an indented block is shown as it is, and a list may follow its sentence.
    """
    # A pattern of files is no emphasis, and |x| is an absolute value.
    text = [re.sub(r"\*(?=\.\w)|\|(?=\w+\|)", r"\\\g<0>", line) for line in lines]
    underlines = (number for number, line in enumerate(text) if re.fullmatch("-{3,}", line))
    end = next(underlines, len(text) + 1) - 1  # the first section, which napoleon reads
    lines.clear()
    block = False  # inside something indented
    for number, line in enumerate(text[:end]):
        before = text[number - 1] if number else ""
        starts = (
            line.startswith("    ")
            and not before.strip()
            and not any(map(ITEM.match, text[max(0, number - 9) : number]))
        )
        if starts and not block:
            lines += ["::", ""]
            block = True
        elif line.strip() and not line.startswith(" "):
            block = False
        if (
            ITEM.match(line)
            and before.strip()
            and not before.startswith(" ")
            and not ITEM.match(before)
        ):
            lines.append("")
        if line.startswith("|") and not before.startswith("|"):
            lines += ["::", ""]
        lines.append(f"    {line}" if line.startswith("|") else line)
    lines += text[end:]


def setup(app: Any) -> None:
    """Register `as_rst` with Sphinx, to run before napoleon."""
    app.connect("autodoc-process-docstring", as_rst, priority=400)
