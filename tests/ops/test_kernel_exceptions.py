"""A kernel that runs out of memory fails its node, not the process."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError
from headrace.graph.builder.op_builder import op

GIB = 2**30


def _run_with_memory_of(gib: int, program: str) -> str:
    """What a program prints whose address space is bounded; a signal fails the test."""
    prelude = f"""
        import resource
        import numpy as np
        import headrace.graph as hr
        from headrace.formats.errors import OpError
        from headrace.graph.builder.op_builder import op
        resource.setrlimit(resource.RLIMIT_AS, ({gib * GIB}, {gib * GIB}))
        session = hr.Session()
        def run(fetch, feeds=None):
            try:
                print(session.run(fetch, feeds))
            except OpError as error:
                print(type(error).__name__, error.node_name)
    """
    script = textwrap.dedent(prelude) + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout


HUNGRY = {
    "segment_sum with a large id": """
        ids = hr.placeholder(hr.int64)
        rows = hr.constant(np.ones((2, 1), np.float16))
        run(hr.segment_sum(rows, ids, name="it"), {ids: [0, 7_000_000_000]})
    """,
    "resize of an empty batch": """
        size = hr.placeholder(hr.int32)
        run(op("ResizeBilinear", np.ones((0, 2, 2, 1), np.float32), size, name="it"),
            {size: [2_000_000_000, 1]})
    """,
    "resize whose size is constant": """
        run(op("ResizeBicubic", np.ones((0, 2, 2, 1), np.float32), [2_000_000_000, 1], name="it"))
    """,
    "rows of a sparse tensor": """
        shape = hr.placeholder(hr.int64)
        run(op("SparseFillEmptyRows", np.zeros((1, 2), np.int64), [1.0], shape, 0.0, name="it"),
            {shape: [2**40, 1]})
    """,
    "more rows than a vector may have": """
        shape = hr.placeholder(hr.int64)
        run(op("SparseFillEmptyRows", np.zeros((1, 2), np.int64), [1.0], shape, 0.0, name="it"),
            {shape: [2**62, 1]})
    """,
    "weights of a sampler, made with the kernel's state": """
        run(op("LearnedUnigramCandidateSampler", np.zeros((1, 1), np.int64), num_true=1,
               num_sampled=2, unique=False, range_max=2**60, name="it"))
    """,
    "reserved ids of a sampler": """
        run(op("FixedUnigramCandidateSampler", np.zeros((1, 1), np.int64), num_true=1,
               num_sampled=1, unique=False, range_max=2**40, unigrams=[1.0, 1.0],
               num_reserved_ids=2**40, name="it"))
    """,
}


@pytest.mark.parametrize("program", HUNGRY.values(), ids=HUNGRY.keys())
def test_a_kernel_without_memory_fails_its_node_with_resource_exhausted(program: str) -> None:
    after = "\nprint(session.run(hr.constant(1) + 1))"
    assert _run_with_memory_of(6, textwrap.dedent(program) + after).split("\n") == [
        "ResourceExhaustedError it",
        "2",
        "",
    ]


# ---- variables that hold another dtype than the node says ----


def _holding(dtype: hr.DType) -> tuple[hr.Session, hr.Tensor]:
    variable = hr.get_variable("v", [4], dtype, hr.ones_initializer(), use_resource=True)
    session = hr.Session()
    session.run(hr.global_variables_initializer())
    return session, variable.handle


WRONG = {
    "ResourceGather": lambda v: op("ResourceGather", v, [3], dtype=hr.float64),
    "ResourceGatherNd": lambda v: op("ResourceGatherNd", v, [[3]], dtype=hr.complex128),
    "ResourceScatterAdd": lambda v: op("ResourceScatterAdd", v, [3], np.ones(1)),
    "ResourceScatterUpdate": lambda v: op("ResourceScatterUpdate", v, [3], np.ones(1)),
    "ResourceScatterNdUpdate": lambda v: op("ResourceScatterNdUpdate", v, [[3]], np.ones(1)),
    "ResourceScatterNdAdd": lambda v: op("ResourceScatterNdAdd", v, [[3]], np.ones(1)),
    "ResourceCountUpTo": lambda v: op("ResourceCountUpTo", v, limit=3, T=hr.int64),
    "ResourceApplyGradientDescent": lambda v: op(
        "ResourceApplyGradientDescent", v, np.float64(1), np.ones(4)
    ),
    "ResourceSparseApplyProximalGradientDescent": lambda v: op(
        "ResourceSparseApplyProximalGradientDescent", v, *np.ones((3, 1))[:, 0], np.ones(1), [3]
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_node_that_takes_a_variable_for_another_dtype_is_rejected(name: str) -> None:
    with hr.Graph().as_default():
        session, handle = _holding(hr.float32)
        with (
            session,
            pytest.raises(InvalidArgumentError, match=r"variable with wrong dtype\. Expected"),
        ):
            session.run(WRONG[name](handle))


def test_a_variable_stays_usable_after_a_rejected_write() -> None:
    with hr.Graph().as_default():
        session, handle = _holding(hr.float32)
        with session:
            with pytest.raises(InvalidArgumentError):
                session.run(WRONG["ResourceScatterAdd"](handle))
            session.run(op("ResourceScatterAdd", handle, [3], np.ones(1, np.float32)))
            read = op("ReadVariableOp", handle, dtype=hr.float32)
            np.testing.assert_array_equal(session.run(read), [1, 1, 1, 2])
