"""Triangle meshes and point clouds: the series that form one, and its vertices at a step."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import DecodeError

from headrace.board.errors import BadRequest, NotFound
from headrace.board.store.blob_series import BlobRows, BlobSeries
from headrace.formats.proto.plugin_mesh_pb2 import MeshPluginData
from headrace.formats.tensor_codec import make_ndarray

if TYPE_CHECKING:
    from headrace.board.board import Board

MAX_VERTICES = 2_000_000
MAX_FACES = 4_000_000
_MAX_EXPANDED_BYTES = 64 << 20  # of a tensor that is stored as a single repeated number
_MAX_CONFIG = 1 << 16
_VERTEX, _FACE, _COLOR = (
    MeshPluginData.VERTEX,
    MeshPluginData.FACE,
    MeshPluginData.COLOR,
)
# TensorFlow and PyTorch end tags with a word, tensorboardX with the number of the content type.
# meshTag of frontend/src/mesh/mesh_tags.ts has the same suffixes.
_SUFFIXES = {
    _VERTEX: ("_VERTEX", "_1"),
    _FACE: ("_FACE", "_2"),
    _COLOR: ("_COLOR", "_3"),
}


@dataclass(frozen=True, slots=True)
class MeshSeries:
    """The series that together are one mesh of a run; name: without the suffix of the parts."""

    name: str
    vertices: BlobSeries
    faces: BlobSeries | None
    colors: BlobSeries | None
    config: str


def meshes_of(board: Board, run: int | None = None) -> list[MeshSeries]:
    """Returns the meshes of a run, or of all runs."""
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
    # The tag decides: meshes of different scopes share the name in their metadata.
    for kind, suffixes in _SUFFIXES.items():
        for suffix in suffixes:
            if tag.endswith(suffix) and data.content_type in (kind, MeshPluginData.UNDEFINED):
                return kind, tag.removesuffix(suffix)
    if data.content_type in _SUFFIXES:
        return data.content_type, data.name or tag
    return None, tag


@dataclass(frozen=True, slots=True)
class MeshSample:
    """One mesh of a batch at one step, without faces and colours that do not fit its vertices.

    vertices: [n, 3] f32; faces: [m, 3] i32; colors: [n, 3] u8, or [0, 3] without colours.
    samples: meshes in the batch; notes: sentences about what was left out.
    """

    vertices: np.ndarray
    faces: np.ndarray
    colors: np.ndarray
    samples: int
    notes: list[str]


def read_sample(board: Board, mesh: MeshSeries, rows: BlobRows, at: int, sample: int) -> MeshSample:
    """Reads one mesh of a batch.

    Args:
      rows: the rows of the vertices.
      at: which of them.
      sample: index in the batch.
    Raises: BadRequest; NotFound; OpError or DataLossError if a record cannot be read.
    """
    notes: list[str] = []
    step = int(rows.step[at])
    vertices, samples = _sample(board, rows, at, sample, "vertices", MAX_VERTICES)
    with np.errstate(over="ignore"):  # values out of range become infinite, which a note says
        vertices = vertices.astype(np.float32)
    finite = np.isfinite(vertices).all(axis=1)
    if not finite.all():
        notes.append(f"{int((~finite).sum()):,} vertices are NaN or infinite and not drawn.")
    faces = np.empty((0, 3), np.int32)
    colors = np.empty((0, 3), np.uint8)
    place = _row_of_step(mesh.faces, step)
    if mesh.faces is not None and place is not None:
        stored, _ = _sample(board, mesh.faces.rows(), place, sample, "faces", MAX_FACES)
        fits = ((stored >= 0) & (stored < len(vertices))).all(axis=1)
        if not fits.all():
            notes.append(f"{int((~fits).sum()):,} faces name vertices that there are not.")
        faces = stored[fits].astype(np.int32)
    place = _row_of_step(mesh.colors, step)
    if mesh.colors is not None and place is not None:
        stored, _ = _sample(board, mesh.colors.rows(), place, sample, "colors", MAX_VERTICES)
        if len(stored) == len(vertices):
            colors = np.clip(np.nan_to_num(stored), 0, 255).astype(np.uint8)
        else:
            notes.append(f"{len(stored):,} colors do not fit {len(vertices):,} vertices.")
    faces = faces[finite[faces].all(axis=1)] if len(faces) else faces
    return MeshSample(vertices, faces, colors, samples, notes)


def _row_of_step(series: BlobSeries | None, step: int) -> int | None:
    """Returns the last row at a step, else the last before it: faces may be logged only once."""
    if series is None:
        return None
    rows = series.rows()
    same = np.flatnonzero(rows.step == step)
    if len(same):
        return int(same[-1])
    before = np.flatnonzero((rows.step < step) & ~rows.superseded)
    return int(before[-1]) if len(before) else None


def _sample(
    board: Board, rows: BlobRows, at: int, sample: int, what: str, limit: int
) -> tuple[np.ndarray, int]:
    """Returns sample [n, 3] of a tensor [..., n, 3], and the number of samples."""
    tensor = board.records.value(rows, at).tensor
    # Checked before decoding: a shape may promise more than fits into memory.
    dims = tensor.tensor_shape.dim
    if len(dims) >= 2 and dims[-2].size > limit:
        raise BadRequest(f"there are {dims[-2].size:,} {what}, more than {limit:,}")
    array = make_ndarray(tensor, _MAX_EXPANDED_BYTES)
    if array.ndim < 2 or array.shape[-1] != 3 or array.dtype.kind not in "iufb":
        raise BadRequest(f"{what} are {array.dtype} {list(array.shape)}, not numbers [batch, n, 3]")
    if not array.size:
        return np.empty((0, 3), array.dtype), 0
    array = array.reshape(-1, array.shape[-2], 3)
    if sample >= array.shape[0]:
        raise NotFound(f"the {what} have {array.shape[0]} samples, so no {sample}")
    return array[sample], array.shape[0]


def scene_config(text: str) -> dict[str, Any]:
    """Returns the JSON object of a scene config; {} if it is anything else, or too long."""
    if len(text) > _MAX_CONFIG:
        return {}
    try:
        config = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}
