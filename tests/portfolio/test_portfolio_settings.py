"""The file that a portfolio is made from: what it says, and every mistake in one
sentence.
"""

from pathlib import Path

import pytest

import profitable as pb
from profitable.portfolio.portfolio_settings import load, read

LENDING = """
name = "lending"
policy = "ts:forget=0.99"
seed = 7

[[category]]
name = "students"
loan = { amount = 2000, rate = 0.12, recovery = 0.4 }

[[category]]
name = "calls"
offer = { cost = 1, revenue = 10 }
prior = { kind = "beta", first = 1, second = 3 }

[[category]]
name = "cards"
returns = { required = 0.05, high = 3, weight = "client" }

[[category]]
name = "shops"
family = "gamma"
shape = 2.0
threshold = 3.0
bound = 50.0
worth = 2.0

[[category]]
name = "claims"
family = "bounded"
low = 0
high = 10
threshold = 4
"""


def test_what_a_file_says() -> None:
    settings = read(LENDING, "lending.toml")
    assert (settings.name, settings.policy, settings.seed) == ("lending", "ts:forget=0.99", 7)
    assert settings.categories == (
        pb.Category.loan("students", amount=2_000, rate=0.12, recovery=0.4),
        pb.Category.offer("calls", cost=1, revenue=10, prior=pb.Prior("beta", 1, 3)),
        pb.Category.returns("cards", required=0.05, high=3, weight="client"),
        pb.Category("shops", pb.Gamma(shape=2.0), threshold=3.0, bound=50.0, worth=2.0),
        pb.Category("claims", pb.Bounded(low=0, high=10), threshold=4),
    )


def test_what_a_file_need_not_say() -> None:
    settings = read('[[category]]\nname = "cards"\nreturns = {}\n', "cards.toml")
    assert (settings.name, settings.policy, settings.seed) == (None, None, None)
    assert settings.categories == (pb.Category.returns("cards"),)


MISTAKES = [
    ("seed = 7", "sede = 7", ["sede = 7", "did you mean seed"]),
    ("seed = 7", "seed = -7", ["seed = -7", "0 or more"]),
    ("seed = 7", "seed = true", ["seed = True"]),
    ("seed = 7", "seed = 7.5", ["seed = 7.5"]),
    ('"ts:forget=0.99"', '"ts:forget=2"', ["forget = 2"]),
    ('"ts:forget=0.99"', '"tss"', ["policy", "'tss'"]),
    ('"ts:forget=0.99"', "3", ["policy = 3"]),
    ('name = "lending"', 'name = ""', ["name = ''"]),
    ('name = "shops"', 'name = "cards"', ["category 4", "'cards'", "twice"]),
    ('name = "shops"', "", ["category 4: name", "is not a name"]),
    ('name = "shops"', 'name = "shops\\u001b[2J"', ["'shops\\x1b[2J'", "cannot be printed"]),
    ('name = "shops"', 'name = " shops"', ["' shops'", "spaces"]),
    ('name = "shops"', f'name = "{"x" * 501}"', ["501 letters"]),
    ("threshold = 3.0", "threshold = -3.0", ["'shops'", "threshold = -3.0"]),
    ("threshold = 3.0", "treshold = 3.0", ["'shops'", "treshold", "did you mean threshold"]),
    ("threshold = 3.0", "", ["'shops'", "threshold", "missing"]),
    (
        "threshold = 3.0",
        "threshold = 3.0\nmean = 4.0",
        ["'shops'", "mean = 4.0", "hidden truth", "leave it out"],
    ),
    (
        "threshold = 3.0",
        "threshold = 3.0\nclients = 5",
        ["'shops'", "clients = 5", "hidden truth", "leave it out"],
    ),
    (
        "rate = 0.12",
        "rate = 0.12, repayment = 0.9",
        ["'students'", "loan: repayment = 0.9", "hidden truth"],
    ),
    ("rate = 0.12", "rate = 12", ["'students'", "loan", "rate = 12", "0.12 for 12 %"]),
    (", rate = 0.12", "", ["'students'", "loan: rate", "missing"]),
    ("{ cost = 1, revenue = 10 }", "3", ["'calls'", "offer = 3", "cost = ..., revenue = ..."]),
    (
        "{ cost = 1, revenue = 10 }",
        "{ cost = 10, revenue = 1 }",
        ["'calls'", "offer", "revenue = 1.0"],
    ),
    (
        "{ cost = 1, revenue = 10 }",
        "{ cost = 1, reveneu = 10 }",
        ["'calls'", "offer", "did you mean revenue"],
    ),
    ('weight = "client"', 'weight = "clients"', ["'cards'", "returns", "weight = 'clients'"]),
    ("required = 0.05", "required = 5", ["'cards'", "returns", "required = 5"]),
    ('family = "gamma"', 'family = "gama"', ["'shops'", "family = 'gama'", "choose from"]),
    ('family = "gamma"', "", ["'shops'", "shape = 2.0"]),
    ("shape = 2.0", "", ["'shops'", "shape", "missing"]),
    ('kind = "beta"', 'kind = "gamma"', ["'calls'", "prior"]),
    ("low = 0", "low = 20", ["'claims'", "low = 20"]),
]


@pytest.mark.parametrize(
    ("old", "new", "named"),
    MISTAKES,
    ids=[f"{new or 'no ' + old}"[:40] for old, new, _ in MISTAKES],
)
def test_mistakes(old: str, new: str, named: list[str]) -> None:
    assert LENDING.count(old) == 1
    with pytest.raises(pb.ProfitableError) as caught:
        read(LENDING.replace(old, new), "lending.toml")
    message = str(caught.value)
    assert message.startswith("lending.toml: ")
    assert "\n" not in message
    for part in named:
        assert part in message, message


@pytest.mark.parametrize("text", ["", "category = []", "category = 3", 'name = "x"'])
def test_no_categories(text: str) -> None:
    with pytest.raises(pb.errors.InputError, match="at least one"):
        read(text, "lending.toml")


def test_no_file(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "broken.toml").write_text("name = ")
    for name in ("missing.toml", "binary.toml", "broken.toml", "."):
        with pytest.raises(pb.errors.InputError, match="from = "):
            load(tmp_path / name)
    (tmp_path / "marked.toml").write_text(LENDING, encoding="utf-8-sig")
    assert load(tmp_path / "marked.toml") == read(LENDING, "lending.toml")
