"""What the house promises, checked: few arguments in the kernels, one value for one name, files that stay short."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import profitable as pb

PACKAGE = Path(pb.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
MOST_ARGUMENTS = 7
MOST_LINES = 450


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name == "kernels"], ids=lambda path: path.stem)
def test_kernels_take_few_arguments_and_start_with_an_example(path: Path) -> None:
    module = tree(path)
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            assert len(node.args.args) + len(node.args.kwonlyargs) <= MOST_ARGUMENTS, node.name
    text = ast.get_docstring(module) or ""
    assert path.stem in ("__init__", "compile") or "Example" in text or ">>>" in text


def test_a_constant_has_one_value() -> None:
    """Two constants of one name would be read as one, in kernels above all."""
    values: dict[str, dict[str, str]] = defaultdict(dict)
    for path in FILES:
        for node in tree(path).body:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    names = target.elts if isinstance(target, ast.Tuple) else [target]
                    for name in names:
                        if isinstance(name, ast.Name) and name.id.isupper() and name.id != "EXAMPLE":
                            values[name.id][str(path.relative_to(PACKAGE))] = ast.unparse(node.value)
    assert {name: where for name, where in values.items() if len(set(where.values())) > 1} == {}


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.name == "__init__.py"], ids=lambda path: path.parent.name
)
def test_every_room_says_what_lives_there(path: Path) -> None:
    assert len(ast.get_docstring(tree(path)) or "") > 60


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_stay_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name == "kernels"], ids=lambda path: path.stem)
def test_kernels_return_plain_values_to_python(path: Path) -> None:
    """The compiler makes a NamedTuple by calling its class; if Ctrl-C arrives in that call, the process crashes."""
    structs = {"Sums", "Seen", "Law", "Rule", "Patience", "CodedView", "Truth", "Problem", "Tables"}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef) and any(ast.unparse(each) == "kernel" for each in node.decorator_list):
            assert node.returns is not None
            returned = {each.id for each in ast.walk(node.returns) if isinstance(each, ast.Name)}
            assert not returned & structs, node.name
