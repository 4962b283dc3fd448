"""Runs ops with extreme attributes under a memory limit; prints every outcome that is not an
OpError.

python absurd_attributes.py PART    # of the eight parts of the catalogue
"""

from __future__ import annotations

import random
import resource
import sys
from pathlib import Path

from headrace.formats import op_catalogue

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))

from fuzz_child import run_case
from op_graphs import OpGraph, op_names, set_attr

MEMORY = 6 << 30
ABSURD = {
    "int": [2**31, -(2**31), 2**63 - 1, -(2**63), 0, -1],
    "float": [float("nan"), float("inf"), -1e38],
    "string": [b"\xff\x00", b"x" * 5000, b"("],
    "type": [0, 11, 20, 21, 23, 101, 1000],
    "shape": [None, (2**40, 2**40), (0, 2**62), (1,) * 9],
}


def main(part: int) -> None:
    """Prints (op, attribute, value, outcome) for each wrong outcome."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for op in op_names()[part::8]:
        if op.startswith("Print"):  # they write to standard error
            continue
        for attr in op_catalogue.signature(op).attrs:
            kind = attr.kind
            element = kind[5:-1] if kind.startswith("list(") else kind
            for value in ABSURD.get(element, [])[part % 3 :: 3]:
                graph = OpGraph(random.Random(f"{op} {attr.name} {value}"))
                node = graph.add(op)
                node.attr.pop(attr.name, None)
                try:
                    set_attr(node.attr[attr.name], kind, [value] * 2 if kind != element else value)
                except (ValueError, OverflowError):
                    continue  # a message cannot hold it
                how, what = run_case(graph.case())[0]
                if how == "raw" or (how == "rejected" and what[0] in (2, 13)):
                    print((op, attr.name, str(value)[:20], str(what)[-200:]))


if __name__ == "__main__":
    main(int(sys.argv[1]))
