"""One side of the benchmark: reads names of rows from stdin, answers each with a line of JSON.

    python worker.py headrace|headrace-dynamic|tensorflow|jax
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import programs


def headrace(executor: str | None) -> tuple[Any, Callable[[], Any]]:
    import headrace.graph as hr

    def session() -> Any:
        config = hr.ConfigProto()
        config.experimental.refuse_reference_kernels = True
        if executor:
            config.experimental.executor_type = executor
        return hr.Session(config=config)

    return hr, session


def tensorflow() -> tuple[Any, Callable[[], Any]]:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    return tf, tf.Session


def jax_program(row: str) -> programs.Program:
    import jax_adam

    if row != "adam":
        raise ValueError(f"no JAX program for {row}")
    return jax_adam.program()


def main() -> None:
    side = sys.argv[1]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    if side == "tensorflow":
        tf, session = tensorflow()
    elif side != "jax":
        tf, session = headrace("dynamic" if side == "headrace-dynamic" else None)
    built: dict[str, programs.Batch] = {}
    for line in sys.stdin:
        row = line.strip()
        try:
            if row not in built:
                built.clear()
                if side == "jax":
                    program = jax_program(row)
                else:
                    with tf.Graph().as_default():
                        program = getattr(programs, row)(tf, session)
                built[row] = programs.Batch(program)
            answer = {"seconds": built[row].measure()}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
