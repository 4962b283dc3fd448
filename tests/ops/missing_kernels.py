"""Ops of the catalogue without kernels, and why."""

from __future__ import annotations

from headrace.formats import op_catalogue

# op or family -> why there is no kernel for it.
NO_KERNEL = {
    "Placeholder": "a value must be fed",
    "PlaceholderV2": "a value must be fed",
    "ImmutableConst": "it maps a file of TensorFlow's own packaging into memory",
    "Save": "writes checkpoints of before 2016; SaveV2 writes those that are read here",
    "SaveSlices": "writes checkpoints of before 2016; SaveV2 writes those that are read here",
    "Restore": "reads checkpoints of before 2016; RestoreV2 reads the others",
    "RestoreSlice": "reads checkpoints of before 2016; RestoreV2 reads the others",
    "UnicodeScript": "needs ICU's table of scripts, which neither Python nor NumPy has",
    "ParseSequenceExample": "not supported yet; ParseSingleSequenceExample is",
    "ParseSequenceExampleV2": "not supported yet; ParseSingleSequenceExample is",
    "RefIdentity": "not supported: references pass through Identity",
    "DebugGradientRefIdentity": "TensorFlow's debugger makes it",
}

# Prefixes of names, and families, of ops that are not supported yet.
NOT_IMPLEMENTED = {
    "If": "functions are not supported yet",
    "StatelessIf": "functions are not supported yet",
    "While": "functions are not supported yet",
    "StatelessWhile": "functions are not supported yet",
    "Case": "functions are not supported yet",
    "StatelessCase": "functions are not supported yet",
    "For": "functions are not supported yet",
    "PartitionedCall": "functions are not supported yet",
    "StatefulPartitionedCall": "functions are not supported yet",
    "SymbolicGradient": "functions are not supported yet",
    "RemoteCall": "functions are not supported yet",
    "FakeParam": "functions are not supported yet",
    "Abort": "distributed faults are not supported yet",
    "RefSelect": "not supported: nothing makes it",
    "Accumulator": "accumulators are not supported yet",
    "ConditionalAccumulator": "accumulators are not supported yet",
    "ResourceConditionalAccumulator": "accumulators are not supported yet",
    "ResourceAccumulator": "accumulators are not supported yet",
    "SparseAccumulator": "accumulators are not supported yet",
    "SparseConditionalAccumulator": "accumulators are not supported yet",
    "Barrier": "barriers are not supported yet",
    "FakeQueue": "TensorFlow makes it for its own tests",
    "Stage": "staging areas are not supported yet",
    "Unstage": "staging areas are not supported yet",
    "StridedSliceAssign": "assignments to slices are not supported yet",
    "ResourceStridedSliceAssign": "assignments to slices are not supported yet",
    "AddSparseToTensorsMap": "maps of sparse tensors are not supported yet",
    "AddManySparseToTensorsMap": "maps of sparse tensors are not supported yet",
    "TakeManySparseFromTensorsMap": "maps of sparse tensors are not supported yet",
    "Mutex": "critical sections are not supported yet",
    "ConsumeMutexLock": "critical sections are not supported yet",
    "TemporaryVariable": "not supported: only TensorFlow's accumulate_n made it",
    "DestroyTemporaryVariable": "not supported: only TensorFlow's accumulate_n made it",
    "DisableCopyOnRead": "a hint to TensorFlow's own memory",
}
FAMILIES_NOT_IMPLEMENTED = {
    "datasets": "input pipelines are not supported yet",
    "lookup": "tables are not supported yet",
    "readers": "input pipelines are not supported yet",
    "tensor_arrays": "loops over arrays are not supported yet",
    "tensor_lists": "loops over lists are not supported yet",
    "stacks": "the gradient of while_loop is not supported yet",
    "session": "session handles are not supported yet",
}


def is_not_implemented(name: str) -> bool:
    """Whether the op is not supported yet."""
    return op_catalogue.family(name) in FAMILIES_NOT_IMPLEMENTED or any(
        name.startswith(prefix) for prefix in NOT_IMPLEMENTED
    )
