"""The documentation site: links, assets, the reference, search and looks.

The examples of its pages are run by tests/test_docs.py, and those of its docstrings by
pytest's doctests.
"""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

import pytest
from playwright.sync_api import Browser, Page
from release import site as builder

import profitable as pb
from tests.opened import launched, needs_browser
from tests.waiting import LIMIT

LOADING = {
    ("link", "href"),
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("object", "data"),
}
LOOKED_AT = ("index", "tutorial", "how-to", "mathematics", "paper", "reference", "api/agent", "cli")
WIDTHS = (400, 1280)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once: warnings of Sphinx are errors."""
    folder = tmp_path_factory.mktemp("built") / "site"
    builder.build(folder)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as chromium:
        yield chromium


class Parsed(HTMLParser):
    """The names in a page, the links out of it, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if key == "id" and value:
                self.names.add(value)
            elif (tag, key) in LOADING and value:
                self.loaded.append(value)
            elif (tag, key) == ("a", "href") and value is not None:
                self.links.append(value)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Parsed]:
    return {path: Parsed(path) for path in site.rglob("*.html")}


def test_every_page_is_there(site: Path, pages: dict[Path, Parsed]) -> None:
    wanted = {path.stem for path in builder.DOCS.glob("*.md")} | {
        Path(name).stem for name in builder.OTHER_PAGES
    }
    assert {*wanted, "first-figure", "search"} <= {path.stem for path in site.glob("*.html")}
    seen = {
        (site / "index.html").parent / urldefrag(link).url
        for link in pages[site / "index.html"].links
    }
    assert {site / f"{name}.html" for name in wanted} - {site / "index.html"} <= seen, (
        "a page without a way to it"
    )


def test_links_lead_somewhere(site: Path, pages: dict[Path, Parsed]) -> None:
    wrong: list[tuple[str, str]] = []
    checked = 0
    for path, page in pages.items():
        for link in (*page.links, *page.loaded):
            target, name = urldefrag(link)
            if urlparse(target).scheme:
                continue
            goal = (path.parent / unquote(target.partition("?")[0])).resolve() if target else path
            there = goal.is_file() and (
                not name or goal.suffix != ".html" or unquote(name) in pages[goal].names
            )
            checked += 1
            if not there:
                wrong.append((path.relative_to(site).as_posix(), link))
    assert checked > 1_000
    assert wrong == []


def test_links_of_the_pages_are_kept(site: Path, pages: dict[Path, Parsed]) -> None:
    """A link that Sphinx cannot follow would silently become text; those to files
    outside docs/ do so on purpose.
    """
    for path in builder.DOCS.glob("*.md"):
        text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S)
        written = re.findall(r"(?<!!)\[[^\]]*\]\((?!http|\.\./src)([^)\s]+)\)", text)
        named = {urldefrag(link).url for link in pages[site / f"{path.stem}.html"].links}
        named |= {Path(link).name for link in named if link.startswith("_downloads/")}
        for link in written:
            target = re.sub(r"(\.md|\.ipynb)$", ".html", urldefrag(link).url)
            assert target.removeprefix("../").replace("README.html", "index.html") in {
                *named,
                "",
            }, (path.name, link)


def test_nothing_is_fetched_from_elsewhere(site: Path, pages: dict[Path, Parsed]) -> None:
    for path, page in pages.items():
        assert not [
            link for link in page.loaded if urlparse(link).scheme or link.startswith("//")
        ], path
        assert not [link for link in page.loaded if "mathjax" in link.lower()], path
    for path in (*site.rglob("*.css"), *site.rglob("*.svg")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"url\(['\"]?(https?:)?//|@import|href=['\"]https?:", text), path


def test_the_reference_has_every_public_name(site: Path, pages: dict[Path, Parsed]) -> None:
    names = {
        name for path, page in pages.items() if path.parent.name == "api" for name in page.names
    }
    modules = {"module-profitable.bounds", "module-profitable.errors"}
    classes = {
        f"profitable.{name}"
        for name in pb.__all__
        if name not in ("bounds", "errors", "__version__")
    }
    # A name whose home is a public module may be there under that.
    missing = {
        name for name in classes if not any(each in names for each in (name, _at_home(name)))
    }
    assert (missing, modules - names) == (set(), set())
    assert {
        "profitable.Agent.decide",
        "profitable.Portfolio.verify",
        "profitable.bounds.lower_bound",
    } <= names
    text = (site / "api" / "agent.html").read_text(encoding="utf-8")
    assert "Decide which categories to accept, and learn from outcomes" in text


def _at_home(name: str) -> str:
    value = getattr(pb, name.rpartition(".")[2])
    return f"{value.__module__}.{value.__qualname__}"


def test_a_link_into_nowhere_is_an_error() -> None:
    folder = builder.DOCS
    assert (
        builder.with_links("[a](tutorial.md#x) [b](http://c)", folder)
        == "[a](tutorial.md#x) [b](http://c)"
    )
    assert builder.with_links("[a](docs/tutorial.md)", builder.ROOT) == "[a](tutorial.md)"
    assert builder.with_links("[a](../README.md#limits)", folder) == "[a](index.md#limits)"
    assert builder.with_links("[`a`](../src/profitable/paper/claims.toml)", folder) == "`a`"
    with pytest.raises(FileNotFoundError, match=r"nowhere\.md"):
        builder.with_links("[a](nowhere.md)", folder)


# ------------------------------------------------------------------------- in a browser


class Watched:
    """A page of the site in a browser, opened as a file, and what went wrong or was
    requested.
    """

    def __init__(self, browser: Browser, width: int = 1280, theme: str = "light") -> None:
        assert theme in ("light", "dark")
        self.page: Page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=theme
        )
        self.page.set_default_timeout(1000 * LIMIT)
        self.wrong: list[str] = []
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("requestfailed", lambda request: self.wrong.append(request.url))
        self.page.on("request", self._see)

    def _see(self, request: object) -> None:
        url = str(getattr(request, "url", ""))
        if not url.startswith(("file:", "data:")):
            self.wrong.append(url)


@needs_browser
def test_search_works_without_a_server(site: Path, browser: Browser) -> None:
    watched = Watched(browser)
    page = watched.page
    page.goto((site / "index.html").as_uri())
    page.locator("input.sidebar-search").fill("propensity")
    page.locator("input.sidebar-search").press("Enter")
    page.wait_for_function(
        "/found|matching/.test("
        "document.querySelector('#search-results .search-summary')?.innerText)"
    )
    found = page.locator("#search-results li a")
    titles = found.all_inner_texts()
    assert len(titles) >= 5
    assert any("Agent" in title or "propensit" in title.lower() for title in titles), titles
    found.first.click()
    page.wait_for_load_state()
    assert "propensit" in page.locator("article").inner_text().lower()
    page.goto((site / "search.html").as_uri() + "?q=xylophones")
    page.wait_for_function(
        "/did not match/.test(document.querySelector('#search-results').innerText)"
    )
    assert page.locator("#search-results li").count() == 0
    assert watched.wrong == []
    page.close()


CUT_OFF = """() => [...document.querySelectorAll('article *')].filter((element) => {
  if (element.getBoundingClientRect().right <= innerWidth + 1) return false;
  for (let e = element; e.tagName !== 'ARTICLE'; e = e.parentElement) {
    if (['auto', 'scroll'].includes(getComputedStyle(e).overflowX)) return false;
  }
  return element.checkVisibility();
}).slice(0, 5).map((element) => element.tagName + ': ' + element.textContent.slice(0, 40))"""

FAINT = """() => {
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const part = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (element) => {
    for (; element; element = element.parentElement) {
      const colour = numbers(getComputedStyle(element).backgroundColor);
      if (colour.length < 4 || colour[3] > 0.5) return colour;
    }
    return [255, 255, 255];
  };
  const faint = {};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.data.trim();
    if (!text || !element.checkVisibility({checkVisibilityCSS: true, checkOpacity: true})) continue;
    if (element.closest('script, style, svg, .headerlink, .skip-to-content')) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(numbers(style.color)), light(behind(element))].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize) * (parseInt(style.fontWeight) >= 700 ? 1.28 : 1);
    seen += 1;
    if ((a + 0.05) / (b + 0.05) < (size >= 24 ? 3 : 4.5)) {
      faint[element.tagName + '.' + element.className] = text.slice(0, 30) + ' ' + style.color;
    }
  }
  return [seen, faint];
}"""


@needs_browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_can_be_read(site: Path, browser: Browser, theme: str) -> None:
    """At the widths of a phone and a screen: nothing is cut off, no text is faint,
    pictures lie on white and fit.
    """
    for width in WIDTHS:
        watched = Watched(browser, width, theme)
        page = watched.page
        for name in LOOKED_AT:
            page.goto((site / f"{name}.html").as_uri())
            sizes = page.evaluate(
                "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
            )
            assert sizes[0] <= sizes[1], (name, width)
            assert page.evaluate(CUT_OFF) == [], (name, width)
            dark = page.evaluate(
                "getComputedStyle(document.body).backgroundColor"
                ".match(/\\d+/g).every((v) => v < 60)"
            )
            assert dark == (theme == "dark"), name
            seen, faint = page.evaluate(FAINT)
            assert seen > 30, name
            assert faint == {}, (name, width, theme)
            pictures = page.evaluate(
                "[...document.querySelectorAll('article img')].map((each) => ["
                "getComputedStyle(each).backgroundColor,"
                " each.getBoundingClientRect().right <= innerWidth])"
            )
            assert all(each == ["rgb(255, 255, 255)", True] for each in pictures), name
        assert watched.wrong == []
        page.close()
