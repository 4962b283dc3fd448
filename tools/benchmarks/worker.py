"""One side of the benchmark: reads names of rows from stdin, replies to each with a line of JSON.

python worker.py headrace|headrace-(dynamic,python,opencl)|tensorflow|tensorflow-function|torch|jax
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import changing_inputs
import datasets
import device_ops
import input_files
import models
import programs
import recurrent


def headrace(
    executor: str | None, python_kernels: bool, device: bool
) -> tuple[Any, Callable[[], Any]]:
    import headrace.graph as hr

    def session() -> Any:
        config = hr.ConfigProto()
        config.experimental.refuse_reference_kernels = not python_kernels
        if executor:
            config.experimental.executor_type = executor
        opened = hr.Session(config=config)
        if device and not any(d.device_type == "GPU" for d in opened.list_devices()):
            raise RuntimeError("no OpenCL device works here")
        return opened

    return hr, session


def tensorflow() -> tuple[Any, Callable[[], Any]]:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    return tf, tf.Session


def with_session(row: str, tf: Any, session: Callable[[], Any]) -> programs.Program:
    with tf.Graph().as_default():
        if row in models.ROWS:
            import models_graph

            return models_graph.in_session(row, tf, session)
        modules = (programs, changing_inputs, recurrent, input_files, datasets, device_ops)
        found = [getattr(module, row) for module in modules if hasattr(module, row)]
        program: programs.Program = found[0](tf, session)
        return program


def builder(side: str) -> Callable[[str], programs.Program]:
    """Returns: what makes the program of a row on that side."""
    if side == "torch":
        import models_torch

        return models_torch.program
    if side == "jax":
        import jax_adam
        import models_jax

        return lambda row: models_jax.program(row) if row in models.ROWS else jax_adam.program()
    if side == "tensorflow-function":
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import models_graph
        import tensorflow as tf2

        return lambda row: models_graph.in_function(row, tf2)
    if side == "tensorflow":
        tf, session = tensorflow()
    else:
        tf, session = headrace(
            "dynamic" if side == "headrace-dynamic" else None,
            side == "headrace-python",
            side == "headrace-opencl",
        )
    return lambda row: with_session(row, tf, session)


def main() -> None:
    side = sys.argv[1]
    if n_cores := int(os.environ.get("HEADRACE_BENCH_CORES", 0)):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:n_cores])
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is not a reply
    build = builder(side)
    built: dict[str, programs.Batch] = {}
    for line in sys.stdin:
        row = line.strip()
        try:
            if row not in built:
                built.clear()
                built[row] = programs.Batch(build(row))
            reply = {"seconds": built[row].measure(), "check": built[row].check}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()
