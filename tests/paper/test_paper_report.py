"""The report in a real browser: no network, no complaints, curves that hide and show,
values to point at, a PDF.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from profitable.common.line_styles import SOLID
from profitable.paper.command import reproduce
from profitable.paper.paper_charts import THEORY
from profitable.policy.policies import POLICIES, looks_of
from tests.opened import Opened, launched, needs_browser

pytestmark = needs_browser
EXPERIMENTS = (
    "bernoulli",
    "poisson",
    "long-bernoulli",
    "arrivals",
    "unlucky",
    "optimal-bernoulli",
    "optimal-long",
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    reproduce(folder, experiments=EXPERIMENTS, quick=True, variant="both", runs=100)
    return folder / "report.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as chromium:
        yield chromium


@pytest.fixture(scope="module", params=[1000, 390], ids=["wide", "phone"])
def opened(request: pytest.FixtureRequest, browser: Browser, report: Path) -> Iterator[Opened]:
    it = Opened(browser, report, request.param)
    yield it
    it.page.close()


def test_nothing_but_the_file(opened: Opened, report: Path) -> None:
    assert opened.requests == [report.as_uri()]
    assert opened.complaints == []


def test_every_chart_is_drawn(opened: Opened) -> None:
    drawn = opened.page.locator("[data-chart] svg.marks")
    assert drawn.count() == opened.page.locator("[data-chart]").count() >= 8
    for place in range(drawn.count()):
        box = drawn.nth(place).bounding_box()
        assert box is not None
        assert box["width"] > 250
        assert box["height"] > 250


def test_fits_the_screen(opened: Opened) -> None:
    width, inner = opened.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert width <= inner


def test_figures_come_first_and_claims_unfold(opened: Opened) -> None:
    """The first figure is on the first screen, the others before the claims, each with
    its reading.
    """
    page = opened.page
    tops = page.evaluate(
        "[...document.querySelectorAll('[data-chart], #claims, #numbers')].map((each) => each.id)"
    )
    assert tops[:3] == ["chart-bernoulli", "chart-poisson", "claims"]
    assert tops[3:6] == ["chart-optimal", "chart-optimal-bernoulli", "numbers"]
    first = page.locator("#chart-bernoulli").bounding_box()
    assert first is not None
    assert first["y"] < 600
    for name in ("bernoulli", "poisson"):
        assert "loses least" in page.locator(f"#{name} + p").inner_text()
    claim = page.locator("#claim-alike")
    assert claim.locator("table").first.is_hidden()
    assert "times that of" in claim.locator("summary").inner_text()
    claim.locator("summary").click()
    assert claim.locator("table").first.is_visible()
    claim.locator("summary").click()


def test_legend_hides_and_shows_a_curve(opened: Opened) -> None:
    page = opened.page
    label = page.locator(
        "#chart-bernoulli .role-legend-label text", has_text=re.compile("^kl-gaussian-ucb$")
    )
    shown = "place => place.view.data('shown_store').map((each) => each.values[0])"
    chart = page.locator("#chart-bernoulli")
    before = chart.evaluate(shown)
    assert "kl-gaussian-ucb" in before
    faint = page.locator("#chart-bernoulli .mark-line path[opacity='0.07']")
    assert faint.count() == 0
    label.click(force=True)
    page.wait_for_function(
        'document.querySelectorAll("#chart-bernoulli .mark-line '
        "path[opacity='0.07']\").length === 1"
    )
    assert sorted(chart.evaluate(shown)) == sorted(set(before) - {"kl-gaussian-ucb"})
    label.click(force=True)
    page.wait_for_function(
        'document.querySelectorAll("#chart-bernoulli .mark-line '
        "path[opacity='0.07']\").length === 0"
    )


@pytest.mark.parametrize(
    ("name", "policies"),
    [
        ("bernoulli", ("kl-ucb", "ts", "lower bound")),
        ("optimal-bernoulli", ("optimal", "optimal:horizon", "optimal:horizon,risk=0.3")),
    ],
)
def test_pointing_shows_values(opened: Opened, name: str, policies: tuple[str, ...]) -> None:
    page = opened.page
    chart = page.locator(f"#chart-{name} svg.marks")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.move(box["x"] + 0.6 * box["width"] + 3, box["y"] + 0.3 * box["height"])
    tip = page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    text = tip.inner_text()
    assert "round t" in text
    for policy in policies:
        found = re.search(rf"^{re.escape(policy)}\s+([\d.,]+)$", text, re.MULTILINE)
        assert found is not None, text
        assert 0.0 < float(found[1].replace(",", "")) < 300.0


def test_prints_to_pdf(browser: Browser, report: Path, tmp_path: Path) -> None:
    opened = Opened(browser, report, 1000)
    data = opened.page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert data.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", data)) >= 5
    claims = "[...document.querySelectorAll('details.claim')]"
    assert opened.page.evaluate(f"{claims}.length === 9 + 3 && {claims}.every((each) => each.open)")
    opened.page.close()


def test_the_optimal_policy_in_the_words_of_the_summary(opened: Opened, report: Path) -> None:
    """The page and the text say what the summary says."""
    optimal = json.loads((report.parent / "summary.json").read_text())["optimal"]
    shown = opened.page.locator("#optimal").inner_text()
    text = (report.parent / "report.md").read_text(encoding="utf-8")
    for check in optimal["checks"]:
        assert f"| {check['statement']} | {check['verdict']} | {check['why']} |" in text
        assert check["statement"].replace("`", "") in shown
        assert check["why"] in shown
    tables = [optimal[key] for key in ("numbers", "wrong_horizon", "long")]
    for row in [row for table in tables for row in table["rows"]]:
        assert f"| {' | '.join(row)} |" in text
        assert "\t".join(row) in shown
    for words in (*optimal["contests"][0]["reading"], optimal["wrong_horizon"]["seen"]):
        assert words in text
        assert words.replace("`", "") in shown


def test_legend_has_the_order_of_the_curves(browser: Browser, report: Path) -> None:
    """From the largest final regret to the smallest; the lower bound comes last."""
    opened = Opened(browser, report, 1000)
    spec = opened.page.evaluate("specs['bernoulli']")
    final: dict[str, float] = {}
    for row in spec["datasets"]["curves"]:
        final[row["policy"]] = row["y"]  # rows are in the order of time
    labels = opened.page.locator("#chart-bernoulli .role-legend-label text").all_text_contents()
    assert labels[-1] == "lower bound"
    assert labels[:-1] == sorted(labels[:-1], key=lambda name: -final[name])
    opened.page.close()


def test_no_two_policies_look_alike() -> None:
    # Beyond the palette, looks come again.
    assert len(looks_of([f"kl-ucb:c={c}" for c in range(1, 60)])) == 59
    looks = [*looks_of([*POLICIES, "kl-ucb:c=3", "my own"]).values(), THEORY]
    assert len(set(looks)) == len(looks)
    solid = [look.colour for look in looks if look.dash == SOLID]
    assert len(set(solid)) == len(solid)


def test_pictures_stand_beside_it(report: Path) -> None:
    page = report.read_text(encoding="utf-8")
    for link in re.findall(r'href="([^"#]+)"', page):
        assert (report.parent / link).stat().st_size > 1000, link
    assert "://" not in re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
