"""The kinds of cases, and the case of a kind and a seed."""

from __future__ import annotations

import importlib
import random

from fuzz_case import Case

# Kind: the module whose make_case(dice) makes it.
KINDS = {
    "ops": "op_graphs",
    "known": "known_case_graphs",
    "programs": "program_graphs",
    "calls": "session_calls",
    "corrupted": "corrupted_graphs",
    "internal": "internal_op_graphs",
    "functions": "random_functions",
    "pipelines": "pipeline_graphs",
    "resources": "resource_graphs",
    "files": "file_graphs",
}


def make_case(kind: str, seed: int) -> Case:
    """The case of a seed, the same at each call. `ops@7` is the case of seed 7, whatever `seed`."""
    kind, _, fixed = kind.partition("@")
    seed = int(fixed or seed)
    kind, _, op = kind.partition(":")
    module = importlib.import_module(KINDS[kind])
    dice = random.Random(f"{kind} {seed}")
    return module.make_case_of(dice, op) if op else module.make_case(dice)
