"""Counts the nodes that calls of a TensorFlow 1.15 API add, and prints them with the seeds.

Runs on Headrace and on TensorFlow 1.15 (Python 3.7):

    python count_calls.py MODULE SUBJECT [CALL ...]

SUBJECT.txt beside this file has the calls, one a line, and names.py further names for them. In the
calls `m` is the module; `f(2, 3)` is a float placeholder of this shape, and so are `d`, `z`, `i`,
`l`, `b`, `s` and `u` for double, complex64, int32, int64, bool, string and uint8; `c` is the
module's constant, `k` its zeros. Every call runs with all dimensions of the placeholders known,
with the first one unknown, with all unknown, and with an unknown rank.

Prints a JSON object: from "KIND CALL" to [nodes, seeds of the random operations], or to ["error",
its text].
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from pathlib import Path

import names

KINDS = ("static", "batch", "dims", "rank")


def placeholders(m, kind):
    """Functions that make placeholders of a dtype, whose shape is as known as kind says."""

    def of(dtype):
        def make(*shape):
            known = list(shape)
            if kind == "batch" and known:
                known[0] = None
            elif kind == "dims":
                known = [None for _ in known]
            elif kind == "rank":
                known = None
            return m.placeholder(dtype, known)

        return make

    return {
        "f": of(m.float32),
        "d": of(m.float64),
        "z": of(m.complex64),
        "i": of(m.int32),
        "l": of(m.int64),
        "b": of(m.bool),
        "s": of(m.string),
        "u": of(m.uint8),
    }


def random_seeds(graph):
    """The second seed of each random operation in order, with those of functions at the end."""
    made = [op.node_def.attr for op in graph.get_operations()]
    found = [int(attributes["seed2"].i) for attributes in made if "seed2" in attributes]
    library = graph.as_graph_def().library.function
    nodes = [node for function in library for node in function.node_def if "seed2" in node.attr]
    return found + sorted(int(node.attr["seed2"].i) for node in nodes)


def count(m, kind, call, names_of):
    with m.Graph().as_default() as graph:
        m.set_random_seed(1)
        known = {"m": m, "k": m.zeros, "c": m.constant, **(names_of(m) if names_of else {})}
        known.update(placeholders(m, kind))
        # Placeholders count as well; both systems add as many.
        try:
            eval(call, known)
        except Exception as error:
            # Both must fail; what type of error is the subject of other tests.
            return "error", repr(error)[:200]
        return graph._last_id, random_seeds(graph)


def main(module, subject, calls):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    warnings.simplefilter("ignore")
    m = importlib.import_module(module)
    logging = m.logging if hasattr(m, "logging") else m.compat.v1.logging
    logging.set_verbosity(logging.ERROR)
    names_of = getattr(names, subject, None)
    calls = calls or (Path(__file__).parent / (subject + ".txt")).read_text().splitlines()
    found = {kind + " " + call: count(m, kind, call, names_of) for call in calls for kind in KINDS}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
