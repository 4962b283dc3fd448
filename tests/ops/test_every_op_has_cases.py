"""Every op of the catalogue is in a table of cases, or here with the test that stands for it."""

from __future__ import annotations

from cases import ALL
from missing_kernels import NO_KERNEL, is_not_implemented
from op_programs import programs
from program_runs import Built

from headrace.formats import op_catalogue

# Families whose ops other tables run, one by one.
FAMILIES = {
    "checkpoint": "packages/kernels/tests/test_cpu_checkpoint.py and tests/end_to_end",
    "datasets": "tests/data/pipelines.py: each transformation, and TensorFlow's elements",
    "optimizers": "packages/kernels/tests/test_cpu_optimizers.py: each op against the reference",
    "script": "tests/executor/test_python_functions.py",
    "sendrecv": "tests/executor/test_rendezvous_keys.py and test_functions_of_tensorflow.py",
    "session": "tests/executor/test_session_handles.py",
}
_JPEG = "tests/executor/test_jpeg_files.py: TensorFlow's pixels"
_IMAGES = "tests/executor/test_image_files.py: TensorFlow's pixels"
_PARSING = "tests/executor/test_parsing.py"
_PASS = "packages/kernels/tests: a graph pass makes it"
OPS = {
    "PlaceholderV2": "a value must be fed, as Placeholder",
    "TileGrad": "tests/ops/test_python_kernel_errors.py: only graphs before version 3 have it",
    "DebugGradientRefIdentity": "tests/executor/test_references.py",
    "DisableCopyOnRead": "tests/executor/test_references.py",
    "FakeQueue": "tests/executor/test_references.py",
    "Abort": "tests/ops/test_cpu_against_reference.py",
    "DestroyTemporaryVariable": "tests/executor/test_temporary_variables.py",
    "ImmutableConst": "tests/ops/test_cpu_against_reference.py",
    "RefSelect": "tests/executor/test_temporary_variables.py",
    "TemporaryVariable": "tests/executor/test_temporary_variables.py",
    "RecordInput": "tests/executor/test_record_input.py: the order is random",
    **dict.fromkeys("Stack StackPush StackPop StackClose".split(), "tests/executor/test_stacks.py"),
    "FakeParam": "tests/executor/test_function_calls.py",
    "RemoteCall": "packages/graph/tests/test_function_gradients.py",
    "PrintV2": "tests/end_to_end/test_messages.py: it writes to a stream",
    "Timestamp": "tests/ops/test_random_functions.py: the time",
    **dict.fromkeys("DecodeJpeg DecodeAndCropJpeg ExtractJpegShape".split(), _JPEG),
    **dict.fromkeys("DecodeGif DecodeBmp".split(), _IMAGES),
    **dict.fromkeys(
        "ParseSequenceExample ParseSequenceExampleV2 SerializeTensor".split(), _PARSING
    ),
    "DeserializeSparse": "tests/data/test_sparse_variants.py: what SerializeSparse took",
    "DeserializeManySparse": "tests/ops/functions/sparse.py: what SerializeManySparse took",
    **dict.fromkeys("_FusedElementwise _FusedReduction".split(), _PASS),
    **dict.fromkeys("_MaxPoolWithWindowIndex _MaxPoolGradWithWindowIndex".split(), _PASS),
    **dict.fromkeys(
        "_ReadVariablesOp _VarHandlesOp _SwitchN".split(), "TensorFlow's passes make it"
    ),
}


def _in_tables() -> set[str]:
    found = {case.op for case in ALL}
    for program in programs():
        built = Built(program)
        found.update(node.op for node in built.graph_def.node)
    return found


def _excepted(name: str) -> bool:
    return (
        name in {**OPS, **NO_KERNEL}
        or op_catalogue.family(name) in FAMILIES
        or is_not_implemented(name)
    )


def test_every_op_is_in_a_table_of_cases_or_has_a_reason() -> None:
    tables = _in_tables()
    missing = [n for n in op_catalogue.names() if n not in tables and not _excepted(n)]
    assert not missing, (
        f"no case and no program (tests/ops/cases, tests/ops/op_programs): {missing}"
    )


def test_reasons_are_not_out_of_date() -> None:
    assert not set(OPS) & _in_tables()
    assert not set(OPS) - set(op_catalogue.names())
