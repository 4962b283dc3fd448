"""What one pass over a stretch of an event file found: the form that both scanners return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from headrace.board.store.tag_entry import TagEntry

# How a pass ended.
END = 0  # behind the last record
TORN = 1  # inside a record that may still grow
MORE = 2  # at the pass's limit: call again
LOST = 3  # in damage, with no whole record behind it yet
DEAD = 4  # the file has used up its budget of errors
FAILED = 5  # the system refused to read; what came before counts, and a later pass goes on

# Nothing longer is a record (the plan's section 6).
MAX_RECORD_BYTES = 1 << 30
MAX_NAME_BYTES = 64 << 10
MAX_CONTENT_BYTES = 1 << 20
MAX_TAGS = 100_000
MAX_TAG_BYTES = 64 << 20
# A file with more gaps, or whose damage costs more bytes of checking, is given up.
MAX_GAPS = 10_000
MAX_WASTED_BYTES = 4 << 30
# A pass reads blocks of this size, and looks this far for the next record behind damage.
BLOCK_BYTES = 8 << 20
MAX_RESYNC_BYTES = 64 << 20

KIND_OF_PLUGIN = {
    "scalars": "scalar",
    "images": "image",
    "histograms": "histogram",
    "text": "text",
    "audio": "audio",
    "pr_curves": "pr_curve",
    "hparams": "hparams",
    "mesh": "mesh",
    "custom_scalars": "custom_scalars",
    "graph_run_metadata": "run_metadata",
    "graph_run_metadata_graph": "run_metadata",
    "graph_keras_model": "tensor",
}


class Gap(NamedTuple):
    """Bytes of a file that gave nothing.

    kind: "payload" (bad CRC), "length" (bad CRC of a length), "event" (no Event inside a good CRC),
      "name" (a tag's name was cut; its values are kept).
    """

    kind: str
    offset: int
    bytes: int
    records: int


class Rows(NamedTuple):
    """Rows of many tags, tag by tag: those of tags[i] are bounds[i]:bounds[i + 1]."""

    tags: np.ndarray  # i32, rising
    bounds: np.ndarray  # i64, one longer than tags
    columns: tuple[np.ndarray, ...]


@dataclass(slots=True)
class ScanBatch:
    """News of one pass.

    scalars: columns step i64, wall f64, value f64; wide: by tag of scalars, whether a value
      needs 64 bits.
    blobs: columns step i64, wall f64, offset i64 (of the record), length i64 (of its data),
      value i32 (place in the summary, -1 for the event's own bytes).
    starts: (tag, row among the file's rows of that tag, step): a session began before that row.
    dropped: values of tags beyond the limits; dropped_from: offset of the first one's record, -1
      without one.
    error: why the system refused to read, an errno; 0 unless the pass ended as FAILED.
    first_wall: of the file's first event, NaN before; last_wall: the greatest of this pass, -inf
      without one.
    """

    offset: int
    state: int
    records: int
    first_wall: float
    last_wall: float
    new_tags: list[TagEntry]
    scalars: Rows
    wide: np.ndarray
    blobs: Rows
    starts: list[tuple[int, int, int]]
    gaps: list[Gap] = field(default_factory=list)
    open_gap: Gap | None = None
    dropped: int = 0
    dropped_from: int = -1
    error: int = 0
