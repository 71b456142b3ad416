"""A page of the package, opened in a real browser, and what happened meanwhile."""

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Page, sync_playwright

from tests.waiting import LIMIT

BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-sync",
]
needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium; on Debian: apt-get install chromium"
)


@contextmanager
def launched() -> Generator[Browser]:
    """A browser, which is closed afterwards."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=BROWSER, args=QUIET, timeout=1000 * LIMIT
        )
        yield chromium
        chromium.close()


class Opened:
    """A page and what happened while it was open."""

    def __init__(self, browser: Browser, report: Path, width: int) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page: Page = browser.new_page(viewport={"width": width, "height": 900})
        self.page.set_default_timeout(1000 * LIMIT)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._refuse)
        self.page.goto(report.as_uri())
        self.page.wait_for_function(
            "[...document.querySelectorAll('[data-chart]')].every((place) => place.view)"
        )

    def _refuse(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()
