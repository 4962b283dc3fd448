"""Children of a fork of a process that has used OpenCL: their sessions have the CPU alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from opencl_children import Run, run_child

pytestmark = pytest.mark.opencl

PROGRAM = """
    import os, warnings
    warnings.simplefilter("ignore", DeprecationWarning)  # that a process with threads forks

    def in_child(work):
        child = os.fork()
        if child == 0:
            try:
                work()
                os._exit(7)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

    x = hr.placeholder(hr.float32, [2, 2])
    y = hr.matmul(x, x) + 1.0
    with hr.device("/device:GPU:0"):
        pinned = hr.matmul(x, x)
    ones = np.ones([2, 2], np.float32)
    soft = hr.ConfigProto(allow_soft_placement=True)

    def run(session, node):
        return session.run(node, {x: ones}).tolist()
"""

CHILD = """
    parent = hr.Session()
    types = {d.device_type for d in parent.list_devices()}
    assert run(parent, y) == [[3, 3], [3, 3]]

    def work():
        with hr.Session() as session:
            assert [d.device_type for d in session.list_devices()] == ["CPU"]
            assert run(session, y) == [[3, 3], [3, 3]]
            try:
                run(session, pinned)
            except hr.errors.InvalidArgumentError as error:
                assert "/device:GPU:0" in str(error) and "allow_soft_placement" in str(error)
                assert ("'spawn'" in str(error)) == ("GPU" in types), error
            else:
                raise AssertionError("a device that is not there computed")
            variable = hr.get_variable("v", initializer=ones)
            session.run(variable.initializer)
            assert session.run(variable).tolist() == [[1, 1], [1, 1]]
        with hr.Session(config=soft) as session:
            assert run(session, pinned) == [[2, 2], [2, 2]]
        try:
            run(parent, y)
        except hr.errors.OpError as error:
            assert "fork" in str(error)
        else:
            raise AssertionError("the parent's session works in its child")

    in_child(work)
    in_child(lambda: in_child(work))  # a child of a child
    assert run(parent, y) == [[3, 3], [3, 3]]
"""


def test_sessions_of_a_child_run_on_the_cpu(run: Run, cache: str) -> None:
    _, warning = run_child(PROGRAM + CHILD, cache)
    lines = warning.splitlines()
    assert len(lines) == 2  # a warning for each child with sessions
    for line in lines:
        assert line.startswith("no OpenCL devices: this process is a fork") and "'spawn'" in line


def test_children_of_a_process_without_devices_are_not_warned(tmp_path: Path) -> None:
    assert run_child(PROGRAM + CHILD, tmp_path, HEADRACE_OPENCL_DEVICES="none")[1] == ""


def test_a_child_of_a_process_that_has_not_looked_for_devices_has_them(run: Run) -> None:
    run(
        PROGRAM
        + """
        def work():
            with hr.Session() as session:
                assert "GPU" in {d.device_type for d in session.list_devices()}
                assert run(session, pinned) == [[2, 2], [2, 2]]

        in_child(work)
        work()
        """.replace("\n    ", "\n")
    )
