"""One page of the browser that the tests of a session use one after the other.

A page of its own for each test, in a new context, takes twice as much CPU time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SIZE = {"width": 1600, "height": 1000}


class LentPage:
    """A page, as Playwright has it, that knows what is to be undone after a test."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._listeners: list[tuple[str, Callable[..., Any]]] = []
        self._origins: set[str] = set()
        self.on("framenavigated", lambda frame: self._origins.add(_origin(frame.url)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._page, name)

    def on(self, event: str, listener: Callable[..., Any]) -> None:
        self._page.on(event, listener)
        self._listeners.append((event, listener))

    def reset(self) -> None:
        """Leaves the page as a new one: empty, without listeners, routes and storage."""
        page = self._page
        for event, listener in self._listeners:
            page.remove_listener(event, listener)
        page.unroute_all(behavior="ignoreErrors")
        for other in page.context.pages:
            if other != page:
                other.close()
        page.evaluate("sessionStorage.clear()")
        page.goto("about:blank")
        page.emulate_media(color_scheme="light")
        devtools = page.context.new_cdp_session(page)
        for origin in self._origins:
            arguments = {"origin": origin, "storageTypes": "all"}
            devtools.send("Storage.clearDataForOrigin", arguments)
        devtools.detach()


class LastingPage:
    """Lends a page to one test at a time."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self._context: Any = None

    def lend(self) -> LentPage:
        if self._context is None:
            self._context = self._browser.new_context(viewport=SIZE, color_scheme="light")
            self._context.new_page()
        return LentPage(self._context.pages[0])

    def take_back(self, lent: LentPage) -> None:
        """Makes the page as new; where that fails, the next test gets another one."""
        try:
            lent.reset()
        except Exception:
            self.close()

    def close(self) -> None:
        if self._context is not None:
            self._context.close()
            self._context = None


def _origin(url: str) -> str:
    return "/".join(url.split("/")[:3])
