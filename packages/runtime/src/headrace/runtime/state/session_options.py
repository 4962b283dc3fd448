"""The options of a session (ConfigProto), checked and bounded; none is ignored in silence."""

from __future__ import annotations

import logging
import os

from google.protobuf.message import Message

from headrace.formats import errors
from headrace.formats.proto import run_pb2
from headrace.runtime.threads.pools import bounded_intra_op, most_inter_op, most_intra_op

_MOST_DEVICES = 64
_EXECUTORS = ("", "DEFAULT", "dynamic")
_SIMULATIONS = ("one_task", "all_tasks", "none")
_log = logging.getLogger("headrace.runtime")
_warned: set[str] = set()

# Options without effect here: for devices, connections and collectives that a local session does
# not have, labels and hints.
_WITHOUT_MEANING = frozenset(
    """
    isolate_session_state share_cluster_devices_in_session
    gpu_options.allow_growth gpu_options.allocator_type gpu_options.deferred_deletion_bytes
    gpu_options.polling_active_delay_usecs gpu_options.polling_inactive_delay_msecs
    gpu_options.force_gpu_compatible gpu_options.experimental
    pluggable_device_options rpc_options graph_options.infer_shapes
    experimental.collective_deterministic_sequential_execution experimental.collective_nccl
    experimental.recv_buf_max_chunk experimental.share_cluster_devices_in_session
    experimental.share_session_state_in_clusterspec_propagation
    experimental.optimize_for_static_graph experimental.disable_optimize_for_static_graph
    experimental.disable_eager_executor_streaming_enqueue
    experimental.session_metadata experimental.stream_merge_threshold
    """.split()
)
# Flags for behaviour that is always on.
_DONE_ANYWAY = frozenset(
    """
    graph_options.place_pruned_graph
    graph_options.build_cost_model
    graph_options.build_cost_model_after
    graph_options.optimizer_options.do_constant_folding
    graph_options.optimizer_options.do_common_subexpression_elimination
    graph_options.optimizer_options.do_function_inlining
    """.split()
)
_SUPPORTED = frozenset(
    """
    device_count intra_op_parallelism_threads inter_op_parallelism_threads use_per_session_threads
    allow_soft_placement session_inter_op_thread_pool operation_timeout_in_ms
    log_device_placement placement_period
    gpu_options.visible_device_list gpu_options.per_process_gpu_memory_fraction
    graph_options.enable_bfloat16_sendrecv graph_options.enable_recv_scheduling
    experimental.executor_type experimental.refuse_reference_kernels
    experimental.plan_memory_limit_bytes
    experimental.placement_simulation experimental.transfer_latency_us
    experimental.transfer_gigabytes_per_second
    """.split()
)


class SessionOptions:
    """The options of a session, as the runtime uses them.

    Raises: InvalidArgumentError for invalid values.
    """

    def __init__(self, config: bytes) -> None:
        option = run_pb2.ConfigProto.FromString(config)
        self.device_counts = _devices(dict(option.device_count))
        self._read_accelerators(option.gpu_options)
        self.intra_op_threads = _intra_op_threads(option.intra_op_parallelism_threads)
        self.inter_op_threads = _inter_op_threads(
            "inter_op_parallelism_threads",
            option.inter_op_parallelism_threads,
            option.use_per_session_threads,
        )
        self.inter_op_pools = [
            (_pool_size(pool.num_threads), pool.global_name)
            for pool in option.session_inter_op_thread_pool
        ]
        if option.operation_timeout_in_ms < 0:
            raise _invalid("operation_timeout_in_ms", option.operation_timeout_in_ms, "0 or more")
        self.timeout_s = option.operation_timeout_in_ms / 1000.0
        self.allow_soft_placement = option.allow_soft_placement
        self.log_placement = option.log_device_placement
        self.memory_limit = option.experimental.plan_memory_limit_bytes
        if self.memory_limit < 0:
            raise _invalid(
                "experimental.plan_memory_limit_bytes", self.memory_limit, "0 (no limit) or more"
            )
        executor = option.experimental.executor_type
        if executor not in _EXECUTORS:
            raise _invalid("experimental.executor_type", repr(executor), "'' or 'dynamic'")
        self.dynamic = executor == "dynamic"
        self._read_placement(option)
        self.bfloat16_edges = option.graph_options.enable_bfloat16_sendrecv
        self.schedule_receives = option.graph_options.enable_recv_scheduling
        self.allow_reference = not option.experimental.refuse_reference_kernels
        warn_of_unsupported(option, _SUPPORTED | _WITHOUT_MEANING | _DONE_ANYWAY, "ConfigProto")

    def _read_accelerators(self, option: run_pb2.GPUOptions) -> None:
        self.finds_accelerators = True
        self.visible_devices = option.visible_device_list or None
        self.memory_fraction = option.per_process_gpu_memory_fraction
        if not 0 <= self.memory_fraction <= 1:
            raise _invalid(
                "gpu_options.per_process_gpu_memory_fraction", self.memory_fraction, "0 to 1"
            )

    def _read_placement(self, option: run_pb2.ConfigProto) -> None:
        experimental = option.experimental
        self.simulate = experimental.placement_simulation or _SIMULATIONS[0]
        if self.simulate not in _SIMULATIONS:
            raise _invalid(
                "experimental.placement_simulation",
                repr(self.simulate),
                f"one of '', {', '.join(map(repr, _SIMULATIONS))}",
            )
        self.transfer_latency_us = experimental.transfer_latency_us
        self.transfer_gigabytes_per_s = experimental.transfer_gigabytes_per_second
        for field in ("transfer_latency_us", "transfer_gigabytes_per_second"):
            value = getattr(experimental, field)
            if not 0 <= value < 1e9:
                raise _invalid(f"experimental.{field}", value, "0 or more, below 1e9")
        if option.placement_period < 0:
            raise _invalid("placement_period", option.placement_period, "0 or more")
        self.placement_period = option.placement_period


def warn_of_unsupported(message: Message, known: frozenset[str], what: str) -> None:
    """Logs a warning, once per process, for each field that is set and not among the known ones."""
    for field in _fields_set(message, known, ""):
        name = f"{what}.{field}"
        if name not in _warned:
            _warned.add(name)
            _log.warning("%s is not supported and has no effect", name)


def _fields_set(message: Message, known: frozenset[str], prefix: str) -> list[str]:
    found = []
    for field, value in message.ListFields():
        name = prefix + field.name
        if name in known:
            continue
        inner = [k for k in known if k.startswith(name + ".")]
        if inner:
            found += _fields_set(value, known, name + ".")
        else:
            found.append(name)
    return found


def _invalid(field: str, got: object, expected: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, f"{field} is {got}, must be {expected}")


def _devices(option: dict[str, int]) -> dict[str, int]:
    for kind, count in option.items():
        if count < 0:
            raise _invalid(f"device_count['{kind}']", count, "0 or more")
    counts = {**option, "CPU": option.get("CPU", 0) or 1}
    total = sum(counts.values())
    if total > _MOST_DEVICES:
        raise errors.InvalidArgumentError(
            None, None, f"a session has at most {_MOST_DEVICES} devices, not {total}"
        )
    return counts


def _bounded(field: str, option: int, most: int, why: str) -> int:
    if option <= most:
        return option
    _log.warning("%s is %d; %s: %d are used", field, option, why, most)
    return most


def _intra_op_threads(option: int) -> int:
    field = "intra_op_parallelism_threads"
    if option < 0:
        raise _invalid(field, option, "0 (as many as there are cores) or more")
    requested = _bounded(
        field, option or os.cpu_count() or 1, most_intra_op(), "more do not help here"
    )
    return _bounded(
        field, requested, bounded_intra_op(requested), "the system gives no more threads"
    )


def _pool_size(option: int) -> int:
    """The threads of a pool of the session; -1: none, all work runs on the calling thread."""
    if option < 0:
        return -1
    return _inter_op_threads("num_threads", option, True)


def _inter_op_threads(field: str, option: int, own: bool) -> int:
    """0: the process's pool; -1: none; otherwise the size of a pool of the session."""
    if option < 0:
        return -1
    option = _bounded(field, option, most_inter_op(), "more do not help here")
    return option or (os.cpu_count() or 1) * own
