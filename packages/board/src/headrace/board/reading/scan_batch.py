"""The result of one pass over part of an event file, as both scanners return it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from headrace.board.store.tag_entry import TagEntry

# How a pass ended.
END = 0  # after the last record
TORN = 1  # inside a record that may still grow
MORE = 2  # at the limit of the pass: scan again
LOST = 3  # inside a gap that no intact record follows yet
DEAD = 4  # the file has too many gaps
FAILED = 5  # a system error; the rows before it are valid, and a later pass continues

# A longer record counts as a corrupted length.
MAX_RECORD_BYTES = 1 << 30
MAX_NAME_BYTES = 64 << 10
MAX_CONTENT_BYTES = 1 << 20
MAX_TAGS = 100_000
MAX_TAG_BYTES = 64 << 20
# A file with more gaps, or whose gaps cost more bytes of checking, is read no further.
MAX_GAPS = 10_000
MAX_WASTED_BYTES = 4 << 30
# A pass reads blocks of this size, and searches this far for the next record after a gap.
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
    """Bytes of a file that yielded no values.

    kind: "payload" (wrong CRC of the data), "length" (wrong CRC of the length), "event" (valid CRC
      but not an Event), "name" (the name of a tag was cut; its values are kept).
    """

    kind: str
    offset: int
    bytes: int
    records: int


class Rows(NamedTuple):
    """Rows sorted by tag: the rows of tags[i] are bounds[i]:bounds[i + 1]."""

    tags: np.ndarray  # i32, rising
    bounds: np.ndarray  # i64, one longer than tags
    columns: tuple[np.ndarray, ...]


@dataclass(slots=True)
class ScanBatch:
    """What one pass found.

    scalars: columns step i64, wall f64, value f64; wide: for each tag of scalars, whether a value
      needs 64 bits.
    blobs: columns step i64, wall f64, offset i64 (of the record), length i64 (of its data),
      value i32 (index in the summary, -1 for a field of the event itself).
    starts: (tag, row among the file's rows of that tag, step): a session started before that row.
    dropped: number of values of tags beyond the limits; dropped_from: offset of the first such
      record, or -1.
    error: the errno of a pass that ended as FAILED, else 0.
    first_wall: wall time of the file's first event, NaN before it; last_wall: the greatest of this
      pass, or -inf.
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
