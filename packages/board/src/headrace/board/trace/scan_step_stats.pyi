"""Types of scan_step_stats.pyx."""

import numpy as np

from headrace.board.trace.step_columns import StepColumns

def step_columns(metadata: bytes | memoryview) -> StepColumns: ...
def rows_of(start: np.ndarray, end: np.ndarray) -> np.ndarray: ...
