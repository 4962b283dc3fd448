"""Runs the graphs that come through stdin in TensorFlow; needs no Headrace.

A message is a length and a pickle of (GraphDef, runs); the reply is a length and a pickle of the
outcomes, in the forms of fuzz_child.py. If a run does not end, the reply has ("hung", "") for it
and the later runs, and this process ends: TensorFlow cannot cancel a loop without end.
"""

from __future__ import annotations

import os
import pickle
import re
import resource
import struct
import sys
import threading

import numpy as np

reply = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # ops that print must not come between

import tensorflow as tf  # noqa: E402

v1 = tf.compat.v1
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
OPTIONS = v1.RunOptions(timeout_in_ms=1000)
LIMIT_S = 4.0  # for one step: building the graph, or a run
CONFIG = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=2)
# No rewriting: a kernel that rejects its inputs must run.
rewrites = CONFIG.graph_options.rewrite_options
rewrites.disable_meta_optimizer = True
CONFIG.graph_options.optimizer_options.opt_level = -1


def array(form: tuple) -> np.ndarray:
    dtype, shape, data = form
    if dtype == "object":
        result = np.empty(len(data), object)
        result[:] = data
        return result.reshape(shape)
    kind = tf.dtypes.as_dtype(dtype).as_numpy_dtype
    return np.frombuffer(data, kind).reshape(shape)


def portable(value: object) -> tuple:
    value = np.asarray(value)
    if value.dtype.kind in "OSU":
        words = [v if isinstance(v, bytes) else str(v) for v in np.asarray(value, object).flat]
        return "object", value.shape, words
    if value.nbytes > 1 << 22:
        value = value.reshape(-1)[:1024]
    return str(value.dtype), value.shape, value.tobytes()


def outcomes(wire: bytes, runs: list, result: list) -> None:
    """Appends an outcome per run to `made`, as the runs end."""
    graph_def = v1.GraphDef.FromString(wire)
    graph = tf.Graph()
    try:
        with graph.as_default():
            tf.import_graph_def(graph_def, name="")
    except Exception as error:  # TensorFlow rejects the graph
        result += [("rejected", (3, "import: " + str(error)[:300]))] * len(runs)
        return
    with v1.Session(graph=graph, config=CONFIG) as session:
        for feeds, fetches, targets in runs:
            try:
                fed = {name: array(form) for name, form in feeds.items()}
                done = session.run(
                    [fetches, [graph.get_operation_by_name(t) for t in targets]], fed, OPTIONS
                )
                result.append(("values", [portable(v) for v in done[0]]))
            except tf.errors.OpError as error:
                text = re.sub(r"(?s).*?Node: '[^']*'\n", "", error.message, count=1)
                result.append(("rejected", (error.error_code, text[:300])))
            except Exception as error:
                result.append(("rejected", (3, "client: " + str(error)[:300])))


def watched(wire: bytes, runs: list) -> list:
    """The outcomes, up to a run that does not end."""
    result: list = []
    worker = threading.Thread(target=outcomes, args=(wire, runs, result), daemon=True)
    worker.start()
    before = -1
    while worker.is_alive() and before < len(result):
        before = len(result)
        worker.join(LIMIT_S)
    return [*result, ("hung", "")] if worker.is_alive() else result


def main() -> None:
    stream = sys.stdin.buffer
    while True:  # Python 3.7 has no := for TensorFlow 1.15
        head = stream.read(4)
        if not head:
            return
        wire, runs = pickle.loads(stream.read(struct.unpack("<I", head)[0]))
        result = watched(wire, runs)
        data = pickle.dumps(result, protocol=4)
        reply.write(struct.pack("<I", len(data)) + data)
        reply.flush()
        if result and result[-1][0] == "hung":
            os._exit(0)


main()
