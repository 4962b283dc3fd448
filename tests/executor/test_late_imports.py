"""Modules that a session imports late are imported completely, even if Ctrl-C arrives.

Modules: kernels/kernel_libraries.
"""

from __future__ import annotations

import child_process
import pytest

INTERRUPTED = """
    class Interrupting:
        def find_spec(self, name, path=None, target=None):
            if name == wanted:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.05)  # the handler runs here
    sys.meta_path.insert(0, Interrupting())
    def attempt(f):
        try:
            f()
        except KeyboardInterrupt:
            print("interrupted", wanted in sys.modules)
    def again(f):
        thread = threading.Thread(target=f)
        thread.start()
        thread.join(200)
        print("hangs" if thread.is_alive() else "runs", flush=True)
        os._exit(0)
"""


def test_ctrl_c_comes_after_the_import_of_a_family_of_kernels() -> None:
    printed = child_process.output(
        """
    wanted = "headrace.kernels.reference.ops.image.sound"
    rate = hr.placeholder(hr.int32, [])
    sound = hr.raw_ops.Mfcc(spectrogram=hr.ones([1, 1, 2]), sample_rate=rate)
    session = hr.Session()
    def run():
        try:
            session.run(sound, {rate: 0})
        except hr.errors.InvalidArgumentError:
            pass
"""
        + INTERRUPTED
        + """
    attempt(run)
    again(run)
        """
    )
    assert printed == "interrupted True\nruns\n"


@pytest.mark.parametrize(
    "name", ["headrace.runtime.session.local_session", "headrace.kernels.cpu._table"]
)
def test_ctrl_c_comes_after_the_import_of_what_a_session_needs(name: str) -> None:
    printed = child_process.output(
        f"""
    wanted = "{name}"
"""
        + INTERRUPTED
        + """
    attempt(hr.Session)
    again(hr.Session)
        """
    )
    assert printed == "interrupted True\nruns\n"
