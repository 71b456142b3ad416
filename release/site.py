"""Build the documentation site: `make site`, or python release/site.py [folder].

The pages are those of docs/, with the README in front and the reference that is made from docstrings.  They are
gathered in a folder beside the site, where links between them are made to fit; then Sphinx is called.  Warnings are
errors.
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
BESIDE = {  # pages that are not in docs/, by their names on the site
    "index.md": ROOT / "README.md",
    "benchmarks.md": ROOT / "benchmarks/README.md",
    "contributing.md": ROOT / "CONTRIBUTING.md",
    "security.md": ROOT / "SECURITY.md",
    "changelog.md": ROOT / "CHANGELOG.md",
}
CONTENTS = {  # pages by name; a page of docs/ that is not named comes under the last caption
    "Learn": ["tutorial", "how-to", "simulation", "study", "scale"],
    "Your own clients": ["backtest", "real-portfolios", "portfolio", "audit"],
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
    "backtest": ("Backtests", ["replay"]),
    "portfolio": ("Portfolios", ["portfolio"]),
    "bounds": ("Bounds", ["bounds"]),
    "errors": ("Errors", ["errors"]),
}


def build(folder: Path) -> None:
    """Gather the pages, and let Sphinx make the site."""
    source = folder.with_name(f"{folder.name}-source")
    for old in (folder, source):
        shutil.rmtree(old, ignore_errors=True)
    gather(source)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    subprocess.run(
        [*command, "-d", str(folder.with_name(f"{folder.name}-cache")), str(source), str(folder)], check=True
    )


def gather(source: Path) -> None:
    """All pages, pictures and settings, as Sphinx takes them."""
    shutil.copytree(DOCS, source, ignore=shutil.ignore_patterns("*.py", "__pycache__", "site"))
    shutil.copytree(DOCS / "site", source, dirs_exist_ok=True)
    for name, path in BESIDE.items():
        (source / name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    for notebook in source.glob("*.ipynb"):
        notebook.with_suffix(".md").write_text(as_page(notebook), encoding="utf-8")
    (source / "api").mkdir()
    for name, text in api().items():
        (source / "api" / f"{name}.md").write_text(text, encoding="utf-8")
    for page in source.glob("*.md"):
        at = BESIDE.get(page.name, DOCS / page.name)
        page.write_text(with_links(page.read_text(encoding="utf-8"), at.parent), encoding="utf-8")
    with (source / "index.md").open("a", encoding="utf-8") as index:
        index.write(contents(source))


def with_links(text: str, folder: Path) -> str:
    """A page whose links lead to pages of the site; one that leads to a file elsewhere becomes plain text."""
    names = {path: name for name, path in BESIDE.items()}

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
    """A notebook as a page: its texts and its code, without what it printed."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    fences = {"markdown": "{}", "code": "```python\n{}\n```"}
    parts = [fences[cell["cell_type"]].format("".join(cell["source"])) for cell in cells]
    return "\n\n".join(parts) + f"\n\nThis page is a notebook: {{download}}`{notebook.name}`.\n"


def api() -> dict[str, str]:
    """Pages of autodoc's directives, for every public name."""
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
        raise LookupError(f"no page of the reference has {', '.join(left)}; add their rooms to API in release/site.py")
    listed = "\n".join(API)
    intro = (
        "Every public name with its docstring. [The reference](../reference.md) has them in tables, to look up quickly."
    )
    pages["index"] = f"# Reference from docstrings\n\n{intro}\n\n```{{toctree}}\n{listed}\n```\n"
    return pages


def directives(name: str, value: object) -> str:
    """What autodoc is told of one public name: a class with its members, a function, or a module with all it has."""
    if not isinstance(value, ModuleType):
        return f"## {name}\n\n{_directive('profitable', name, value)}"
    last = value.__name__.rpartition(".")[2]  # its names are defined there, or in the module of which it is the face
    own = {key: each for key, each in vars(value).items() if getattr(each, "__module__", "").endswith(f".{last}")}
    parts = [_directive(value.__name__, key, each) for key, each in own.items() if callable(each) and key[0] != "_"]
    return "\n\n".join([f"```{{eval-rst}}\n.. automodule:: {value.__name__}\n   :no-members:\n```", *parts])


def _directive(module: str, name: str, value: object) -> str:
    kind = "class" if inspect.isclass(value) else "function"
    return f"```{{eval-rst}}\n.. py:currentmodule:: {module}\n.. auto{kind}:: {name}\n```"


def contents(source: Path) -> str:
    """The table of contents, for the side of every page."""
    pages = {path.relative_to(source).with_suffix("").as_posix() for path in source.glob("*.md")} - {"index"}
    pages |= {"api/index"}
    named = {name for names in CONTENTS.values() for name in names}
    text = ""
    for caption, names in CONTENTS.items():
        shown = [name for name in names if name in pages]
        if caption == list(CONTENTS)[-1]:
            shown = [*sorted(pages - named), *shown]
        shown = [f"{short_title(source / f'{name}.md')} <{name}>" for name in shown]
        text += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(shown) + "\n```\n"
    return text


def short_title(page: Path) -> str:
    """The heading of a page, up to a colon."""
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").partition(":")[0].replace("`", "")


if __name__ == "__main__":
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"
    site.parent.mkdir(parents=True, exist_ok=True)
    build(site.absolute())
    print(site / "index.html")
