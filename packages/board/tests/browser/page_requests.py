"""Requests of a page: held back until a test lets them go, and awaited with what comes of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from browser.metrics_view import PATIENCE_S, until

_ROUND_TRIP = """async () => {
  await (await fetch('api/v1/health')).text();
  for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
}"""
_EXTENT = """[
  performance.getEntriesByType('resource').filter((one) => !one.name.endsWith('/health')).length,
  document.body.innerHTML.length,
  %s,
]"""


class HeldRequests:
    """Holds back the requests of a page that match a pattern.

    Args:
      holds: decides about each of them; the others go on.
    """

    def __init__(
        self,
        page: Any,
        pattern: str | re.Pattern[str],
        holds: Callable[[Any], bool] = lambda request: True,
    ) -> None:
        self._page = page
        self._pattern = pattern
        self._holds = holds
        self._routes: list[Any] = []
        self._ended: list[Any] = []
        for event in ("requestfinished", "requestfailed"):
            page.on(event, lambda request: self._ended.append(request))
        page.route(pattern, self._meet)

    def _meet(self, route: Any) -> None:
        if self._holds(route.request):
            self._routes.append(route)
        else:
            route.continue_()

    def wait(self) -> None:
        """Waits until one is held."""
        assert until(lambda: self._routes, page=self._page), f"no request for {self._pattern}"

    def let_new_ones_go(self) -> None:
        """Holds no further ones; those that are held stay."""
        self._holds = lambda request: False  # `unroute` would let all of them go

    def release(self) -> None:
        """Lets them go, and waits until the page has had the time to use the late replies."""
        self.let_new_ones_go()
        for route in self._routes:
            try:
                route.continue_()
            except Exception as error:  # the page has given the request up
                assert "handled" in str(error) or "intercepted" in str(error).lower()
        assert until(
            lambda: all(route.request in self._ended for route in self._routes), page=self._page
        )
        round_trip(self._page)


def round_trip(page: Any) -> None:
    """Waits for a reply of the server and two frames: what was on its way before has arrived."""
    page.evaluate(_ROUND_TRIP)


def wait_for_rest(page: Any, expression: str = "null") -> None:
    """Waits until the page neither fetches nor changes any more, nor the value of an expression."""
    seen: list[Any] = []

    def rests() -> bool:
        round_trip(page)
        seen.append(page.evaluate(_EXTENT % expression))
        return len(seen) > 2 and seen[-1] == seen[-2] == seen[-3]

    assert until(rests, PATIENCE_S), "the page did not come to rest"
