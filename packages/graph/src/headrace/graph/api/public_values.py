"""Public names for indexing, sparse tensors, strings and parsing.

public_names.py describes the format.
"""

from __future__ import annotations

from headrace.graph.api.public_rows import rows

_SEGMENTS = (
    "segment_sum segment_mean segment_prod segment_max segment_min unsorted_segment_sum "
    "unsorted_segment_mean unsorted_segment_prod unsorted_segment_max unsorted_segment_min "
    "unsorted_segment_sqrt_n"
)
_PICKED = "sparse_segment_sum sparse_segment_mean sparse_segment_sqrt_n"

_BY_INDEX = {
    **rows("ops.segment", f"{_SEGMENTS} {_PICKED}"),
    **rows("ops.segment", _SEGMENTS, "math"),
    "sparse.segment_sum": "ops.segment:sparse_segment_sum",
    "sparse.segment_mean": "ops.segment:sparse_segment_mean",
    "sparse.segment_sqrt_n": "ops.segment:sparse_segment_sqrt_n",
    **rows(
        "ops.scatter",
        "scatter_nd batch_scatter_update dynamic_partition dynamic_stitch "
        "tensor_scatter_nd_update tensor_scatter_nd_add tensor_scatter_nd_sub "
        "tensor_scatter_nd_max tensor_scatter_nd_min",
    ),
    "tensor_scatter_update": "ops.scatter:tensor_scatter_nd_update",
    "tensor_scatter_add": "ops.scatter:tensor_scatter_nd_add",
    "tensor_scatter_sub": "ops.scatter:tensor_scatter_nd_sub",
    "manip.scatter_nd": "ops.scatter",
}

_SPARSE_BOTH = {  # public under two names: sparse.<name>, and sparse_<name> or the given one
    "add": "sparse",
    "concat": "layout",
    "fill_empty_rows": "layout",
    "mask": "sparse",
    "maximum": "sparse",
    "merge": "layout",
    "minimum": "sparse",
    "reduce_max": "sparse",
    "reduce_max_sparse": "sparse",
    "reduce_sum": "sparse",
    "reduce_sum_sparse": "sparse",
    "reorder": "layout",
    "reset_shape": "layout",
    "reshape": "layout",
    "retain": "layout",
    "slice": "layout",
    "softmax": "sparse",
    "split": "layout",
    "to_indicator": "layout",
    "transpose": "layout",
}

_SPARSE = {
    **{f"sparse.{name}": f"ops.sparse.{module}" for name, module in _SPARSE_BOTH.items()},
    **{f"sparse_{name}": f"ops.sparse.{module}:{name}" for name, module in _SPARSE_BOTH.items()},
    **rows(
        "ops.sparse.sparse",
        "cross cross_hashed eye from_dense sparse_dense_matmul to_dense",
        "sparse",
    ),
    "sparse.matmul": "ops.sparse.sparse:sparse_dense_matmul",
    "sparse.expand_dims": "ops.sparse.layout",
    "sparse.placeholder": "ops.arrays.placeholders:sparse_placeholder",
    "sparse.SparseTensor": "builder.indexed_slices",
    "sparse_tensor_dense_matmul": "ops.sparse.sparse:sparse_dense_matmul",
    "sparse_tensor_to_dense": "ops.sparse.sparse:to_dense",
    **rows("ops.sparse.sparse", "sparse_to_dense sparse_matmul edit_distance"),
    **rows("ops.sparse.layout", "serialize_sparse serialize_many_sparse deserialize_many_sparse"),
    **rows(
        "ops.sparse.layout", "serialize_sparse serialize_many_sparse deserialize_many_sparse", "io"
    ),
    **rows("ops.sparse.sets", "set_size set_intersection set_union set_difference", "sets"),
    "sets.size": "ops.sparse.sets:set_size",
    "sets.intersection": "ops.sparse.sets:set_intersection",
    "sets.union": "ops.sparse.sets:set_union",
    "sets.difference": "ops.sparse.sets:set_difference",
}

_TEXT = {
    **rows("ops.strings", "string_split reduce_join regex_replace as_string substr"),
    **rows("ops.strings", "encode_base64 decode_base64"),
    **rows("ops.strings", "encode_base64 decode_base64", "io"),
    "string_join": "ops.strings:join",
    "string_strip": "ops.strings:strip",
    "string_to_number": "ops.strings:to_number",
    "string_to_hash_bucket": "ops.strings:to_hash_bucket",
    "string_to_hash_bucket_fast": "ops.strings:to_hash_bucket_fast",
    "string_to_hash_bucket_strong": "ops.strings:to_hash_bucket_strong",
    **rows(
        "ops.strings",
        "as_string format join length lower reduce_join regex_full_match regex_replace split strip "
        "substr to_hash_bucket to_hash_bucket_fast to_hash_bucket_strong to_number unicode_script "
        "unicode_transcode unsorted_segment_join upper",
        "strings",
    ),
}

_DECODING = (
    "decode_raw decode_compressed decode_csv decode_json_example parse_tensor serialize_tensor"
)
_EXAMPLES = "parse_example parse_single_example"
_FEATURES = "FixedLenFeature FixedLenSequenceFeature VarLenFeature SparseFeature"
_PARSING = {
    **rows("ops.parsing.decoding", _DECODING),
    **rows("ops.parsing.decoding", _DECODING, "io"),
    **rows("ops.parsing.examples", _EXAMPLES),
    **rows("ops.parsing.examples", _EXAMPLES, "io"),
    "parse_single_sequence_example": "ops.parsing.sequence_examples",
    **rows(
        "ops.parsing.sequence_examples",
        "parse_sequence_example parse_single_sequence_example",
        "io",
    ),
    **rows("ops.parsing.features", _FEATURES),
    **rows("ops.parsing.features", _FEATURES, "io"),
}

_CHECKS = (
    "assert_equal assert_greater assert_greater_equal assert_integer assert_less assert_less_equal "
    "assert_near assert_negative assert_non_negative assert_non_positive assert_none_equal "
    "assert_positive assert_proper_iterable assert_rank assert_rank_at_least assert_rank_in "
    "assert_same_float_dtype assert_scalar assert_type is_non_decreasing is_numeric_tensor "
    "is_strictly_increasing"
)

_SPOKEN = {
    **rows("ops.assertions", _CHECKS),
    **rows("ops.assertions", _CHECKS + " assert_shapes", "debugging"),
    **rows("ops.elementwise.elementwise", "is_finite is_inf is_nan", "debugging"),
    **rows(
        "ops.logging",
        "Print print check_numerics add_check_numerics_ops verify_tensor_all_finite timestamp",
    ),
    "debugging.check_numerics": "ops.logging",
    "debugging.assert_all_finite": "ops.logging:verify_tensor_all_finite",
    **rows(
        "platform.logging",
        "DEBUG INFO WARN ERROR FATAL TaskLevelStatusMessage debug error fatal flush get_verbosity "
        "info log log_every_n log_first_n log_if set_verbosity vlog warn warning",
        "logging",
    ),
}

_SMALL = {
    **rows("ops.arrays.sorting", "sort argsort repeat unravel_index"),
    **rows(
        "ops.elementwise.special_functions",
        "scalar_mul floor_div lbeta log_sigmoid to_complex64 to_complex128 "
        "histogram_fixed_width_bins",
    ),
    **rows(
        "ops.elementwise.special_functions",
        "scalar_mul lbeta log_sigmoid polyval reciprocal_no_nan erfcinv cumulative_logsumexp",
        "math",
    ),
    **rows("ops.assertions", "is_non_decreasing is_strictly_increasing", "math"),
    **rows("autodiff.custom_gradients", "custom_gradient grad_pass_through"),
    **rows(
        "ops.random.stateless_random",
        "stateless_uniform stateless_normal stateless_truncated_normal stateless_multinomial "
        "stateless_categorical",
        "random",
    ),
    "random.categorical": "ops.random.random",
    "random.get_seed": "framework.default_graph",
    **rows("ops.arrays.shapes", "reshape tile", "manip"),
    **rows("ops.arrays.arrays", "batch_to_space_nd reverse roll space_to_batch_nd", "manip"),
    "manip.gather_nd": "ops.gather",
}

VALUES: dict[str, str] = {
    **_SMALL,
    **_BY_INDEX,
    **_SPARSE,
    **_TEXT,
    **_PARSING,
    **_SPOKEN,
}
