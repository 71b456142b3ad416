"""Structure of the package: names that occur once, short files, plain kernels.

Also where tests are: `tests/<room>/test_<module>[_<aspect>].py`.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import profitable as pb

PACKAGE = Path(pb.__file__).parent
TESTS = Path(__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
KERNELS = [path for path in FILES if path.parent.name == "kernels"]
MOST_ARGUMENTS = 7
MOST_LINES = 600
MOST_TERMS = 50  # of the glossary
ROOMS = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file())

# What still breaks the rules below. These lists only shrink.
CLASSES_WITH_ONE_NAME: set[str] = set()
FILES_WITH_ONE_NAME: set[str] = set()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef))


def test_kernels_take_few_arguments_and_start_with_an_example() -> None:
    for path in KERNELS:
        for node in functions(path):
            given = len(node.args.args) + len(node.args.kwonlyargs)
            # Python calls it with each of them, because to pass a struct takes longer.
            is_direct = any(ast.unparse(each) == "direct" for each in node.decorator_list)
            assert given <= MOST_ARGUMENTS + is_direct, (path.stem, node.name)
        text = ast.get_docstring(tree(path)) or ""
        assert path.stem in ("__init__", "compile") or "Example" in text or ">>>" in text, path


def test_a_constant_has_one_value() -> None:
    """Two constants of one name would be read as one, in kernels above all."""
    values: dict[str, dict[str, str]] = defaultdict(dict)
    for path in FILES:
        for node in tree(path).body:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    names = target.elts if isinstance(target, ast.Tuple) else [target]
                    for name in names:
                        if (
                            isinstance(name, ast.Name)
                            and name.id.isupper()
                            and name.id != "EXAMPLE"
                        ):
                            values[name.id][str(path.relative_to(PACKAGE))] = ast.unparse(
                                node.value
                            )
    assert {name: where for name, where in values.items() if len(set(where.values())) > 1} == {}


def repeated(places: dict[str, list[Path]]) -> dict[str, list[str]]:
    """The names that occur in more than one place, with the places."""
    return {
        name: [str(path.relative_to(PACKAGE)) for path in paths]
        for name, paths in places.items()
        if len(paths) > 1
    }


def test_no_two_classes_share_a_name() -> None:
    places: dict[str, list[Path]] = defaultdict(list)
    for path in FILES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path)
    found = repeated(places)
    assert {name: found[name] for name in found.keys() - CLASSES_WITH_ONE_NAME} == {}


def test_no_file_name_occurs_in_two_rooms() -> None:
    places: dict[str, list[Path]] = defaultdict(list)
    for room in ROOMS:
        for path in (PACKAGE / room).glob("*.py"):
            places[path.stem].append(path)
    found = repeated({name: paths for name, paths in places.items() if name != "__init__"})
    assert {name: found[name] for name in found.keys() - FILES_WITH_ONE_NAME} == {}


def test_tests_are_found_by_the_name_of_their_module() -> None:
    """tests/agent/test_decision_frames.py tests src/profitable/agent/decision.py."""
    lost: set[str] = set()
    for room in ROOMS:
        modules = {path.stem for path in (PACKAGE / room).glob("*.py")} - {"__init__"}
        for path in (TESTS / room).glob("test_*.py"):
            name = path.stem.removeprefix("test_")
            if not any(name == each or name.startswith(f"{each}_") for each in modules):
                lost.add(f"{room}/{name}")
    assert lost == set()


def test_every_file_is_named_on_the_page_about_the_design() -> None:
    page = (PACKAGE.parents[1] / "docs" / "design.md").read_text(encoding="utf-8")
    known = {"__init__", "__main__", "version", "env", "0001_journal_and_state"}
    names = {path.stem for path in FILES} - known
    assert {name for name in names if not re.search(rf"\b{name}\b", page)} == set()


def test_every_room_says_what_lives_there() -> None:
    for path in FILES:
        if path.name == "__init__.py":
            assert len(ast.get_docstring(tree(path)) or "") > 60, path


def test_files_stay_short() -> None:
    """Docstrings do not count: those of the public API may be long."""
    lines: dict[Path, int] = {}
    for path in FILES:
        lines[path] = len(path.read_text(encoding="utf-8").splitlines())
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                lines[path] -= len((ast.get_docstring(node) or "").splitlines())
    assert {path: count for path, count in lines.items() if count > MOST_LINES} == {}


def test_kernels_return_plain_values_to_python() -> None:
    """The compiler makes a NamedTuple by calling its class; if Ctrl-C arrives in that
    call, the process crashes.
    """
    structs = {
        node.name
        for path in KERNELS
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef) and "NamedTuple" in map(ast.unparse, node.bases)
    }
    assert len(structs) > 5
    for path in KERNELS:
        for node in functions(path):
            if any(ast.unparse(each) == "kernel" for each in node.decorator_list):
                assert node.returns is not None
                names = {each.id for each in ast.walk(node.returns) if isinstance(each, ast.Name)}
                assert not names & structs, (path.stem, node.name)


# Of a NamedTuple, and of the standard library and numba where nothing public will do.
NOT_OURS = {"_replace", "_fields", "_asdict", "_make", "_exit", "_processes"}
NOT_OURS |= {"_cache", "_cache_file", "_getvalue", "_source_stamp", "_version"}
NOT_OURS |= {"_data_layout", "_final_module", "_function_pass_manager", "_impl", "_values"}


def private_names(module: ast.Module) -> set[str]:
    """Private names that a module defines: functions, classes, attributes, slots."""
    found: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return {name for name in found if name.startswith("_")}


def is_own(value: ast.expr) -> bool:
    """Whether an attribute is of the object itself: self, cls, or super()."""
    if isinstance(value, ast.Call):
        value = value.func
    return isinstance(value, ast.Name) and value.id in ("self", "cls", "super")


def test_nobody_uses_a_private_name_of_another_room() -> None:
    rooms: dict[Path, set[str]] = defaultdict(set)
    for path in FILES:
        rooms[path.parent] |= private_names(tree(path))
    found: list[str] = []
    for path in FILES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Attribute) and not is_own(node.value):
                name, is_ours = node.attr, node.attr not in NOT_OURS
                is_private = name.startswith("_") and not name.startswith("__")
                if is_private and is_ours and name not in rooms[path.parent]:
                    found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}")
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("profitable"):
                private = [each.name for each in node.names if each.name.startswith("_")]
                found += [
                    f"{path.relative_to(PACKAGE)}: {name}" for name in private if name[1] != "_"
                ]
    assert found == []


def test_the_glossary_is_short_and_its_classes_exist() -> None:
    page = (TESTS.parent / "docs/design.md").read_text(encoding="utf-8")
    words = page.partition("## The words")[2].partition("\n## ")[0]
    terms = re.findall(r"^\| (`?)([A-Za-z]+)`? \|", words, re.M)
    terms = [(mark, term) for mark, term in terms if term != "term"]
    assert 30 < len(terms) <= MOST_TERMS
    classes = {
        node.name
        for path in FILES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef)
    }
    assert {term for mark, term in terms if mark} <= classes
