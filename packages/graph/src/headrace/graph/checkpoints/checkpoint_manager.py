"""train.CheckpointManager: numbers the checkpoints of objects and removes old ones."""

from __future__ import annotations

import os
import time

from headrace.graph.checkpoints.checkpoint_state import (
    get_checkpoint_state,
    local_path,
    remove_checkpoint,
    update_checkpoint_state,
)
from headrace.graph.checkpoints.object_checkpoint import Checkpoint
from headrace.graph.platform import gfile


class CheckpointManager:
    """Saves a Checkpoint to numbered files of a folder, and keeps the newest of them.

    Args:
      checkpoint: the Checkpoint to save.
      directory: the folder; its list of checkpoints is taken over.
      max_to_keep: number of checkpoints to keep; None keeps all.
      keep_checkpoint_every_n_hours: interval in hours at which one is kept permanently.
      checkpoint_name: first part of the names of the files.
    Raises: ValueError if max_to_keep is not positive.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str | os.PathLike[str],
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}."
            )
        self._checkpoint = checkpoint
        self._directory = local_path(directory)
        self._max_to_keep = max_to_keep
        self._keep_s = (keep_checkpoint_every_n_hours or 0.0) * 3600
        self._prefix = os.path.join(self._directory, checkpoint_name)
        self._times: dict[str, float] = {}
        self._preserved = time.time()
        state = get_checkpoint_state(self._directory)
        if state is not None:
            now, paths = self._preserved, list(state.all_model_checkpoint_paths)
            times = list(state.all_model_checkpoint_timestamps) or [now] * len(paths)
            self._times = dict(zip(paths, times))
            self._preserved = state.last_preserved_timestamp or now

    @property
    def latest_checkpoint(self) -> str | None:
        """Prefix of the newest checkpoint, or None."""
        return self.checkpoints[-1] if self._times else None

    @property
    def checkpoints(self) -> list[str]:
        """Prefixes of the checkpoints that are kept, oldest first."""
        return list(self._times)

    def save(self, checkpoint_number: int | None = None) -> str:
        """Saves the objects in the default session, and removes old checkpoints.

        Args:
          checkpoint_number: number in the name; by default the number of calls of `save`.
        Returns: the prefix of the checkpoint.
        Raises: as Checkpoint.write.
        """
        number = self._checkpoint.count_save()
        gfile.MakeDirs(self._directory)
        suffix = number if checkpoint_number is None else checkpoint_number
        path = self._checkpoint.write(f"{self._prefix}-{suffix}")
        self._times.pop(path, None)
        self._times[path] = time.time()
        self._remove_old()
        update_checkpoint_state(
            self._directory,
            path,
            self.checkpoints,
            all_model_checkpoint_timestamps=list(self._times.values()),
            last_preserved_timestamp=self._preserved,
            save_relative_paths=True,
        )
        return path

    def _remove_old(self) -> None:
        while self._max_to_keep is not None and len(self._times) > self._max_to_keep:
            path, written = next(iter(self._times.items()))
            del self._times[path]
            if self._keep_s and written - self._keep_s >= self._preserved:
                self._preserved = written
            else:
                remove_checkpoint(path)
