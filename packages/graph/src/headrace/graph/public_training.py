"""Public names of what trains: the global step, and what is around a training program.

public_names.py says how to read a row.
"""

from __future__ import annotations

from headrace.graph.public_rows import rows

_MESSAGES = {
    **rows(
        "=headrace.formats.proto.example_pb2",
        "Example SequenceExample Feature Features FeatureList FeatureLists BytesList FloatList "
        "Int64List",
        "train",
    ),
    **rows("=headrace.formats.proto.summary_pb2", "Summary SummaryMetadata HistogramProto"),
    **rows("=headrace.formats.proto.event_pb2", "Event SessionLog LogMessage"),
    "summary.TaggedRunMetadata": "=headrace.formats.proto.event_pb2",
}

TRAINING: dict[str, str] = {**_MESSAGES}
