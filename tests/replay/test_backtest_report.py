"""The report of a backtest: files, and the page in a real browser.

The numbers on it are those of the dict.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import Browser

from profitable.common.text_tables import number_text
from profitable.policy.policies import POLICIES
from profitable.replay.backtest import backtest
from profitable.replay.backtest_charts import looks
from profitable.replay.backtest_figures import ADVICE_PICTURES, LOAN_PICTURES, PICTURES
from profitable.replay.backtest_report import write_report
from profitable.replay.backtest_result import Backtest
from profitable.replay.backtest_tables import tables_of
from profitable.replay.baselines import ALL
from profitable.replay.verdict import AT_ONCE
from tests.opened import Opened, launched, needs_browser
from tests.replay.made_up import HOSTILE, NAMES, made_up

ORDERED_ONLY = {"bands", "cutoff"}  # pictures of backtests with an order
USUAL = set(PICTURES) - set(LOAN_PICTURES)  # of categories that are judged by their means
KEYS = dict(
    zip(
        ADVICE_PICTURES,
        (
            *("stop_list", "time_splits", "groupings", "swap_sets", "swap_sets"),
            *("emergence", "emergence"),
        ),
        strict=True,
    )
)  # of the dict, from which these pictures are made
NONE = {"gain": 0.0}  # of the row of the sum
BOXES = ["advice", "stop-list", "rests", "doubts"]
# Texts whose contrast with what is behind them is below 4.5, or 3 for large ones.
CONTRAST = """() => {
  const rgb = (text) => (text.match(/[0-9.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, place) => sum + v * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = (each) => {
    for (let at = each; at; at = at.parentElement) {
      const found = rgb(getComputedStyle(at).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const poor = []; let seen = 0;
  while (texts.nextNode()) {
    const each = texts.currentNode.parentElement, style = getComputedStyle(each);
    if (!texts.currentNode.data.trim() || !each.getClientRects().length) continue;
    if (each.closest("script, style, noscript, .vega-actions, .vega-embed > details")) continue;
    const isPicture = each.closest("svg") !== null;
    const [a, b] = [light(rgb(isPicture ? style.fill : style.color)), light(behind(each))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    seen += 1;
    if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5))
      poor.push([texts.currentNode.data.trim().slice(0, 40), ratio]);
  }
  return [seen, poor];
}"""
LARGEST_PAGE = 2_100_000  # bytes, of which the script that draws takes 900 000
MANY = [f"category number {k}" for k in range(60)]
OTHER = "kl-ucb:forget=0.05"
CASES: dict[str, dict[str, Any]] = {
    "hostile": {
        "names": HOSTILE,
        "rounds": 7,
        "immediate": True,
        "amounts": False,
        "off_policy": True,
        "advised": True,
    },
    "many": {
        "names": MANY,
        "rounds": 1_000,
        "advised": True,
        "policies": ("kl-ucb", "kl-ucb:forget=0.05", "ts", "bayes-ucb", "ucb-v"),
    },
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("backtests")
    written = {
        name: write_report(made_up(**case), folder / name)[0] for name, case in CASES.items()
    }
    return written | {"usual": real().save(folder / "usual")}


def real() -> Backtest:
    """Loans that never were, over five years, with dates at which their outcomes were
    known.
    """
    generator = np.random.default_rng(1)
    size, purposes = 3_000, np.array(NAMES)
    asked, purpose = generator.integers(60, size=size), generator.integers(len(NAMES), size=size)
    lent = generator.choice([500.0, 1_000.0, 5_000.0], size)
    back = lent * (generator.random(size) > 0.02 + 0.03 * purpose) * 1.15
    start = np.datetime64("2007-01")
    loans = {
        "purpose": purposes[purpose],
        "asked": (start + asked).astype("datetime64[D]"),
        "known": (start + asked + generator.integers(1, 24, size)).astype("datetime64[D]"),
        "lent": lent,
        "back": back,
    }
    columns = {
        "category": "purpose",
        "time": "asked",
        "known": "known",
        "reward": "back",
        "amount": "lent",
    }
    policies = ["kl-ucb", "kl-ucb:forget=0.05", "ts"]
    size_of = {"seeds": 2, "replays": 10, "shuffles": 2}
    return backtest(
        pa.table(loans), **columns, required=0.02, policies=policies, **size_of, progress=False
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as chromium:
        yield chromium


@pytest.fixture(
    scope="module",
    params=[("usual", 1200), ("hostile", 390), ("many", 390)],
    ids=lambda case: case[0],
)
def opened(
    request: pytest.FixtureRequest, browser: Browser, reports: dict[str, Path]
) -> Iterator[Opened]:
    name, width = request.param
    it = Opened(browser, reports[name], width)
    yield it
    it.page.close()


def numbers_beside(opened: Opened) -> dict[str, Any]:
    """The dict from which the page was made, as it was saved beside it."""
    return read_numbers(Path(opened.page.url.removeprefix("file://")).with_name("backtest.json"))


@cache
def read_numbers(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def value(cell: str) -> float:
    """The first number of a cell: '+1 234 to +5 678' is 1234."""
    return float(re.split(r" (?:to|±|\()", cell)[0].replace(" ", ""))


def scale_of(header: str) -> float:
    """What the amounts of a column are counted in."""
    return 1_000.0 if "thousand" in header else 1.0


@needs_browser
def test_nothing_but_the_file(opened: Opened) -> None:
    assert opened.requests == [opened.page.url]
    assert opened.complaints == []


@needs_browser
def test_every_chart_is_drawn(opened: Opened) -> None:
    page = opened.page
    names = page.evaluate(
        "[...document.querySelectorAll('[data-chart]')].map((place) => place.dataset.chart)"
    )
    numbers = numbers_beside(opened)
    without = {*ORDERED_ONLY} if numbers["cutoff"] is None else set[str]()
    without |= {name for name in ADVICE_PICTURES if not numbers.get(KEYS[name])}
    if not numbers["categories"][0]["amount"]:
        without |= {"means"}
    loans = {"hazards", "levels"} if numbers["loans"] else set[str]()
    assert set(names) == (USUAL - without) | loans
    for name in names:
        box = page.locator(f"#chart-{name} svg.marks").bounding_box()
        assert box is not None
        assert box["width"] > 250
        assert box["height"] > 100
        marks = f"#chart-{name} :is(.mark-line, .mark-area, .mark-rect, .mark-symbol) path"
        assert page.locator(marks).count() > 0, name


@needs_browser
def test_fits_the_screen_is_readable_when_dark_and_light_on_paper(opened: Opened) -> None:
    page = opened.page
    background = "getComputedStyle(document.body).backgroundColor"
    label = "getComputedStyle(document.querySelector('#chart-difference text')).fill"
    colours: set[tuple[str, ...]] = set()
    schemes: list[Literal["light", "dark"]] = ["light", "dark"]
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        width, inner = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert width <= inner
        seen, poor = page.evaluate(CONTRAST)
        assert seen > 100
        assert poor == [], scheme
        colours.add((page.evaluate(background), page.evaluate(label)))
    assert len(colours) == 2
    page.emulate_media(color_scheme="dark", media="print")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert page.evaluate(label) == "rgb(0, 0, 0)"
    page.emulate_media(color_scheme="light", media="screen")


@needs_browser
def test_verdict_stop_list_basis_and_doubts_come_first(opened: Opened) -> None:
    page, backtest = opened.page, numbers_beside(opened)
    there = page.evaluate("[...document.querySelectorAll('section')].map((each) => each.id)")
    boxes = [name for name in BOXES if name != "stop-list" or backtest.get("stop_list")]
    assert there[: len(boxes)] == boxes
    assert page.locator("#verdict").inner_text() == backtest["verdict"]
    if backtest.get("advice"):
        assert page.locator("#advised").inner_text() == backtest["advice"]
    when_known = backtest.get("when_known") or backtest["first_line"]
    is_immediate = when_known.startswith("Outcomes assumed immediate")
    said = f"{backtest.get('advice')} {backtest['verdict']}"
    is_said = "immediate" in said or AT_ONCE in said
    assert page.locator("#caveat").count() == (is_immediate and not is_said)
    assert page.locator("#uninformative").count() == bool(backtest.get("uninformative"))
    assert page.locator("#first-line").inner_text() == when_known
    for warning in backtest["warnings"]:
        assert warning in page.locator("#doubts").inner_text()
    figures = page.locator("#key-figures").inner_text()
    assert f"{number_text(backtest['clients'])} clients" in figures


@needs_browser
def test_advice_is_that_of_the_dict(opened: Opened) -> None:
    page, backtest = opened.page, numbers_beside(opened)
    found = backtest.get("stop_list")
    if found is None:
        assert page.locator(".stops").count() == 0
        return
    rows = [row.split("\t") for row in page.locator(".stops tbody tr").all_inner_texts()]
    shown = {row[0]: row for row in rows}
    assert len(rows) == len(shown) == len(found["rows"])
    looks = 1 + any(row.get("recent_pays") is not None for row in found["rows"])
    for row in found["rows"]:
        cells = shown[row["category"]]
        assert cells[1] == ("■ stop" if row["stop"] else "")
        assert value(cells[2]) == row["clients"]
        if row["low"] is not None:
            ends = [value(end) for end in cells[-1 - looks].split(" to ")]
            assert ends == pytest.approx([row["low"], row["high"]], abs=0.51)
    assert page.locator(".stops tr.stop").count() == sum(row["stop"] for row in found["rows"])
    text = page.locator("#stop-list").inner_text()
    assert found["sentence"] in text + (backtest.get("advice") or "")
    scale = scale_of(page.locator(".splits th").nth(6).inner_text())
    totals = page.locator(".splits tfoot tr").all_inner_texts()
    for total, split in zip(totals, backtest["time_splits"], strict=True):
        assert scale * value(total.split("\t")[6]) == pytest.approx(split["gain"], abs=scale)
        assert split["sentence"] in text
    gains = page.evaluate("specs['time-split'].datasets.curves.map((row) => row.gain ?? 0)")
    wanted = [one["gain"] for each in backtest["time_splits"] for one in (*each["splits"], NONE)]
    assert gains == pytest.approx(wanted, rel=1e-5)
    assert [
        row.split("\t")[0] for row in page.locator(".groupings tbody tr").all_inner_texts()
    ] == [each["name"] for each in backtest["groupings"]]
    swapped = page.locator("#swap-set tfoot tr").first.inner_text().split("\t")
    assert value(swapped[1]) == sum(row["clients_out"] for row in backtest["swap_sets"][0]["rows"])
    wide = "each => each.scrollWidth > each.clientWidth && each.tabIndex !== 0"
    unreachable = f"[...document.querySelectorAll('.scroll')].filter({wide}).length"
    assert page.evaluate(unreachable) == 0


@needs_browser
def test_numbers_are_those_of_the_dict(opened: Opened) -> None:
    page, backtest = opened.page, numbers_beside(opened)
    headers = page.locator(".entries th").all_inner_texts()
    profit, scale = headers[1], scale_of(headers[1])
    near = 0.51 * scale
    is_large = max(abs(entry["profit"] or 0.0) for entry in backtest["entries"]) >= 1e7
    assert scale == (1_000.0 if is_large else 1.0)
    assert ("EUR" in profit) == (backtest.get("unit") == "EUR")
    rows = [row.split("\t") for row in page.locator(".entries tbody tr").all_inner_texts()]
    assert len(rows) == len(backtest["entries"])
    for row, entry in zip(rows, backtest["entries"], strict=True):
        cells = dict(zip(headers, row, strict=True))
        words = entry.get("words") or entry["name"]
        name = entry["name"] if words == entry["name"] else f"{words} ({entry['name']})"
        assert cells[""].lstrip("▲▼○") == name
        if entry["difference"] is None:
            assert (cells[profit], cells["95 % interval"]) == ("refused", "-")
            continue
        assert scale * value(cells[profit]) == pytest.approx(entry["profit"], abs=near)
        assert scale * value(cells["difference to accept all"]) == pytest.approx(
            entry["difference"], abs=near
        )
        assert cells["clients accepted"] == (
            "-" if entry["clients"] is None else number_text(round(entry["clients"]))
        )
        if entry["low"] != entry["high"]:
            ends = [scale * value(end) for end in cells["95 % interval"].split(" to ")]
            assert ends == pytest.approx([entry["low"], entry["high"]], abs=near)
            mark = {"better": "▲", "worse": "▼", "indistinguishable": "○"}[entry["standing"]]
            assert cells[""].startswith(mark)
    categories = page.locator("#categories table").first.locator("tbody tr").all_inner_texts()
    profits = {row.split("\t")[0]: row.split("\t") for row in categories}
    assert set(profits) == {each["name"] for each in backtest["categories"]}
    for each in backtest["categories"]:
        assert value(profits[each["name"]][1]) == each["clients"]
        assert scale * value(profits[each["name"]][-2]) == pytest.approx(each["profit"], abs=near)


@needs_browser
def test_words_are_those_of_the_dict(opened: Opened) -> None:
    text, backtest = opened.page.locator("body").inner_text(), numbers_beside(opened)
    for words in [
        *backtest["warnings"],
        *backtest["assumptions"],
        *backtest["notes"],
        backtest["luck"],
    ]:
        assert words in text
    assert (backtest["command"] or "The same file and the settings below") in text
    for entry in backtest["entries"]:
        assert entry["sentence"] in text or entry["name"] == ALL
        found: dict[str, Any] = entry["off_policy"] or {"warnings": [], "refusal": None}
        for said in (*found["warnings"], found["refusal"] or ""):
            assert said in text
    for each in backtest["left_out"]:
        assert f"{each['reason']}\t{each['rows']}" in text
    assert f"Variants tried: {backtest['tried']}" in text
    assert f"Made with profitable {backtest['version']}, seed {backtest['seed']}." in text


@needs_browser
def test_curves_are_those_of_the_dict(opened: Opened) -> None:
    backtest = numbers_beside(opened)
    rows = opened.page.evaluate("specs['over-time'].datasets.curves")
    assert len(rows) <= 150 * len(backtest["entries"])
    ends = {row["policy"]: row for row in rows if row["x"] == len(backtest["rounds"])}
    for entry in backtest["entries"]:
        if entry["difference"] is None:
            assert entry["name"] not in ends
            continue
        end = ends[entry["name"]]
        assert end["y"] == pytest.approx(entry["difference"], rel=1e-5)
        assert end["label"] == backtest["rounds"][-1]
        if entry["kind"] == "policy":
            assert [end["low"], end["high"]] == pytest.approx(
                [entry["low"], entry["high"]], rel=1e-5
            )


@needs_browser
def test_a_policy_is_chosen_in_all_charts(opened: Opened) -> None:
    page = opened.page
    chosen = ["accepted", "evidence", "vintage", "learning"]
    assert page.evaluate(
        f"{chosen}.map((name) => document.getElementById('chart-' + name).view.signal('policy'))"
    ) == (["kl-ucb"] * 4)
    page.locator("#chart-vintage select").select_option(OTHER)
    page.wait_for_function(
        f"{chosen}.every((name) => "
        f"document.getElementById('chart-' + name).view.signal('policy') === '{OTHER}')"
    )
    for name in chosen:
        assert page.locator(f"#chart-{name} select[name=policy]").input_value() == OTHER
        page.wait_for_function(
            f"document.querySelector('#chart-{name} .role-title').textContent.includes('{OTHER}')"
        )
    page.locator("#chart-vintage select").select_option("accept none")  # which has no evidence
    page.wait_for_function(
        "document.getElementById('chart-vintage').view.signal('policy') === 'accept none'"
    )
    assert page.locator("#chart-evidence select[name=policy]").input_value() == OTHER
    page.locator("#chart-vintage select").select_option("kl-ucb")
    page.wait_for_function(
        "document.getElementById('chart-evidence').view.signal('policy') === 'kl-ucb'"
    )


@needs_browser
def test_evidence_of_a_chosen_category(opened: Opened) -> None:
    page, backtest = opened.page, numbers_beside(opened)
    entry, place = next(each for each in backtest["entries"] if each["name"] == "kl-ucb"), 1
    menu = page.locator("#chart-evidence select[name=category]")
    assert sorted(menu.locator("option").all_inner_texts()) == sorted(
        each["name"] for each in backtest["categories"]
    )
    menu.select_option(backtest["categories"][place]["name"])
    title = "document.querySelector('#chart-evidence .role-title').textContent"
    page.wait_for_function(f"{title}.includes({json.dumps(menu.input_value())})")
    shown = "row => row.policy === 'kl-ucb' && row.category === "
    rows = page.evaluate(
        f"specs.evidence.datasets.curves.filter({shown}{json.dumps(backtest['categories'][place]['name'])})"
    )
    at = page.evaluate("specs.evidence.params.find((each) => each.name === 'at').value")
    assert len(rows) == 1
    for field, source in (
        ("evidence", "evidence"),
        ("patience", "patience"),
        ("accepted", "decided"),
    ):
        there = [entry[source][x - 1][place] for x in at]
        assert [each is None for each in rows[0][field]] == [each is None for each in there]
        pairs = [
            (mine, float(each))
            for mine, each in zip(rows[0][field], there, strict=True)
            if each is not None
        ]
        assert [mine for mine, _ in pairs] == pytest.approx([each for _, each in pairs], rel=1e-3)


@needs_browser
def test_the_picture_of_what_was_accepted(opened: Opened) -> None:
    """Its cells are the mean shares of their rounds."""
    backtest = numbers_beside(opened)
    rounds = len(backtest["rounds"])
    rows = opened.page.evaluate("specs.accepted.datasets.curves")
    entry = next(each for each in backtest["entries"] if each["name"] == "ts")
    length = -(-rounds // 60)
    for place, category in enumerate(backtest["categories"]):
        row = next(
            each for each in rows if each["policy"] == "ts" and each["category"] == category["name"]
        )
        shares = [entry["accepted"][t][place] for t in range(rounds)]
        means = [
            sum(part) / len(part)
            for part in (shares[t : t + length] for t in range(0, rounds, length))
        ]
        assert row["share"] == pytest.approx(means, abs=0.0051)
    cells = opened.page.locator("#chart-accepted .mark-rect.role-mark path").count()
    assert cells == len(backtest["categories"]) * -(-rounds // length)


@needs_browser
def test_legend_hides_a_curve(browser: Browser, reports: dict[str, Path]) -> None:
    opened = Opened(browser, reports["usual"], 1000)
    faint = opened.page.locator("#chart-over-time .mark-line path[opacity='0.07']")
    assert faint.count() == 0
    label = opened.page.locator(
        "#chart-over-time .role-legend-label text", has_text=re.compile("^ts$")
    )
    label.click(force=True)
    faint.first.wait_for(state="attached")
    assert faint.count() == 1
    opened.page.close()


@needs_browser
def test_works_without_script_and_prints(
    browser: Browser, reports: dict[str, Path], tmp_path: Path
) -> None:
    opened = Opened(browser, reports["usual"], 1000)
    assert opened.page.pdf(path=tmp_path / "report.pdf", format="A4").startswith(b"%PDF")
    assert opened.page.evaluate(
        "[...document.querySelectorAll('section details')].every((each) => each.open)"
    )
    opened.page.close()
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(reports["usual"].as_uri())
    drawn = page.locator("noscript img")
    assert drawn.count() == len(list(reports["usual"].parent.glob("*.svg")))
    context.close()


def test_pictures_stand_beside_it(reports: dict[str, Path]) -> None:
    for report in reports.values():
        page = report.read_text(encoding="utf-8")
        for link in re.findall(r'href="([^"#]+)"', page):
            least = 20 if link.endswith(".csv") else 1000
            assert (report.parent / link).stat().st_size > least, link
        assert "://" not in re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
        for picture in report.parent.glob("*.svg"):
            ElementTree.parse(picture)
            assert picture.stat().st_size < 1_000_000


def test_the_page_stays_small(reports: dict[str, Path]) -> None:
    assert reports["many"].stat().st_size < LARGEST_PAGE


def test_hostile_names_stay_text(reports: dict[str, Path]) -> None:
    page = reports["hostile"].read_text(encoding="utf-8")
    assert page.count("</script>") == 2  # the ends of the page's own scripts
    assert "<img src=x" not in re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)


def test_the_same_dict_gives_the_same_bytes(tmp_path: Path) -> None:
    """Pictures and tables that a smaller backtest does not have are removed; nothing
    else is left behind.
    """
    backtest = made_up(rounds=5, advised=True)
    first = {path: path.read_bytes() for path in write_report(backtest, tmp_path)}
    tables = {tmp_path / "tables" / f"{name}.csv" for name in tables_of(backtest)}
    pages = {tmp_path / name for name in ("report.html", "backtest.json")}
    assert set(first) == pages | tables | {
        tmp_path / f"{name}.svg" for name in USUAL | {"hazards", "levels"}
    }
    bare: dict[str, Any] = made_up(rounds=5, amounts=False) | {
        "warnings": [],
        "left_out": [],
        "notes": [],
        "cutoff": None,
    }
    for entry in bare["entries"]:
        entry |= {"evidence": None, "accepted": None, "shuffled": None}
    written = write_report(bare, tmp_path)
    without = {"accepted", "evidence", "means", *ADVICE_PICTURES} | ORDERED_ONLY
    left = {path for path in tmp_path.rglob("*") if path.is_file()}
    tables = {tmp_path / "tables" / f"{name}.csv" for name in tables_of(bare)}
    assert left == set(written)
    assert left == pages | tables | {tmp_path / f"{name}.svg" for name in USUAL - without}
    assert {path: path.read_bytes() for path in write_report(backtest, tmp_path)} == first


def test_no_two_entries_look_alike() -> None:
    baselines = [
        {"name": name, "kind": "baseline"}
        for name in (ALL, "none", "hindsight", "cross-fitted", "10 %", "score")
    ]
    entries = [*baselines, *({"name": name, "kind": "policy"} for name in POLICIES)]
    found = looks(entries)
    assert len(set(found.values())) == len(entries)
