"""Values of files of other writers, compared with what tensorboard reads from them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.panel_client import PanelClient

GOLDEN = Path(__file__).parents[1] / "golden"
KINDS = {"histograms": "histogram", "images": "image", "audio": "audio", "text": "text",
         "pr_curves": "pr_curve"}  # fmt: skip
CASES = [
    (writer, tag, entry["plugin"], entry["rows"])
    for writer in ("tf1", "tf2", "tensorboard", "torch")
    for tag, entry in json.loads((GOLDEN / f"{writer}.values.json").read_text()).items()
]


def shown(client: PanelClient, where: str, plugin: str, row: int) -> Any:
    """What the panel says of a row, in the form of the golden file."""
    if plugin == "histograms":
        columns = client.get(f"/histograms{where}&bins=raw&row={row}")["columns"]
        return np.array([columns[name] for name in ("left", "right", "count")]).T
    if plugin == "text":
        found = client.get(f"/text{where}")["rows"][row]
        return {"shape": found["shape"], "texts": found["values"]}
    if plugin == "pr_curves":
        reply = client.get(f"/pr_curves{where}")
        return np.array(reply["columns"]["data"]).reshape(reply["rows"], 6, -1)[row]
    items = client.get(f"/blobs/items{where}&row={row}")["items"]
    data = [client.client.get(f"/api/v1/blob/{item['id']}").data for item in items]
    digests = [hashlib.sha256(one).hexdigest() for one in data]
    if plugin == "images":
        return [items[0]["width"], items[0]["height"], *digests]
    return digests


@pytest.mark.parametrize(
    ("writer", "tag", "plugin", "rows"), CASES, ids=[f"{w} {t}" for w, t, _, _ in CASES]
)
def test_panels_show_what_tensorboard_reads(
    writer: str, tag: str, plugin: str, rows: list[list[Any]]
) -> None:
    client = PanelClient(GOLDEN / writer)
    where = client.where(tag, KINDS[plugin])
    steps = client.get(f"/blobs{where}")["columns"]["step"]
    assert steps == [step for step, _ in rows]
    for row, (_, expected) in enumerate(rows):
        got = shown(client, where, plugin, row)
        if plugin == "histograms":
            # Empty buckets say nothing, and we keep none of them.
            table = np.array(expected).reshape(-1, 3)
            np.testing.assert_allclose(got, table[table[:, 2] > 0], rtol=1e-6)
        elif plugin == "pr_curves":
            np.testing.assert_allclose(got, expected, rtol=1e-6)
        else:
            assert got == expected
