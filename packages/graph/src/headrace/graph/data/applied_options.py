"""The nodes that options add between a dataset and its iterator."""

from __future__ import annotations

import warnings
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.data.dataset_node import DatasetNode
from headrace.graph.data.option_sets import AutotuneAlgorithm
from headrace.graph.data.order import unchanged
from headrace.graph.data.statistics import with_aggregator


def with_applied_options(dataset: DatasetNode) -> Any:
    """Returns the dataset that an iterator reads: with the rewriting that the options ask for.

    The nodes are those of TensorFlow 1.15; OptimizeDataset and ModelDataset pass elements on.
    """
    options = dataset.options()
    names = options._static_optimizations()
    result: Any = dataset
    threading = options.experimental_threading
    for op_type, name, number in (
        ("MaxIntraOpParallelismDataset", "max_intra_op_parallelism",
            threading.max_intra_op_parallelism),
        ("PrivateThreadPoolDataset", "num_threads", threading.private_threadpool_size),
    ):  # fmt: skip
        if number is not None:
            result = unchanged(
                op_type, result, convert_to_tensor(number, as_dtype("int64"), name=name)
            )
    if names and dataset._has_captured_ref():
        warnings.warn(
            "tf.data static optimizations are not compatible with tf.Variable. The following "
            f"optimizations will be disabled: {', '.join(names)}. To enable optimizations, use "
            "resource variables instead by calling `tf.enable_resource_variables()` at the start "
            "of the program.",
            stacklevel=4,
        )
    elif names:
        result = unchanged(
            "OptimizeDataset",
            result,
            convert_to_tensor(names, as_dtype("string"), name="optimizations"),
            optimization_configs=options._static_optimization_configs(),
        )
    optimization = options.experimental_optimization
    if optimization.autotune is not False:
        algorithm = optimization.autotune_algorithm
        if isinstance(algorithm, AutotuneAlgorithm):
            algorithm = algorithm.value
        attrs = {"algorithm": algorithm} if algorithm else {}
        budget = optimization.autotune_cpu_budget or 0
        result = unchanged("ModelDataset", result, cpu_budget=budget, **attrs)
    statistics = options.experimental_stats
    if statistics.aggregator:
        result = with_aggregator(
            result, statistics.aggregator, statistics.prefix, statistics.counter_prefix
        )
    return result
