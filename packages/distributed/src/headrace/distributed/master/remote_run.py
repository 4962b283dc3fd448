"""Runs of steps for clients that call over gRPC: their tensors as messages, their end as ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import grpc
import numpy as np

from headrace.distributed.master.prepared_step import PreparedStep
from headrace.formats.proto.run_pb2 import RunOptions
from headrace.formats.proto.tensor_pb2 import TensorProto
from headrace.formats.tensor_codec import make_ndarray, make_tensor_proto


def run_for_client(
    step: PreparedStep,
    feeds: Sequence[TensorProto],
    options: RunOptions,
    context: grpc.ServicerContext,
) -> tuple[list[TensorProto], bytes]:
    """Runs a step; if the call ends before, so does the run.

    Returns: (tensors, metadata): one per fetch; a serialized RunMetadata.
    Raises: errors.OpError.
    """
    values = [make_ndarray(feed) for feed in feeds]
    if options.trace_level > RunOptions.NO_TRACE:
        results, metadata = step.run(values, options.SerializeToString())
    elif (search := step.search) is not None:
        traced = RunOptions(timeout_in_ms=options.timeout_in_ms, trace_level=RunOptions.FULL_TRACE)
        results = search.run(
            lambda: _cancellable(step, values, options, context),
            lambda: step.run(values, traced.SerializeToString())[0],
        )
        metadata = step.metadata(b"", False, options.output_partition_graphs)
    else:
        results = _cancellable(step, values, options, context)
        metadata = step.metadata(b"", False, options.output_partition_graphs)
    dtypes = step.signature.fetch_dtypes()
    return [make_tensor_proto(value, dtype) for value, dtype in zip(results, dtypes)], metadata


def _cancellable(
    step: PreparedStep,
    values: Sequence[np.ndarray],
    options: RunOptions,
    context: grpc.ServicerContext,
) -> list[Any]:
    timeout_ms = options.timeout_in_ms or step.session.timeout_ms
    running = step.start(values)
    if not context.add_callback(lambda: running.cancel("the client has ended its call")):
        running.cancel("the client has ended its call")
    return step.finish(running, values, timeout_ms)
