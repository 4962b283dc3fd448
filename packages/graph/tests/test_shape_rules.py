"""Each module of shape_rules infers shapes of its family."""

from __future__ import annotations

from typing import Any

import pytest

import headrace.graph as hr
from headrace.formats import op_catalogue
from headrace.graph.framework.op_registry import shape_function


def f32(*shape: int | None) -> Any:
    return lambda: hr.placeholder(hr.float32, shape)


def i32(*shape: int | None) -> Any:
    return lambda: hr.placeholder(hr.int32, shape)


def i64(*shape: int | None) -> Any:
    return lambda: hr.placeholder(hr.int64, shape)


# Module of shape_rules: op, inputs in order, attributes, shape of the first output.
RULES: dict[str, tuple[str, list[Any], dict[str, Any], Any]] = {
    "shape_rules.arrays": ("ExpandDims", [f32(2, 3), 1], {}, [2, 1, 3]),
    "shape_rules.elementwise": ("AddV2", [f32(2, 1), f32(3)], {}, [2, 3]),
    "shape_rules.gather": ("GatherV2", [f32(5, 4), i32(2), 0], {}, [2, 4]),
    "shape_rules.given": ("Size", [f32(2, 3)], {}, []),
    "shape_rules.image": ("ResizeBilinear", [f32(1, 4, 4, 3), [8, 9]], {}, [1, 8, 9, 3]),
    "shape_rules.joining": ("ConcatV2", [[f32(2, 3), f32(4, 3)], 0], {}, [6, 3]),
    "shape_rules.linalg": ("MatrixDeterminant", [f32(7, 3, 3)], {}, [7]),
    "shape_rules.matmul": ("MatMul", [f32(2, 3), f32(3, 5)], {}, [2, 5]),
    "shape_rules.normalization": (
        "FusedBatchNorm",
        [f32(2, 4, 4, 3), f32(3), f32(3), f32(0), f32(0)],
        {},
        [2, 4, 4, 3],
    ),
    "shape_rules.parsing": (
        "DecodeCSV",
        [lambda: hr.placeholder(hr.string, [5]), [[0.0]]],
        {},
        [5],
    ),
    "shape_rules.random": ("Multinomial", [f32(2, 5), 3], {}, [2, 3]),
    "shape_rules.reduction": ("Sum", [f32(2, 3, 4), [1]], {}, [2, 4]),
    "shape_rules.scatter": ("ScatterNd", [i32(2, 1), f32(2), [9]], {}, [9]),
    "shape_rules.segment": ("UnsortedSegmentSum", [f32(5, 3), i32(5), 4], {}, [4, 3]),
    "shape_rules.slicing": ("Slice", [f32(5, 5), [1, 0], [2, -1]], {}, [2, 5]),
    "shape_rules.sparse": (
        "SparseTensorDenseMatMul",
        [i64(4, 2), f32(4), [3, 5], f32(5, 2)],
        {},
        [3, 2],
    ),
    "shape_rules.state": (
        "ReadVariableOp",
        [lambda: hr.Variable([1.0, 2.0], use_resource=True).handle],
        {"dtype": hr.float32},
        [2],
    ),
    "shape_rules.windows": (
        "Conv2D",
        [f32(1, 8, 8, 3), f32(3, 3, 3, 5)],
        {"strides": [1, 2, 2, 1], "padding": "SAME"},
        [1, 4, 4, 5],
    ),
}


def result(value: Any) -> Any:
    if callable(value):
        return value()
    return [result(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("module", RULES)
def test_shape_rule_modules_infer_shapes_of_their_family(module: str) -> None:
    op_type, inputs, attrs, expected = RULES[module]
    signature = op_catalogue.signature(op_type)
    rule = shape_function(signature.shape_rule)
    assert rule is not None and rule.__module__ == f"headrace.graph.{module}"
    names = [arg.name for arg in signature.inputs]
    outputs = getattr(hr.raw_ops, op_type)(**dict(zip(names, map(result, inputs))), **attrs)
    first = outputs[0] if isinstance(outputs, (list, tuple)) else outputs
    assert first.shape.as_list() == expected


def test_shape_algebra_preserves_known_sizes() -> None:
    from headrace.graph.shape_rules import algebra

    assert algebra.broadcast((None, 3), (1,)) == (None, 3)
    assert algebra.broadcast((2, 1), (None,)) == (2, None)
    assert algebra.broadcast(None, (3,)) is None
    with pytest.raises(ValueError):
        algebra.broadcast((2,), (3,))
