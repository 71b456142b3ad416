"""Build the documentation site: `make site`, or python release/site.py [folder].

The pages are those of docs/, with the README in front and the reference that is made
from docstrings.  They are gathered in a folder beside the site, where links between
them are made to fit; then Sphinx is called.  Warnings are errors.
"""

import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import profitable

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
OTHER_PAGES = {  # pages that are not in docs/, by their names on the site
    "index.md": ROOT / "README.md",
    "examples.md": ROOT / "examples/README.md",
    "benchmarks.md": ROOT / "benchmarks/README.md",
    "contributing.md": ROOT / "CONTRIBUTING.md",
    "security.md": ROOT / "SECURITY.md",
    "changelog.md": ROOT / "CHANGELOG.md",
}
CONTENTS = {  # pages by name; a page of docs/ that is not named comes under the last caption
    "Learn": ["tutorial", "examples", "how-to", "simulation", "study", "scale"],
    "Your own clients": [
        *("backtest", "past-clients", "stop-list", "late-outcomes", "real-portfolios"),
        *("portfolio", "audit"),
    ],
    "The paper and beyond": ["mathematics", "optimal", "paper", "first-figure"],
    "Look up": ["reference", "api/index", "cli"],
    "The project": ["design", "benchmarks", "contributing", "security", "changelog"],
}
API = {  # pages of the reference: title, and the rooms or modules whose public names they have
    "agent": ("Agent", ["agent"]),
    "category": ("Categories, families, priors", ["model"]),
    "policy": ("Policies", ["policy"]),
    "simulation": ("Simulation", ["simulation"]),
    "study": ("Studies", ["studies"]),
    "backtest": ("Backtests", ["replay", "past"]),
    "portfolio": ("Portfolios", ["portfolio"]),
    "bounds": ("Bounds", ["bounds"]),
    "errors": ("Errors", ["errors"]),
}

# Sphinx keeps all pages until the end: looking for garbage among them would take a
# third of its time.
SPHINX = """
import gc, sys
from sphinx.cmd.build import main
gc.disable()
sys.exit(main(sys.argv[1:]))
"""


def build(folder: Path) -> None:
    """Gather the pages, and let Sphinx make the site."""
    source = folder.with_name(f"{folder.name}-source")
    for old in (folder, source):
        shutil.rmtree(old, ignore_errors=True)
    gather(source)
    command = [sys.executable, "-c", SPHINX, "-q", "-W", "--keep-going", "-b", "html"]
    subprocess.run(
        [*command, "-d", str(folder.with_name(f"{folder.name}-cache")), str(source), str(folder)],
        check=True,
    )


def gather(source: Path) -> None:
    """Copy all pages, pictures and settings to where Sphinx reads them."""
    shutil.copytree(DOCS, source, ignore=shutil.ignore_patterns("*.py", "__pycache__", "site"))
    shutil.copytree(DOCS / "site", source, dirs_exist_ok=True)
    for name, path in OTHER_PAGES.items():
        (source / name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    with (source / "examples.md").open("a", encoding="utf-8") as page:
        page.write(examples())
    for notebook in source.glob("*.ipynb"):
        notebook.with_suffix(".md").write_text(as_page(notebook), encoding="utf-8")
    (source / "api").mkdir()
    for name, text in api().items():
        (source / "api" / f"{name}.md").write_text(text, encoding="utf-8")
    for page in source.glob("*.md"):
        at = OTHER_PAGES.get(page.name, DOCS / page.name)
        page.write_text(with_links(page.read_text(encoding="utf-8"), at.parent), encoding="utf-8")
    with (source / "index.md").open("a", encoding="utf-8") as index:
        index.write(contents(source))


def with_links(text: str, folder: Path) -> str:
    """Rewrite links to pages of the site; a link to a file elsewhere becomes text."""
    names = {path: name for name, path in OTHER_PAGES.items()}

    def link(match: re.Match[str]) -> str:
        mark, label, target, heading = match.groups(default="")
        if not target or target.startswith(("http:", "https:")):
            return match[0]
        goal = (folder / target).resolve()
        if goal in names:
            return f"{mark}[{label}]({names[goal]}{heading})"
        if goal.is_relative_to(DOCS) and goal.is_file():
            name = goal.relative_to(DOCS).as_posix()
            return f"{mark}[{label}]({re.sub('ipynb$', 'md', name)}{heading})"
        if not goal.exists():
            raise FileNotFoundError(f"{target}, to which {folder} has a link")
        return label

    return re.sub(r"(!?)\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)", link, text)


def as_page(notebook: Path) -> str:
    """Return a notebook as a page, with a link to download it."""
    return f"{as_markdown(notebook)}\n\nThis page is a notebook: {{download}}`{notebook.name}`.\n"


def as_markdown(notebook: Path) -> str:
    """Return the text and the code of a notebook, without what it printed."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    fences = {"markdown": "{}", "code": "```python\n{}\n```"}
    return "\n\n".join(fences[cell["cell_type"]].format("".join(cell["source"])) for cell in cells)


def examples() -> str:
    """Return the code of all examples: a section each, headed by the file's name."""
    parts: list[str] = []
    for path in sorted((ROOT / "examples").iterdir()):
        if path.suffix == ".py":
            code = path.read_text(encoding="utf-8").strip()
            parts.append(f"## {path.name}\n\n```python\n{code}\n```")
        elif path.suffix == ".ipynb":
            text = re.sub(r"^# (.+)", r"\1", as_markdown(path))
            parts.append(f"## {path.name}\n\n{text}")
    return "\n" + "\n\n".join(parts) + "\n"


def api() -> dict[str, str]:
    """Return pages of autodoc's directives, for every public name."""
    left = {name: getattr(profitable, name) for name in profitable.__all__ if name != "__version__"}
    pages: dict[str, str] = {}
    for page, (title, rooms) in API.items():
        parts = [f"# {title}"]
        for name, value in list(left.items()):
            module = value.__name__ if isinstance(value, ModuleType) else value.__module__
            if module.split(".")[1] in rooms:
                parts += [directives(name, value)]
                del left[name]
        pages[page] = "\n\n".join(parts) + "\n"
    if left:
        raise LookupError(
            f"no page of the reference has {', '.join(left)};"
            " add their rooms to API in release/site.py"
        )
    listed = "\n".join(API)
    intro = (
        "Every public name with its docstring."
        " [The reference](../reference.md) has them in tables, to look up quickly."
    )
    pages["index"] = f"# Reference from docstrings\n\n{intro}\n\n```{{toctree}}\n{listed}\n```\n"
    return pages


def directives(name: str, value: object) -> str:
    """Return autodoc's directives for a public class, function or module."""
    if not isinstance(value, ModuleType):
        return f"## {name}\n\n{_directive('profitable', name, value)}"
    # Its names are defined there, or in internal modules of this package.
    parts = [
        _directive(value.__name__, key, each)
        for key, each in vars(value).items()
        if callable(each) and key[0] != "_" and each.__module__.startswith("profitable.")
    ]
    return "\n\n".join(
        [f"```{{eval-rst}}\n.. automodule:: {value.__name__}\n   :no-members:\n```", *parts]
    )


def _directive(module: str, name: str, value: object) -> str:
    kind = "class" if inspect.isclass(value) else "function"
    option = "   :inherited-members:\n" if _has_a_hidden_base(value) else ""
    return f"```{{eval-rst}}\n.. py:currentmodule:: {module}\n.. auto{kind}:: {name}\n{option}```"


def _has_a_hidden_base(value: object) -> bool:
    """Return whether a class has methods of an internal class, which has no page."""
    bases = value.__mro__[1:] if isinstance(value, type) else ()
    ours = [base for base in bases if base.__module__.startswith("profitable.")]
    return bool(ours) and not any(base.__name__ in profitable.__all__ for base in ours)


def contents(source: Path) -> str:
    """Return the table of contents, for the side of every page."""
    pages = {
        path.relative_to(source).with_suffix("").as_posix() for path in source.glob("*.md")
    } - {"index"}
    pages |= {"api/index"}
    named = {name for names in CONTENTS.values() for name in names}
    text = ""
    for caption, names in CONTENTS.items():
        shown = [name for name in names if name in pages]
        if caption == list(CONTENTS)[-1]:
            shown = [*sorted(pages - named), *shown]
        shown = [f"{short_title(source / f'{name}.md')} <{name}>" for name in shown]
        text += (
            f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(shown) + "\n```\n"
        )
    return text


def short_title(page: Path) -> str:
    """Return the heading of a page, up to a colon."""
    return (
        page.read_text(encoding="utf-8")
        .partition("\n")[0]
        .removeprefix("# ")
        .partition(":")[0]
        .replace("`", "")
    )


if __name__ == "__main__":
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"
    site.parent.mkdir(parents=True, exist_ok=True)
    build(site.absolute())
    print(site / "index.html")
