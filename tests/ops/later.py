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
    "ParseSequenceExample": "a batch of sequences: not yet; ParseSingleSequenceExample is there",
    "ParseSequenceExampleV2": "a batch of sequences: not yet; ParseSingleSequenceExample is there",
    "RefIdentity": "not yet: references pass through Identity",
    "DebugGradientRefIdentity": "TensorFlow's debugger makes it",
}

# Prefixes of names, and families, of which later issues give the kernels.
LATER = {
    "If": "functions are a later issue",
    "StatelessIf": "functions are a later issue",
    "While": "functions are a later issue",
    "StatelessWhile": "functions are a later issue",
    "Case": "functions are a later issue",
    "StatelessCase": "functions are a later issue",
    "For": "functions are a later issue",
    "PartitionedCall": "functions are a later issue",
    "StatefulPartitionedCall": "functions are a later issue",
    "SymbolicGradient": "functions are a later issue",
    "RemoteCall": "functions are a later issue",
    "FakeParam": "functions are a later issue",
    "Abort": "distributed faults are a later issue",
    "RefSelect": "not yet: nothing makes it",
    "Accumulator": "accumulators are a later issue",
    "ConditionalAccumulator": "accumulators are a later issue",
    "ResourceConditionalAccumulator": "accumulators are a later issue",
    "ResourceAccumulator": "accumulators are a later issue",
    "SparseAccumulator": "accumulators are a later issue",
    "SparseConditionalAccumulator": "accumulators are a later issue",
    "Barrier": "barriers are a later issue",
    "FakeQueue": "TensorFlow makes it for its own tests",
    "Stage": "staging areas are a later issue",
    "Unstage": "staging areas are a later issue",
    "StridedSliceAssign": "assignments to slices are a later issue",
    "ResourceStridedSliceAssign": "assignments to slices are a later issue",
    "AddSparseToTensorsMap": "maps of sparse tensors are a later issue",
    "AddManySparseToTensorsMap": "maps of sparse tensors are a later issue",
    "TakeManySparseFromTensorsMap": "maps of sparse tensors are a later issue",
    "Mutex": "critical sections are a later issue",
    "ConsumeMutexLock": "critical sections are a later issue",
    "TemporaryVariable": "not yet: only TensorFlow's accumulate_n made it",
    "DestroyTemporaryVariable": "not yet: only TensorFlow's accumulate_n made it",
    "DisableCopyOnRead": "a hint to TensorFlow's own memory",
}
LATER_FAMILIES = {
    "datasets": "input pipelines are a later issue",
    "lookup": "tables are a later issue",
    "readers": "input pipelines are a later issue",
    "tensor_arrays": "loops over arrays are a later issue",
    "tensor_lists": "loops over lists are a later issue",
    "stacks": "the gradient of while_loop is a later issue",
    "session": "session handles are a later issue",
}


def is_later(name: str) -> bool:
    """Whether a later issue gives the op's kernel."""
    return op_catalogue.family(name) in LATER_FAMILIES or any(
        name.startswith(prefix) for prefix in LATER
    )
