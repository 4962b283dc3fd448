"""Embeddings and meshes written by TensorFlow and PyTorch are shown unchanged (tox -e peer)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from write_projectors import COLORS, FACES, POINTS, VERTICES

from headrace.board.app import create_app

pytestmark = pytest.mark.peer

HERE = Path(__file__).resolve().parent


def interpreter(peer: str) -> str:
    """Returns the interpreter that has a peer: in .peers, or this one."""
    own = HERE.parents[3] / ".peers" / peer / "bin" / "python"
    return str(own) if own.exists() else sys.executable


@pytest.mark.parametrize("peer", ["tensorflow", "torch"])
def test_an_embedding_and_a_mesh_of_a_peer(peer: str, tmp_path: Path) -> None:
    script = str(HERE / "write_projectors.py")
    done = subprocess.run(
        [interpreter(peer), script, peer, str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    client = create_app(tmp_path, follow=False).test_client()

    def get(path: str) -> Any:
        reply = client.get(f"/api/v1/{path}", headers={"Accept": "application/json"})
        assert reply.status_code == 200, reply.data
        return reply.json

    (one,) = get("embeddings")["embeddings"]
    points = get(f"embedding?id={one['id']}")["columns"]["points"]
    np.testing.assert_allclose(points, POINTS.ravel(), rtol=1e-6)
    labels = get(f"embedding/metadata?id={one['id']}")
    assert labels["values"][0] == [f"word {i}" for i in range(len(POINTS))]
    if peer == "torch":
        assert one["sprite"] == [8, 8] and labels["columns"][1]["name"] == "k"
        assert client.get(f"/api/v1/embedding/sprite?id={one['id']}").data[:4] == b"\x89PNG"
    (mesh,) = get("meshes")["meshes"]
    assert mesh["name"] == "shape" and mesh["config"] == {"fov": 50}
    columns = get(f"mesh?run={mesh['run']}&tag={mesh['tag']}")["columns"]
    np.testing.assert_array_equal(np.float32(columns["vertices"]), VERTICES.ravel())
    np.testing.assert_array_equal(columns["faces"], FACES.ravel())
    np.testing.assert_array_equal(columns["colors"], COLORS.ravel())
    assert get("problems")["problems"] == []
