"""`/meshes` and `/mesh`: triangle meshes and point clouds (docs/board_api.md)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from flask import Blueprint, Response, request
from google.protobuf.message import DecodeError

from headrace.board.web.responses import BadRequest, NotFound, int_argument, reply_columns, reply_json
from headrace.board.store.blob_series import BlobRows, BlobSeries
from headrace.formats.errors import DataLossError, OpError
from headrace.formats.proto.plugin_mesh_pb2 import MeshPluginData
from headrace.formats.tensor_codec import make_ndarray

if TYPE_CHECKING:
    from headrace.board.board import Board

MOST_VERTICES = 2_000_000
MOST_FACES = 4_000_000
_MOST_EXPANDED_BYTES = 64 << 20  # of a tensor that is stored as one number
_MOST_CONFIG = 1 << 16
_VERTEX, _FACE, _COLOR = (
    MeshPluginData.VERTEX,
    MeshPluginData.FACE,
    MeshPluginData.COLOR,
)
_SUFFIXES = {_VERTEX: "_VERTEX", _FACE: "_FACE", _COLOR: "_COLOR"}


@dataclass(frozen=True, slots=True)
class MeshSeries:
    """The series that together are a mesh in a run; name: without the parts' suffix."""

    name: str
    vertices: BlobSeries
    faces: BlobSeries | None
    colors: BlobSeries | None
    config: str


def blueprint(board: Board) -> Blueprint:
    """Returns the endpoints of meshes."""
    made = Blueprint("meshes", __name__)

    def asked() -> MeshSeries:
        run, tag = int_argument("run"), int_argument("tag")
        for mesh in meshes_of(board, run):
            parts = (mesh.vertices, mesh.faces, mesh.colors)
            if any(part is not None and part.tag.id == tag for part in parts):
                return mesh
        raise NotFound(f"run {run} has no mesh of tag {tag}")

    @made.get("/meshes")
    def meshes() -> Response:
        if "run" in request.args or "tag" in request.args:
            rows = asked().vertices.rows()
            live = np.flatnonzero(~rows.superseded)
            columns = {
                "row": live.astype(np.int32),
                "step": rows.step[live],
                "wall": rows.wall[live],
            }
            return reply_columns(board, {"n": len(live)}, columns)
        return reply_json(board, {"meshes": [_described(mesh) for mesh in meshes_of(board)]})

    @made.get("/mesh")
    def mesh() -> Response:
        found = asked()
        rows = found.vertices.rows()
        at = int_argument("row", len(rows) - 1, 0)
        if not 0 <= at < len(rows):
            raise NotFound(f"{found.name} has {len(rows)} rows, so no {at}")
        try:
            return _mesh_reply(board, found, rows, at, int_argument("sample", 0, 0, 2**31))
        except (OpError, DataLossError) as error:
            raise BadRequest(f"{found.name}, step {int(rows.step[at])}: {error}") from None

    return made


def meshes_of(board: Board, run: int | None = None) -> list[MeshSeries]:
    """Returns all meshes, or those of a run."""
    parts: dict[tuple[int, str], dict[int, tuple[BlobSeries, MeshPluginData]]] = {}
    for series in board.index.series_of_kind("mesh"):
        if not isinstance(series, BlobSeries) or not len(series):
            continue
        if run is not None and series.run.id != run:
            continue
        try:
            data = MeshPluginData.FromString(series.plugin_content)
        except DecodeError:
            data = MeshPluginData()
        kind, name = _kind_and_name(series.tag.name, data)
        if kind is not None:
            parts.setdefault((series.run.id, name), {}).setdefault(kind, (series, data))
    found = []
    for (_, name), part in parts.items():
        if _VERTEX in part:
            vertices, data = part[_VERTEX]
            faces, colors = part.get(_FACE), part.get(_COLOR)
            found.append(
                MeshSeries(
                    name,
                    vertices,
                    faces[0] if faces else None,
                    colors[0] if colors else None,
                    data.json_config,
                )
            )
    return found


def _kind_and_name(tag: str, data: MeshPluginData) -> tuple[int | None, str]:
    # The tag tells, since two meshes of different scopes have the same name in their metadata.
    for kind, suffix in _SUFFIXES.items():
        if tag.endswith(suffix) and data.content_type in (kind, MeshPluginData.UNDEFINED):
            return kind, tag.removesuffix(suffix)
    if data.content_type in _SUFFIXES:
        return data.content_type, data.name or tag
    return None, tag


def _described(mesh: MeshSeries) -> dict[str, Any]:
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
        "config": _config(mesh.config),
    }


def _mesh_reply(board: Board, mesh: MeshSeries, rows: BlobRows, at: int, sample: int) -> Response:
    notes: list[str] = []
    step = int(rows.step[at])
    vertices, samples = _sample(board, rows, at, sample, "vertices", MOST_VERTICES)
    with np.errstate(over="ignore"):  # what is out of range is infinite, and said so
        vertices = vertices.astype(np.float32)
    finite = np.isfinite(vertices).all(axis=1)
    if not finite.all():
        notes.append(f"{int((~finite).sum()):,} vertices are NaN or infinite and not drawn.")
    faces = np.empty((0, 3), np.int32)
    colors = np.empty((0, 3), np.uint8)
    place = _row_of_step(mesh.faces, step)
    if mesh.faces is not None and place is not None:
        stored, _ = _sample(board, mesh.faces.rows(), place, sample, "faces", MOST_FACES)
        fits = ((stored >= 0) & (stored < len(vertices))).all(axis=1)
        if not fits.all():
            notes.append(f"{int((~fits).sum()):,} faces name vertices that there are not.")
        faces = stored[fits].astype(np.int32)
    place = _row_of_step(mesh.colors, step)
    if mesh.colors is not None and place is not None:
        stored, _ = _sample(board, mesh.colors.rows(), place, sample, "colors", MOST_VERTICES)
        if len(stored) == len(vertices):
            colors = np.clip(np.nan_to_num(stored), 0, 255).astype(np.uint8)
        else:
            notes.append(f"{len(stored):,} colors do not fit {len(vertices):,} vertices.")
    faces = faces[finite[faces].all(axis=1)] if len(faces) else faces
    header = {
        "step": step,
        "wall": float(rows.wall[at]),
        "row": at,
        "sample": sample,
        "samples": samples,
        "vertices": len(vertices),
        "faces": len(faces),
        "has_faces": mesh.faces is not None,
        "config": _config(mesh.config),
        "notes": notes,
    }
    columns = {"vertices": vertices.ravel(), "faces": faces.ravel(), "colors": colors.ravel()}
    return reply_columns(board, header, columns)


def _row_of_step(series: BlobSeries | None, step: int) -> int | None:
    """Returns the last row at that step, or else the last before it: faces may be written once."""
    if series is None:
        return None
    rows = series.rows()
    same = np.flatnonzero(rows.step == step)
    if len(same):
        return int(same[-1])
    before = np.flatnonzero((rows.step < step) & ~rows.superseded)
    return int(before[-1]) if len(before) else None


def _sample(
    board: Board, rows: BlobRows, at: int, sample: int, what: str, most: int
) -> tuple[np.ndarray, int]:
    """Returns one [n, 3] of a tensor [..., n, 3], n at most that, and how many it has."""
    tensor = board.records.value(rows, at).tensor
    # Before a single byte of it is decoded: a shape may promise more than there is memory.
    dims = tensor.tensor_shape.dim
    if len(dims) >= 2 and dims[-2].size > most:
        raise BadRequest(f"there are {dims[-2].size:,} {what}, more than {most:,}")
    array = make_ndarray(tensor, _MOST_EXPANDED_BYTES)
    if array.ndim < 2 or array.shape[-1] != 3 or array.dtype.kind not in "iufb":
        raise BadRequest(f"{what} are {array.dtype} {list(array.shape)}, not numbers [batch, n, 3]")
    if not array.size:
        return np.empty((0, 3), array.dtype), 0
    array = array.reshape(-1, array.shape[-2], 3)
    if sample >= array.shape[0]:
        raise NotFound(f"the {what} have {array.shape[0]} samples, so no {sample}")
    return array[sample], array.shape[0]


def _config(text: str) -> dict[str, Any]:
    """Returns the scene's config as far as it is JSON, of a size that a page wants."""
    if len(text) > _MOST_CONFIG:
        return {}
    try:
        config = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}
