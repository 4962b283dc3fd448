"""Public names of input pipelines: `hr.data`, and what only `hr.contrib.data` has.

public_names.py describes the format.
"""

from __future__ import annotations

from headrace.graph.api.public_rows import rows

_DATASETS = {
    **rows(
        "data.dataset",
        "Dataset get_output_classes get_output_shapes get_output_types make_initializable_iterator "
        "make_one_shot_iterator",
        "data",
    ),
    **rows("data.readers", "FixedLengthRecordDataset TFRecordDataset TextLineDataset", "data"),
    "data.DatasetSpec": "data.component_specs",
    "data.Iterator": "data.iterator",
    "data.Options": "data.option_sets",
    "OptionalSpec": "data.component_specs",
}

_EXPERIMENTAL = {
    **rows("data.dataset", "AUTOTUNE get_structure", "data.experimental"),
    **rows(
        "data.option_sets",
        "DistributeOptions MapVectorizationOptions OptimizationOptions StatsOptions "
        "ThreadingOptions",
        "data.experimental",
    ),
    **rows(
        "data.map_and_batch",
        "Counter copy_to_device dense_to_sparse_batch enumerate_dataset from_variant "
        "get_single_element map_and_batch map_and_batch_with_legacy_function parallel_interleave "
        "prefetch_to_device shuffle_and_repeat to_variant unbatch",
        "data.experimental",
    ),
    **rows(
        "data.grouping",
        "Reducer bucket_by_sequence_length group_by_reducer group_by_window",
        "data.experimental",
    ),
    **rows("data.optional", "Optional get_next_as_optional", "data.experimental"),
    **rows("data.csv_records", "CsvDataset make_csv_dataset", "data.experimental"),
    **rows(
        "data.feature_batches",
        "make_batched_features_dataset parse_example_dataset",
        "data.experimental",
    ),
    **rows(
        "data.iterator_state",
        "CheckpointInputPipelineHook make_saveable_from_iterator",
        "data.experimental",
    ),
    **rows("data.mixing", "choose_from_datasets sample_from_datasets", "data.experimental"),
    **rows("data.selection", "ignore_errors take_while unique", "data.experimental"),
    **rows(
        "data.sizes",
        "INFINITE_CARDINALITY UNKNOWN_CARDINALITY cardinality",
        "data.experimental",
    ),
    **rows("data.statistics", "bytes_produced_stats latency_stats", "data.experimental"),
    "data.experimental.StatsAggregator": "data.stats_aggregator",
    "data.experimental.RandomDataset": "data.random_numbers",
    "data.experimental.SqlDataset": "data.readers",
    "data.experimental.TFRecordWriter": "data.writers",
    "data.experimental.rejection_resample": "data.resampling",
    "data.experimental.scan": "data.scanning",
    "data.experimental.DatasetStructure": "data.component_specs:DatasetSpec",
    "data.experimental.OptionalStructure": "data.component_specs:OptionalSpec",
    "data.experimental.SparseTensorStructure": "data.component_specs:sparse_tensor_structure",
    "data.experimental.TensorStructure": "data.component_specs:tensor_structure",
}

_CONTRIB = {
    **rows(
        "data.contrib_data",
        "assert_element_shape batch_and_drop_remainder padded_batch_and_drop_remainder "
        "reduce_dataset sliding_window_batch sloppy_interleave",
        "contrib.data",
    ),
    "contrib.data.read_batch_features": "data.feature_batches",
    "contrib.data.set_stats_aggregator": "data.statistics",
}

DATA: dict[str, str] = {**_DATASETS, **_EXPERIMENTAL, **_CONTRIB}
