"""Any request about any log gives a reply or a client error, never a server error."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fixtures import corrupted_logs
from fixtures.panel_client import PanelClient, metadata, write_values
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.formats.proto.summary_pb2 import Summary
from headrace.formats.proto.tensor_pb2 import TensorProto

NUMBERS = st.sampled_from(["0", "1", "2", "5", "-1", "99999999999999999999", "1e400", "nan", "x"])
ARGUMENTS = {
    "run": st.integers(0, 4).map(str) | NUMBERS,
    "tag": st.integers(0, 60).map(str) | NUMBERS,
    "runs": st.lists(st.integers(0, 4), max_size=4).map(lambda ids: ",".join(map(str, ids))),
    "tags": st.lists(st.integers(0, 60), max_size=4).map(lambda ids: ",".join(map(str, ids))),
    "row": NUMBERS,
    "from": NUMBERS,
    "count": NUMBERS,
    "q": st.text(max_size=4),
    "max": NUMBERS,
    "bins": NUMBERS | st.just("raw"),
    "lo": NUMBERS,
    "hi": NUMBERS,
    "least": NUMBERS,
    "most": NUMBERS,
    "superseded": NUMBERS,
    "name": st.text(max_size=4),
    "format": st.sampled_from(["csv", "json"]),
}
LEFT_OUT = ("/events", "/changes", "/assets/<name>")


@st.composite
def tensors(draw: st.DrawFn) -> TensorProto:
    """Tensors that a corrupted or hostile program may have written."""
    proto = TensorProto(dtype=draw(st.sampled_from([0, 1, 2, 3, 7, 9, 20, 23])))
    for size in draw(st.lists(st.sampled_from([-1, 0, 1, 2, 3, 6, 1 << 40]), max_size=3)):
        proto.tensor_shape.dim.add(size=size)
    words = [b"", b"3", b"\xff", b"\x89PNG\r\n\x1a\n", b"RIFF\0\0\0\0WAVEfmt ", b"text"]
    proto.string_val.extend(draw(st.lists(st.sampled_from(words), max_size=5)))
    proto.float_val.extend(draw(st.lists(st.floats(width=32), max_size=7)))
    proto.double_val.extend(draw(st.lists(st.floats(), max_size=4)))
    proto.tensor_content = draw(st.binary(max_size=9) | st.just(b""))
    return proto


@pytest.fixture(scope="module")
def all_kinds(tmp_path_factory: pytest.TempPathFactory) -> PanelClient:
    folder = tmp_path_factory.mktemp("kinds")
    corrupted_logs.every_kind(folder / "every")
    corrupted_logs.write_hostile(folder / "hostile")
    golden = Path(__file__).parents[1] / "golden"
    (folder / "torch").symlink_to(golden / "torch")
    return PanelClient(folder, follow_links=True)


@settings(max_examples=600, deadline=None)
@given(st.data())
def test_no_request_is_a_server_error(all_kinds: PanelClient, data: st.DataObject) -> None:
    rules = {
        rule.rule
        for rule in all_kinds.app.url_map.iter_rules()
        if "GET" in (rule.methods or ()) and not rule.rule.endswith(LEFT_OUT)
    }
    rule = data.draw(st.sampled_from(sorted(rules)))
    path = re.sub(r"<[^>]+>", lambda _: data.draw(st.sampled_from(["0", "1", "zz"])), rule)
    series = data.draw(st.sampled_from(all_kinds.index.all_series()))
    query = {"run": str(series.run.id), "tag": str(series.tag.id)}
    query |= data.draw(st.fixed_dictionaries({}, optional=ARGUMENTS))
    check(all_kinds, path, query)


PLUGINS = ("images", "audio", "histograms", "text", "pr_curves", "custom_scalars", "hparams",
           "mesh", "scalars", "other")  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(tensors(), min_size=1, max_size=3),
            st.sampled_from(PLUGINS),
            st.binary(max_size=12),
        ),
        min_size=10,
        max_size=10,
    )
)
def test_no_tensor_is_a_server_error(
    tmp_path_factory: pytest.TempPathFactory,
    series: list[tuple[list[TensorProto], str, bytes]],
) -> None:
    """Ten series share a log, because starting a board takes longer than all requests to it."""
    folder = tmp_path_factory.mktemp("tensor")
    values = [
        (i, Summary.Value(tag=f"x{at}", tensor=tensor, metadata=metadata(plugin, content)))
        for at, (tensors_of_tag, plugin, content) in enumerate(series)
        for i, tensor in enumerate(tensors_of_tag)
    ]
    write_values(folder, values)
    client = PanelClient(folder)
    for found in client.index.all_series():
        query = {"run": str(found.run.id), "tag": str(found.tag.id)}
        for path in ("blobs/items", "histograms", "text", "pr_curves", "tensors", "mesh"):
            check(client, f"/api/v1/{path}", {**query, "row": "0"})
        check(client, "/api/v1/histograms", {**query, "bins": "raw"})
    for path in ("hparams", "custom_scalars", "meshes", "tags"):
        check(client, f"/api/v1/{path}", {})


def check(client: PanelClient, path: str, query: dict[str, str]) -> None:
    got = client.client.get(path, query_string=query)
    assert got.status_code < 500, (path, query, got.data[:200])
    if got.status_code >= 400 and path.startswith("/api"):
        assert json.loads(got.data)["error"]
