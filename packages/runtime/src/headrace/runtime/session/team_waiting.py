"""How long the threads of the OpenMP team wait for one another before they sleep.

libgomp's own answer is milliseconds. Where something else wants the cores, two threads of the team
come to share one, and the one that spins keeps the other from arriving: a step of 1 ms took 120 ms
beside a busy machine. Some tens of microseconds bridge the gaps between the kernels of a step.
"""

import os

_SPINS = "1000"  # of one `pause` each: 20 to 60 us
_THE_USERS_WORD = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


def _load_openmp() -> None:
    """Loads libgomp, which reads its environment once, at that moment."""
    if any(name in os.environ for name in _THE_USERS_WORD):
        return
    os.environ["GOMP_SPINCOUNT"] = _SPINS
    try:
        import headrace.runtime.state.context  # noqa: F401 - it is linked with libgomp
    finally:
        del os.environ["GOMP_SPINCOUNT"]


_load_openmp()
