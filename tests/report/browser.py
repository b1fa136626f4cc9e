"""A browser without a network, and what a page did in it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium")
MISSING = (
    "Chromium is not installed, so no page can be looked at. Install it: apt-get install chromium, "
    "or put any Chromium on the PATH under the name chromium."
)
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


SCROLL = """async () => {
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  for (const chart of document.querySelectorAll(".chart")) {
    chart.scrollIntoView({ behavior: "instant" });
    for (let tries = 0; !chart.dataset.live && tries < 1500; tries += 1)
      await new Promise((next) => setTimeout(next, 20));
    if (!chart.dataset.live) return;
  }
}"""


@dataclass
class Visit:
    """An opened page, with everything it complained of or asked for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def see_everything(self) -> None:
        """Scroll through the page until every chart is live."""
        self.page.evaluate(SCROLL)
        assert self.page.locator(".chart:not([data-live])").count() == 0


@contextmanager
def browser() -> Iterator[Browser]:
    """Started; where it is missing, tests are skipped, and in CI they fail."""
    if CHROMIUM is None and os.environ.get("CI"):
        pytest.fail(MISSING)
    if CHROMIUM is None:
        pytest.skip(MISSING)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@contextmanager
def visit(started: Browser, html: Path, **options: Any) -> Iterator[Visit]:
    settings = {"viewport": {"width": 1200, "height": 900}, "offline": True} | options
    context = started.new_context(**settings)
    seen = Visit(context.new_page())
    seen.page.on("console", lambda message: seen.complaints.append(message.text))
    seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    seen.page.on("dialog", lambda dialog: (seen.dialogs.append(dialog.message), dialog.dismiss()))
    seen.page.goto(html.as_uri())
    yield seen
    context.close()
