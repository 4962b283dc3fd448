"""Every compiled kernel gives what the reference gives, for every op and dtype that it claims."""

from __future__ import annotations

import numpy as np
import pytest
from cases import ALL, Case
from compiled_registrations import compiled_registrations, is_claimed
from local_runs import run_in_runtime
from tolerances import assert_same

from headrace.formats import op_catalogue
from headrace.formats.dtypes import as_dtype
from headrace.kernels.reference import library, oracle

# Claimed ops that a graph pass makes, or that work on files: compared elsewhere.
_FILES = "packages/kernels/tests/test_cpu_checkpoint.py: the same bytes, errors and names"
_JPEG = "tests/executor/test_jpeg_files.py: against TensorFlow's pixels"
_IMAGES = "tests/executor/test_image_files.py: against TensorFlow's pixels"
_MAPS = "tests/executor/test_sparse_tensors_maps.py: against the tensors put in"
_FAMILIES = {
    "datasets": "tests/data: against lists of Python and against TensorFlow",
    "lookup": "tests/executor/test_lookup_tables.py: against dictionaries",
    "readers": "tests/executor/test_readers.py: against the files",
    "tensor_arrays": "tests/ops/test_tensor_arrays.py: against lists of Python",
    "tensor_lists": "tests/ops/test_tensor_lists.py: against lists of Python",
}
ELSEWHERE = {
    "Abort": "tests/ops/test_aborts_and_regions.py: its error",
    "ImmutableConst": "tests/ops/test_aborts_and_regions.py: against the file",
    "DeserializeSparse": "tests/data/test_sparse_variants.py: what SerializeSparse took",
    **dict.fromkeys("SaveV2 RestoreV2 MergeV2Checkpoints".split(), _FILES),
    **dict.fromkeys("ReadFile WriteFile MatchingFiles".split(), _FILES),
    **dict.fromkeys("ShardedFilename ShardedFilespec".split(), _FILES),
    "ParseSequenceExample": "tests/executor/test_parsing.py: against the messages",
    "ParseSequenceExampleV2": "tests/executor/test_parsing.py: against the messages",
    "SerializeTensor": "tests/executor/test_parsing.py: a round trip",
    **dict.fromkeys("DecodeJpeg DecodeAndCropJpeg ExtractJpegShape".split(), _JPEG),
    **dict.fromkeys("DecodeGif DecodeBmp".split(), _IMAGES),
    **dict.fromkeys("AddSparseToTensorsMap AddManySparseToTensorsMap".split(), _MAPS),
    "TakeManySparseFromTensorsMap": _MAPS,
    "Stack": "tests/executor/test_stacks.py",
    "StackV2": "tests/ops/test_tensor_arrays.py",
    "FakeParam": "tests/executor/test_function_calls.py",
    "_FusedElementwise": "packages/kernels/tests and the random programs of tests/programs",
    "_FusedReduction": "packages/kernels/tests: a graph pass makes it",
    "_MaxPoolWithWindowIndex": "packages/kernels/tests: a graph pass makes it",
    "_MaxPoolGradWithWindowIndex": "packages/kernels/tests: a graph pass makes it",
}


def _changes_a_variable(op: str) -> bool:
    """Whether the first input is a variable; packages/kernels/tests compares these."""
    signature = op_catalogue.signature(op)
    first = signature.inputs[0] if signature.inputs else None
    return first is not None and (first.is_ref or first.dtype == int(as_dtype("resource")))


def _claimed_types(case: Case) -> list[str]:
    if case.op not in compiled_registrations():
        return []
    return [
        dtype
        for dtype in case.types()
        if is_claimed(
            case.op, oracle.complete_attrs(case.op, case.values(dtype), case.attributes(dtype))
        )
    ]


CLAIMED = [case for case in ALL if case.op in compiled_registrations()]


@pytest.mark.parametrize("case", [c for c in CLAIMED if c.exact], ids=lambda c: c.name)
def test_compiled_kernel_gives_what_the_reference_gives(case: Case) -> None:
    for dtype in _claimed_types(case):
        expected = oracle.run(case.op, *case.values(dtype), **case.attributes(dtype))
        got = run_in_runtime(case, dtype)
        assert len(got) == len(expected)
        for number, (one, other) in enumerate(zip(got, expected, strict=True)):
            if number not in case.undefined:
                assert_same(case.op, one, other)


@pytest.mark.parametrize("case", [c for c in CLAIMED if not c.exact], ids=lambda c: c.name)
def test_compiled_random_kernel_gives_the_same_distribution(case: Case) -> None:
    for dtype in _claimed_types(case):
        expected = oracle.run(case.op, *case.values(dtype), **case.attributes(dtype))
        got = run_in_runtime(case, dtype)
        for one, other in zip(got, expected, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            if one.size >= 500 and one.dtype.kind in "fiu":
                _assert_alike(one.astype(np.float64), other.astype(np.float64))


def _assert_alike(got: np.ndarray, expected: np.ndarray) -> None:
    """Mean and spread of two samples of one distribution, within six standard errors."""
    spread = max(got.std(), expected.std())
    assert abs(got.mean() - expected.mean()) <= 6 * spread * np.sqrt(2 / got.size)
    assert abs(got.std() - expected.std()) <= 6 * spread * np.sqrt(2 / got.size)


def test_every_claimed_op_and_type_has_a_case() -> None:
    covered: dict[str, set[str]] = {}
    for case in CLAIMED:
        covered.setdefault(case.op, set()).update(_claimed_types(case))
    missing = {}
    for op, constraints in compiled_registrations().items():
        if op in ELSEWHERE or op_catalogue.family(op) in _FAMILIES or _changes_a_variable(op):
            continue
        if op not in library().ops():
            missing[op] = "no reference kernel"
            continue
        claimed = set().union(*[c.get("T", set()) for c in constraints]) & _allowed_types(op)
        lacking = claimed - covered.get(op, set()) - {"variant"}  # test_tensor_lists.py adds lists
        if op not in covered or lacking:
            missing[op] = f"no case for {sorted(lacking) or 'any type'}"
    assert not missing


def _allowed_types(op: str) -> set[str]:
    """What T may be at all; a registration of several ops may name more."""
    attrs = {attr.name: attr for attr in op_catalogue.signature(op).attrs}
    return {as_dtype(number).name for number in attrs["T"].allowed} if "T" in attrs else set()
