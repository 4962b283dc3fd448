"""Whether a chief that starts finds a model that lives on parameter servers, and adopts it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from headrace.formats.errors import FailedPreconditionError
from headrace.graph.checkpoints.checkpoint_reader import load_checkpoint
from headrace.graph.platform import logging
from headrace.graph.training.global_step import get_global_step


def adopts_living_state(session: Any, ready_op: Any, checkpoint: str | None) -> bool:
    """Returns whether the variables of a session are initialised, and not behind a checkpoint.

    A chief that starts again must neither restore nor initialise them then: workers that live
    would lose the steps since the checkpoint.

    Args:
      session: a new session over tasks that other sessions share.
      ready_op: [n] string, names of uninitialised variables.
      checkpoint: prefix of the latest checkpoint, or None.
    Raises: DataLossError for a corrupted checkpoint.
    """
    if ready_op is None or not _all_initialised(session, ready_op):
        return False
    step = get_global_step(session.graph)
    if checkpoint is None:
        found = "without a global step" if step is None else f"at step {int(session.run(step))}"
        logging.info("The model on the parameter servers lives, %s: it is adopted.", found)
        return True
    if step is None:  # nothing says which of the two is newer
        return False
    living, saved = int(session.run(step)), _saved_step(checkpoint, step)
    if saved is None or living < saved:
        return False
    logging.info(
        "The model on the parameter servers lives, at step %d; %s is of step %d: it is adopted.",
        living, checkpoint, saved,
    )  # fmt: skip
    return True


def _all_initialised(session: Any, ready_op: Any) -> bool:
    try:
        names = np.asarray(session.run(ready_op))
    except FailedPreconditionError:  # it reads a variable that is not initialised
        return False
    return bool(names.all()) if names.dtype == np.bool_ else names.size == 0


def _saved_step(checkpoint: str, step: Any) -> int | None:
    """Returns the global step of a checkpoint, or None if it has none."""
    reader = load_checkpoint(checkpoint)
    if reader.has_tensor(step.op.name):
        return int(reader.get_tensor(step.op.name))
    numbered = re.search(r"-(\d+)$", checkpoint)
    return int(numbered.group(1)) if numbered else None
