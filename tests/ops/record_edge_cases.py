"""Records TensorFlow's results for edge cases: record_edge_cases.py --peer PYTHON [GROUP ...]."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "fuzz")]
from cases.case import Case as OpCase  # noqa: E402
from child_processes import Judge  # noqa: E402
from edge_cases import EdgeCase, edge_cases_of, groups, write_results  # noqa: E402
from fuzz_case import Case, Run  # noqa: E402
from fuzz_child import portable  # noqa: E402
from one_node import one_node  # noqa: E402

from headrace.formats.proto.graph_pb2 import GraphDef  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", required=True, help="a Python that has TensorFlow")
    parser.add_argument("group", nargs="*")
    options = parser.parse_args()
    judge = Judge(options.peer)
    for group in options.group or groups():
        write_results(group, [_result(judge, case) for case in edge_cases_of(group)])
    judge.close()


def _result(judge: Judge, case: EdgeCase) -> str | list[np.ndarray]:
    node = one_node(OpCase(case.op, attrs=case.attrs), "", case.values)
    run = Run(node.feeds, node.fetches, [] if node.fetches else ["it"])
    replies = judge.run(Case(GraphDef.FromString(node.graph_def), [run]), portable)
    if replies is None:
        return "(TensorFlow ended)"
    how, recorded = replies[0]
    if how == "rejected":
        return re.sub(r"\s*\[\[.*|for '\{\{.*", "", recorded[1], flags=re.DOTALL).strip()
    return [_array(*form) for form in recorded]


def _array(dtype: str, shape: tuple[int, ...], data: Any) -> np.ndarray:
    if dtype == "object":
        result = np.empty(len(data), object)
        result[:] = data
        return result.reshape(shape)
    return np.frombuffer(data, getattr(ml_dtypes, dtype, dtype)).reshape(shape)


if __name__ == "__main__":
    main()
