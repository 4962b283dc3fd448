"""How long OpenMP threads spin is set before libgomp is loaded, unless the user has set it.

Modules: session/openmp_wait_policy.
"""

import os
import subprocess
import sys

# libgomp prints its settings when it is loaded.
PROGRAM = """
import os
import headrace.runtime.state.context
print("GOMP_SPINCOUNT" in os.environ)
"""


def _settings(**environment):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "OMP_DISPLAY_ENV": "VERBOSE", **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return done.stderr, done.stdout.strip()


def test_threads_spin_briefly_and_the_environment_does_not_change():
    settings, in_environment = _settings()
    assert "GOMP_SPINCOUNT = '1000'" in settings
    assert in_environment == "False"


def test_the_users_setting_is_kept():
    settings, in_environment = _settings(GOMP_SPINCOUNT="77")
    assert "GOMP_SPINCOUNT = '77'" in settings
    assert in_environment == "True"
