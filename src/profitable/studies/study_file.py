"""The study file: TOML.  Every mistake names the file, the field and the value.

A study that comes with the package is read by its name: `forget`, `map`.
"""

from pathlib import Path
from typing import Any

from profitable.common import files
from profitable.common.files import as_path
from profitable.errors import InputError
from profitable.model.category_table import is_list, known_fields, needed_field, parse_toml
from profitable.studies.template import Template

STUDY_EXAMPLES = Path(__file__).parent / "examples"
NEEDED = ("name", "scenario", "policies", "horizon", "runs")
OPTIONAL = ("axes", "seed", "halving", "finalists")


def example_names() -> list[str]:
    """The studies that come with the package."""
    return sorted(path.stem for path in STUDY_EXAMPLES.glob("*.toml"))


def read_text(path: Path | str) -> tuple[str, str, Path]:
    """The text of a study file, how errors call it, and the folder in which it looks for scenarios."""
    given = as_path("study", path)
    if not given.exists() and str(path) in example_names():
        given = STUDY_EXAMPLES / f"{path}.toml"
        return _text("study", given), f"{path}.toml", STUDY_EXAMPLES
    return _text("study", given), str(path), given.parent


def read(text: str, source: str, folder: Path | None) -> dict[str, Any]:
    """The arguments of a `Study`."""
    table = parse_toml(text, "study", source)
    known_fields(table, {*NEEDED, *OPTIONAL}, source)
    found = {key: needed_field(table, key, source) for key in NEEDED}
    found |= {key: table[key] for key in OPTIONAL if key in table}
    given = found["scenario"]
    several = is_list(given)
    entries = [_beside(each, folder, source) for each in (given if is_list(given) else [given])]
    found["scenario"] = entries if several else entries[0]
    return found


def _beside(entry: Any, folder: Path | None, source: str) -> Any:
    if not isinstance(entry, str):
        return entry
    return read_scenario((folder or Path()) / entry, field=f"{source}: scenario")


def read_scenario(path: Path, *, field: str = "scenario") -> Template:
    """The template that is in a scenario file."""
    table = parse_toml(_text(field, path), field, str(path))
    name = table.pop("name", path.stem)
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"{path}: name", name, "is not a name", 'give the scenario one: name = "..."')
    return Template(name, table, str(path))


def _text(field: str, path: Path) -> str:
    try:
        return files.read_text(path, "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        remedy = f"give a TOML file, or one of {', '.join(example_names())}" if field == "study" else "give a TOML file"
        raise InputError(field, str(path), f"cannot be read ({reason})", remedy) from None
