"""A served page in a browser that reaches nothing else."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, Route

from heedful.web.server import Server

WAIT = 15_000  # ms until something should have appeared, on a machine that does other things too


@contextmanager
def serving(*folders: Path, port: int = 0) -> Iterator[str]:
    """The page over some folders, at an address of its own."""
    server = Server.at(folders, port=port, device="cpu", cores=1)
    uvicorn = server.answering()
    thread = threading.Thread(target=uvicorn.run, args=([server.socket],))
    thread.start()
    try:
        yield server.address.rstrip("/")
    finally:
        uvicorn.should_exit = True
        thread.join()
        server.socket.close()


@dataclass
class Visit:
    """A page, what it complained of and whom else it asked."""

    page: Page
    address: str
    complaints: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def open(self, view: str, **state: Any) -> None:
        """Follow a link to a view."""
        self.page.goto(f"{self.address}/#{view}?{urlencode(state, doseq=True)}")
        self.page.wait_for_selector("h1#view-title", timeout=WAIT)

    def see(self, selector: str) -> Any:
        """The first of some elements, once it is there."""
        found = self.page.locator(selector).first
        found.wait_for(timeout=WAIT)
        return found

    def until(self, expression: str, *given: Any) -> Any:
        """Wait until something is true in the page."""
        return self.page.wait_for_function(expression, arg=list(given), timeout=WAIT)

    def until_told(self, selector: str, words: str) -> None:
        """Wait until an element says something."""
        self.until(
            "([s, w]) => document.querySelector(s)?.textContent.includes(w)", selector, words
        )


@contextmanager
def visiting(browser: Browser, address: str, **options: Any) -> Iterator[Visit]:
    """A new page whose every request to anybody but the server is refused and remembered."""
    context = browser.new_context(viewport={"width": 1200, "height": 900}, **options)
    context.set_default_timeout(WAIT)
    seen = Visit(context.new_page(), address)

    def guard(route: Route) -> None:
        url = route.request.url
        if url.startswith((f"{address}/", "blob:", "data:")):
            route.continue_()
            return
        seen.strangers.append(url)
        route.abort()

    context.route("**/*", guard)
    seen.page.on("console", lambda message: seen.complaints.append(message.text))
    seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    try:
        yield seen
    finally:
        context.close()
