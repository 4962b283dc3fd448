"""Sets how long threads of the OpenMP team spin before they sleep.

libgomp's default is milliseconds. If other programs use the cores, two threads of the team share
one core, and the spinning thread delays the other: a step of 1 ms took 120 ms on a busy machine.
Some tens of microseconds bridge the gaps between the kernels of a step.
"""

import os

_SPINS = "1000"  # of one `pause` each: 20 to 60 us
_USER_SETTINGS = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


def _load_openmp() -> None:
    """Loads libgomp, which reads its environment once, when it is loaded."""
    if any(name in os.environ for name in _USER_SETTINGS):
        return
    os.environ["GOMP_SPINCOUNT"] = _SPINS
    try:
        import headrace.runtime.state.context  # noqa: F401 - it is linked with libgomp
    finally:
        del os.environ["GOMP_SPINCOUNT"]


_load_openmp()
