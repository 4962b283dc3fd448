"""Public names for input: files, readers, queue runners, batches and lookup tables.

public_names.py describes the format.
"""

from __future__ import annotations

from headrace.graph.api.public_rows import rows

_READERS = "ReaderBase FixedLengthRecordReader IdentityReader TextLineReader TFRecordReader "

_FILES = {
    **rows("ops.files", "read_file write_file matching_files"),
    **rows("ops.files", "read_file write_file matching_files", "io"),
    **rows("ops.readers", _READERS + "WholeFileReader"),
    "io.match_filenames_once": "training.input",
}

_QUEUES = {
    **rows(
        "training.input",
        "match_filenames_once limit_epochs input_producer string_input_producer "
        "range_input_producer slice_input_producer",
        "train",
    ),
    **rows(
        "training.batching",
        "batch maybe_batch batch_join maybe_batch_join shuffle_batch maybe_shuffle_batch "
        "shuffle_batch_join maybe_shuffle_batch_join",
        "train",
    ),
    **rows("contrib.training.bucketing", "bucket bucket_by_sequence_length", "contrib.training"),
}
for _space in ("train", "train.queue_runner"):
    _QUEUES.update(
        rows(
            "ops.synchronisation.queue_runner",
            "QueueRunner add_queue_runner start_queue_runners",
            _space,
        )
    )

_INITIALIZERS = "KeyValueTensorInitializer TextFileIndex TextFileInitializer"

_LOOKUP = {
    **rows("lookup.initializers", _INITIALIZERS, "lookup"),
    "lookup.StaticHashTable": "lookup.tables",
    "lookup.StaticVocabularyTable": "lookup.hash_buckets",
    **rows("lookup.mutable_tables", "DenseHashTable MutableHashTable", "lookup.experimental"),
}

_CONTRIB_LOOKUP = {
    **rows(
        "lookup.initializers",
        _INITIALIZERS + " TableInitializerBase TextFileIdTableInitializer "
        "TextFileStringTableInitializer",
        "contrib.lookup",
    ),
    **rows(
        "lookup.tables", "HashTable InitializableLookupTableBase LookupInterface", "contrib.lookup"
    ),
    **rows(
        "lookup.hash_buckets",
        "FastHashSpec HasherSpec IdTableWithHashBuckets StrongHashSpec",
        "contrib.lookup",
    ),
    "contrib.lookup.MutableDenseHashTable": "lookup.mutable_tables",
    "contrib.lookup.MutableHashTable": "lookup.mutable_tables:ContribMutableHashTable",
    **rows(
        "lookup.vocabularies",
        "index_table_from_file index_to_string index_to_string_table_from_file string_to_index "
        "string_to_index_table_from_file string_to_index_table_from_tensor",
        "contrib.lookup",
    ),
    "contrib.lookup.index_table_from_tensor": (
        "lookup.vocabularies:contrib_index_table_from_tensor"
    ),
    "contrib.lookup.index_to_string_table_from_tensor": (
        "lookup.vocabularies:contrib_index_to_string_table_from_tensor"
    ),
}

INPUT: dict[str, str] = {**_FILES, **_QUEUES, **_LOOKUP, **_CONTRIB_LOOKUP}
