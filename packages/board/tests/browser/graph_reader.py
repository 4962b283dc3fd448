"""Drives the Graph page, and reads its state from window.__board.graph."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event

STATE = "() => { const g = window.__board?.graph; return g ? JSON.parse(JSON.stringify(g)) : null }"
PATIENCE_S = 60


def write_graph(folder: Path, graph_def: Any) -> None:
    writer = EventFileWriter(folder)
    writer.write(Event(wall_time=1.0, graph_def=graph_def.SerializeToString()))
    writer.close()


class GraphReader:
    """Drives the Graph page, and reads its state from window.__board.graph."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        self.url = url

    def open(self, graph: str, more: str = "") -> dict[str, Any]:
        self.page.goto(f"{self.url}#/graph?graph={graph}{more}")
        return self.settled(lambda state: state["graph"] == graph)

    def settled(
        self, condition: Callable[[dict[str, Any]], bool] = lambda _: True
    ) -> dict[str, Any]:
        """Waits until nothing moves and the condition holds; returns the state."""
        end = time.monotonic() + PATIENCE_S
        state = None
        while time.monotonic() < end:
            state = self.page.evaluate(STATE)
            if state and state["ready"] and not state["moving"] and condition(state):
                return state
            self.page.wait_for_timeout(30)
        raise AssertionError(f"the graph did not settle: {str(state)[:2000]}")

    def item(self, name: str, state: dict[str, Any] | None = None) -> dict[str, Any]:
        found = state or self.settled()
        for item in found["items"]:
            if item["name"] == name or item["label"] == name:
                return item
        raise AssertionError(f"{name} is not shown: {[i['name'] for i in found['items']][:80]}")

    def names(self, state: dict[str, Any] | None = None) -> set[str]:
        return {item["name"] for item in (state or self.settled())["items"]}

    def reach(self, name: str) -> dict[str, Any]:
        """Brings an item into view; F fits all."""
        item = self.item(name)
        bounds = self.page.locator(".graph-canvas").bounding_box()
        x, y, w, _ = item["rect"]
        inside = bounds["x"] < x < bounds["x"] + bounds["width"] - min(w, 40)
        if not inside or not bounds["y"] < y < bounds["y"] + bounds["height"] - 40:
            self.page.get_by_role("tree").focus()
            self.page.keyboard.press("f")
            item = self.item(name)
        return item

    def select(self, name: str) -> dict[str, Any]:
        x, y, w, h = self.reach(name)["rect"]
        self.page.mouse.click(x + min(30, w / 3), y + min(12, h / 2))
        return self.settled(lambda state: state["selected"] is not None)

    def toggle(self, name: str) -> dict[str, Any]:
        item = self.reach(name)
        before = item["kind"]
        x, y, w, h = item["rect"]
        self.page.mouse.dblclick(x + min(30, w / 3), y + min(12, h / 2))
        same = {"open": "open", "group": "group", "series": "series"}[before]

        def changed(state: dict[str, Any]) -> bool:
            return not any(i["id"] == item["id"] and i["kind"] == same for i in state["items"])

        return self.settled(changed)
