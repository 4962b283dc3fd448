"""Edge cases of single ops, with the results of TensorFlow 2.21 in edge_cases/recorded.

Each module is a group. `python tests/ops/record_edge_cases.py --peer PYTHON GROUP` runs TensorFlow
again and writes its results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype

RECORDED = Path(__file__).parent / "recorded"


@dataclass(frozen=True)
class EdgeCase:
    """One node.

    Attributes:
      inputs: arrays; a list of them for a list input.
      difference: why Headrace rejects a node that TensorFlow accepts.
    """

    op: str
    inputs: tuple[Any, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    difference: str = ""

    @property
    def name(self) -> str:
        """Op, shapes and attributes."""
        shapes = [
            [list(x.shape) for x in v] if isinstance(v, list) else list(v.shape)
            for v in self.values
        ]
        text = ",".join(f"{k}={v}" for k, v in self.attrs.items())
        return f"{self.op}{shapes}{text}".replace(" ", "")

    @property
    def values(self) -> list[Any]:
        """The inputs as arrays."""
        return [[_array(x) for x in i] if isinstance(i, list) else _array(i) for i in self.inputs]


def _array(value: Any) -> np.ndarray:
    if isinstance(value, (bytes, list)) or getattr(value, "dtype", np.dtype("f4")).kind in "SU":
        return np.array(value, object)
    return np.asarray(value)


def groups() -> list[str]:
    """The names of all groups."""
    return sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem != "__init__")


def edge_cases_of(group: str) -> list[EdgeCase]:
    """The edge cases of a group."""
    return list(import_module(f"edge_cases.{group}").EDGE_CASES)


def recorded_results(group: str) -> list[Any]:
    """TensorFlow's result for each case of a group: an error message, or arrays."""
    read = json.loads((RECORDED / f"{group}.json").read_text())
    return [result if isinstance(result, str) else [_decoded(o) for o in result] for result in read]


def write_results(group: str, results: list[Any]) -> None:
    """Writes the file that `recorded_results` reads, one case per line."""
    lines = [
        json.dumps(result if isinstance(result, str) else [_encoded(o) for o in result])
        for result in results
    ]
    RECORDED.mkdir(exist_ok=True)
    (RECORDED / f"{group}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


def _encoded(value: np.ndarray) -> dict[str, Any]:
    if value.dtype.kind == "O":
        held: list[Any] = [item.decode("latin-1") for item in value.ravel().tolist()]
    elif value.dtype.kind == "c":
        held = [[repr(x.real), repr(x.imag)] for x in value.ravel().astype(complex).tolist()]
    elif value.dtype.kind in "biu":
        held = value.ravel().tolist()
    else:
        held = [repr(x) for x in value.ravel().astype(np.float64).tolist()]
    return {"dtype": as_dtype(value.dtype).name, "shape": list(value.shape), "values": held}


def _decoded(read: dict[str, Any]) -> np.ndarray:
    kind = np.dtype(as_dtype(read["dtype"]).as_numpy_dtype)
    held = read["values"]
    if kind.kind == "O":
        flat = np.empty(len(held), object)
        flat[:] = [item.encode("latin-1") for item in held]
    elif kind.kind == "c":
        flat = np.array([complex(float(a), float(b)) for a, b in held], kind)
    elif kind.kind in "biu":
        flat = np.array(held, kind)
    else:
        flat = np.array([float(x) for x in held], np.float64).astype(kind)
    return flat.reshape(read["shape"])


# ---- inputs ----


def ramp(*shape: int) -> np.ndarray:
    """float32: 1/8, 2/8, 3/8, ..."""
    return (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1) / 8


def noise(*shape: int) -> np.ndarray:
    """float32, of a normal distribution, the same at each call."""
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def c64(*shape: int) -> np.ndarray:
    return (noise(*shape) + 1j * noise(*shape)).astype(np.complex64)


def c128(*shape: int) -> np.ndarray:
    return c64(*shape).astype(np.complex128)


def i64(values: Any) -> np.ndarray:
    return np.array(values, np.int64)


def i32(values: Any) -> np.ndarray:
    return np.array(values, np.int32)


def words(values: Any) -> np.ndarray:
    return np.array(values, object)
