"""The shape rules in Python and C have equal results and error messages."""

from __future__ import annotations

import ctypes
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shape_rule_cases import RULES, Case, cases

from headrace.formats import include_dir, op_catalogue
from headrace.graph.framework.op_registry import shape_function

# Shapes that depend on a resource, a value or the kernel: no comparison with C.
ONLY_IN_PYTHON = {
    "attr_output_shapes", "audio_spectrogram", "boosted_trees_bucketize", "colours",
    "combined_non_max_suppression", "decode_gif", "decode_image", "decode_raw", "decode_wav",
    "dense_and_sparse_set", "dense_sets", "edit_distance", "matrix_3", "merge_flow", "mfcc",
    "parse_example", "placeholder_with_default", "ragged_gather", "ragged_range",
    "ragged_to_sparse", "ragged_to_tensor", "read_variable", "read_variables", "ref_select",
    "resource_gather", "resource_gather_nd", "reverse_sequence", "reverse_v2", "sparse_binary",
    "sparse_matrix", "sparse_part", "sparse_reduce", "sparse_slice_grad", "sparse_split",
    "string_split", "tensor_array_concat", "tensor_array_gather", "tensor_array_read",
    "tensor_list_element_shape", "tensor_list_gather", "tensor_list_item", "tensor_list_pop",
    "tensor_list_stack", "variable_shape",
}  # fmt: skip
NEVER_BEFORE_THE_RUN = {"sparse_triplet", "unknown", "vectors", "where"}
DTYPES = {"int32": 3, "int64": 9, "float32": 1, "float64": 2}
QUICK = settings(
    max_examples=60, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip


class Query:
    """A ShapeQuery without a graph."""

    def __init__(self, case: Case) -> None:
        self.inputs = tuple(case.inputs)
        self.attrs = case.attrs
        self.n_outputs = case.n_outputs
        self._values = case.values

    def value(self, i: int) -> np.ndarray | None:
        return self._values.get(i)

    def value_as_shape(self, i: int) -> tuple[int | None, ...] | None:
        value = self._values.get(i)
        return (
            None if value is None else tuple(d if d >= 0 else None for d in value.ravel().tolist())
        )

    def handle(self, i: int) -> None:
        return None


def ask_python(name: str, case: Case) -> Any:
    function = shape_function(name)
    assert function is not None, name
    try:
        return [None if s is None else tuple(s) for s in function(Query(case))]
    except ValueError as error:
        return str(error)


class ProbeAttr(ctypes.Structure):
    _fields_ = [
        ("key", ctypes.c_char_p),
        ("kind", ctypes.c_int32),
        ("n", ctypes.c_int64),
        ("ints", ctypes.POINTER(ctypes.c_int64)),
        ("floats", ctypes.POINTER(ctypes.c_float)),
        ("text", ctypes.c_char_p),
    ]


@pytest.fixture(scope="session")
def probe(tmp_path_factory):
    """Compiles the C rules for the test."""
    library = tmp_path_factory.mktemp("probe") / "probe.so"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    source = Path(__file__).with_name("shape_rules_probe.c")
    subprocess.run(
        [compiler, "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared",
         f"-I{include_dir()}", str(source), "-o", str(library), "-lm"],
        check=True,
    )  # fmt: skip
    return ctypes.CDLL(str(library)).probe


def to_attr(key: str, value: Any) -> ProbeAttr:
    attr = ProbeAttr(key=key.encode())
    ints: list[int] = []
    if isinstance(value, str):
        attr.kind, attr.text = ord("s"), value.encode()
    elif isinstance(value, np.ndarray):
        attr.kind, attr.n, ints = ord("t"), value.ndim, list(value.shape)
    elif key == "shape":
        attr.kind, attr.n = ord("h"), -1 if value is None else len(value)
        ints = [-1 if d is None else d for d in value or ()]
    elif isinstance(value, tuple) and any(isinstance(v, float) for v in value):
        attr.kind, attr.n = ord("f"), len(value)
        attr.floats = (ctypes.c_float * len(value))(*value)
    elif isinstance(value, tuple | list):
        attr.kind, attr.n, ints = ord("l"), len(value), list(value)
    else:
        attr.kind, ints = ord("i"), [int(value)]
    attr.ints = (ctypes.c_int64 * (len(ints) + 1))(*ints)
    return attr


def ask_c(probe: Any, name: str, case: Case) -> Any:
    """Returns the shapes, an error message, or None if they depend on data."""
    n = len(case.inputs)
    ranks = (ctypes.c_int32 * (n + 1))(*[len(s) for s in case.inputs])
    dims = (ctypes.c_int64 * (8 * n + 1))()
    dtypes = (ctypes.c_int32 * (n + 1))()
    data = (ctypes.c_void_p * (n + 1))()
    keep = []
    for i, shape in enumerate(case.inputs):
        dims[8 * i : 8 * i + len(shape)] = list(shape)
        value = case.values.get(i)
        if value is not None:
            value = np.ascontiguousarray(value)
            keep.append(value)
            dtypes[i] = DTYPES[value.dtype.name]
            data[i] = value.ctypes.data
        else:
            # The dtype of the other values, because Range uses that of its first input.
            known = [DTYPES[v.dtype.name] for v in case.values.values()]
            dtypes[i] = known[0] if known else 3
    attrs = (ProbeAttr * (len(case.attrs) + 1))(*[to_attr(k, v) for k, v in case.attrs.items()])
    out_ranks = (ctypes.c_int32 * 32)()
    out_dims = (ctypes.c_int64 * 256)()
    depends = ctypes.c_int32()
    message = ctypes.create_string_buffer(4096)
    code = probe(
        name.encode(), n, ranks, dims, dtypes, data, len(case.attrs), attrs, case.n_outputs,
        out_ranks, out_dims, ctypes.byref(depends), message,
    )  # fmt: skip
    assert code != -1, f"no C rule {name}"
    if code:
        return message.value.decode()
    if depends.value:
        return None
    return [tuple(out_dims[8 * i : 8 * i + out_ranks[i]]) for i in range(case.n_outputs)]


def complete(shapes: Any) -> bool:
    return all(s is not None and None not in s for s in shapes)


def test_cases_cover_every_rule_of_the_catalogue():
    needed = {op_catalogue.signature(n).shape_rule for n in op_catalogue._index()}
    assert needed - set(RULES) == ONLY_IN_PYTHON - {"combined_non_max_suppression"}
    for name in needed:
        assert shape_function(name) is not None, name


def test_every_rule_of_the_catalogue_is_implemented_in_c(probe):
    for name in {op_catalogue.signature(n).shape_rule for n in op_catalogue._index()}:
        if name in ONLY_IN_PYTHON - {"combined_non_max_suppression", "placeholder_with_default"}:
            assert ask_c(probe, name, Case([(2,)] * 5)) is None, name
    with pytest.raises(AssertionError, match="no C rule"):
        ask_c(probe, "nothing", Case([]))


@pytest.mark.parametrize("name", sorted(RULES))
def test_python_and_c_rules_agree(probe, name):
    seen = {"errors": 0, "shapes": 0, "depends": 0}

    @QUICK
    @given(cases(name))
    def agree(case):
        ours, theirs = ask_python(name, case), ask_c(probe, name, case)
        if theirs is None:
            # Without a value, the C rule may defer to the kernel, which has the value.
            assert case.missing or not (isinstance(ours, str) or complete(ours))
            seen["depends"] += 1
        elif isinstance(ours, str) or isinstance(theirs, str):
            assert ours == theirs
            seen["errors"] += 1
        elif complete(ours):
            assert ours == theirs
            seen["shapes"] += 1
        else:
            assert all(map(fits, ours, theirs))

    agree()
    assert seen["errors"] + seen["shapes"] or name in NEVER_BEFORE_THE_RUN


def fits(partly: Any, whole: Any) -> bool:
    """Returns whether a complete shape is compatible with a partial one."""
    if partly is None or whole is None:
        return True
    return len(partly) == len(whole) and all(
        p is None or w is None or p == w for p, w in zip(partly, whole, strict=True)
    )


@pytest.mark.parametrize("name", sorted(RULES))
def test_results_for_partial_shapes_hold_for_complete_shapes(name):
    @QUICK
    @given(cases(name), st.data())
    def sound(case, data):
        whole = ask_python(name, case)
        if isinstance(whole, str):
            return
        partly = Case([], case.attrs, {}, case.n_outputs)
        for i, shape in enumerate(case.inputs):
            how = data.draw(st.integers(0, 3))
            if how == 0:
                partly.inputs.append(None)
            else:
                hidden = [None if how == 1 and data.draw(st.booleans()) else d for d in shape]
                partly.inputs.append(tuple(hidden))
            if i in case.values and None not in (partly.inputs[i] or (None,)) and how > 1:
                partly.values[i] = case.values[i]
            elif i in case.values and how > 1:
                partly.values[i] = case.values[i]
        result = ask_python(name, partly)
        assert not isinstance(result, str), f"rejects {partly}: {result}, yet {case} gives {whole}"
        assert len(result) == len(whole)
        assert all(map(fits, result, whole)), f"{partly} gives {result}, {case} gives {whole}"

    sound()


def test_sizes_beyond_memory_raise(probe):
    huge = Case([(2**40,), (1,)], {}, {1: np.array([2**40])})
    assert ask_c(probe, "tile", huge) == "output would have shape [-1], too many elements"
    fill = Case([(2,)], {}, {0: np.array([2**40, 2**40])})
    text = f"output would have shape [{2**40}, {2**40}], too many elements"
    assert ask_c(probe, "shape_from_input_0", fill) == text
    outer = Case([(1,), ()], {"axis": 0})
    assert ask_c(probe, "diag", Case([(1,) * 5])) == "output would have 10 dimensions, above 8"
    assert outer.inputs


def test_a_slice_of_negative_stride_reaches_the_first_element(probe):
    attrs = dict.fromkeys(
        ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0
    )
    values = {i: np.array([v]) for i, v in ((1, 0), (2, 0), (3, -1))}
    reverse = Case([(5,), (1,), (1,), (1,)], {**attrs, "begin_mask": 1, "end_mask": 1}, values)
    assert ask_c(probe, "strided_slice", reverse) == ask_python("strided_slice", reverse) == [(5,)]


def test_errors_name_both_shapes():
    case = Case([(32, 784), (785, 10)], {"transpose_a": False, "transpose_b": False})
    assert ask_python("matmul", case) == "inner sizes differ: a is [32, 784], b is [785, 10]"
    assert ask_python("broadcast", Case([(2, None), (3, 4)])) == (
        "shapes do not broadcast: [2, ?] and [3, 4]"
    )
    assert ask_python("concat_v2", Case([(2, 3), (2, 4), ()], {}, {2: np.array(0)})) == (
        "shapes differ outside of axis 0: value 0 is [2, 3], value 1 is [2, 4]"
    )
