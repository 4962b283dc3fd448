"""Triangle meshes and point clouds: GET /meshes, /mesh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flask import Response, request

from headrace.board.errors import BadRequest, NotFound
from headrace.board.summaries.meshes import MeshSeries, meshes_of, read_sample, scene_config
from headrace.board.web.panel import Panel, Route
from headrace.board.web.query_arguments import int_argument
from headrace.board.web.responses import columns_response, json_response
from headrace.formats.errors import DataLossError, OpError


class MeshesPanel(Panel):
    """Serves the list of meshes, the steps of one, and its vertices at a step."""

    name = "meshes"

    def routes(self) -> Sequence[Route]:
        return (Route("GET", "/meshes", self.meshes), Route("GET", "/mesh", self.mesh))

    def meshes(self) -> Response:
        """Returns all meshes; with `run` and `tag` the steps of one."""
        if "run" in request.args or "tag" in request.args:
            rows = self._requested().vertices.rows()
            current = np.flatnonzero(~rows.superseded)
            columns = {
                "row": current.astype(np.int32),
                "step": rows.step[current],
                "wall": rows.wall[current],
            }
            return columns_response(self.board, {"n": len(current)}, columns)
        return json_response(
            self.board, {"meshes": [_mesh_row(mesh) for mesh in meshes_of(self.board)]}
        )

    def mesh(self) -> Response:
        """Returns vertices, faces and colours of one sample at one step."""
        mesh = self._requested()
        rows = mesh.vertices.rows()
        at = int_argument("row", len(rows) - 1, 0)
        if not 0 <= at < len(rows):
            raise NotFound(f"{mesh.name} has {len(rows)} rows, so no {at}")
        step = int(rows.step[at])
        sample = int_argument("sample", 0, 0, 2**31)
        try:
            found = read_sample(self.board, mesh, rows, at, sample)
        except (OpError, DataLossError) as error:
            raise BadRequest(f"{mesh.name}, step {step}: {error}") from None
        header = {
            "step": step,
            "wall": float(rows.wall[at]),
            "row": at,
            "sample": sample,
            "samples": found.samples,
            "vertices": len(found.vertices),
            "faces": len(found.faces),
            "has_faces": mesh.faces is not None,
            "config": scene_config(mesh.config),
            "notes": found.notes,
        }
        columns = {
            "vertices": found.vertices.ravel(),
            "faces": found.faces.ravel(),
            "colors": found.colors.ravel(),
        }
        return columns_response(self.board, header, columns)

    def _requested(self) -> MeshSeries:
        run, tag = int_argument("run"), int_argument("tag")
        for mesh in meshes_of(self.board, run):
            parts = (mesh.vertices, mesh.faces, mesh.colors)
            if any(part is not None and part.tag.id == tag for part in parts):
                return mesh
        raise NotFound(f"run {run} has no mesh of tag {tag}")


def _mesh_row(mesh: MeshSeries) -> dict[str, Any]:
    tag = mesh.vertices.tag
    return {
        "run": mesh.vertices.run.id,
        "tag": tag.id,
        "name": mesh.name,
        "display": tag.display,
        "description": tag.description,
        "n": len(mesh.vertices),
        "face_tag": mesh.faces.tag.id if mesh.faces else None,
        "color_tag": mesh.colors.tag.id if mesh.colors else None,
        "config": scene_config(mesh.config),
    }
