"""How servers and sessions end: signals, the end of the program, forks."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cluster_processes import Cluster
from served_cluster import in_process

SERVE = """
import json, sys, threading
import headrace.graph as hr
from headrace.formats import errors
server = hr.train.Server.create_local_server()
"""


def run_script(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Runs a program that has a server."""
    script = tmp_path / "program.py"
    script.write_text(SERVE + text)
    return subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)]
)
def test_signals_end_the_command(tmp_path: Path, number: signal.Signals, status: int) -> None:
    cluster = Cluster(tmp_path, 1, 0)
    try:
        cluster.start_ps(0)
        address = cluster.jobs["ps"][0]
        _until_it_serves(cluster, address)
        cluster.signal("ps:0", number)
        assert cluster.wait("ps:0", 30.0) == status
        assert "Traceback" not in cluster.output("ps:0")
    finally:
        cluster.close()


def _until_it_serves(cluster: Cluster, address: str) -> None:
    import headrace.graph as hr

    with hr.Graph().as_default(), hr.Session(f"grpc://{address}") as session:
        assert session.run(hr.constant(1.0)) == 1.0
    assert f"serves grpc://{address}" in cluster.output("ps:0")


@pytest.mark.parametrize(
    ("number", "status", "says"),
    [(signal.SIGINT, 0, "interrupted"), (signal.SIGTERM, -signal.SIGTERM, "")],
)
def test_signals_end_join(tmp_path: Path, number: signal.Signals, status: int, says: str) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        SERVE
        + 'print(\'{"event": "serving"}\', flush=True)\n'
        + "try:\n    server.join()\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
    )
    cluster = Cluster(tmp_path, 0, 1)
    try:
        cluster.start("worker:0", str(script))
        cluster.until("worker:0", lambda event: event.get("event") == "serving")
        cluster.signal("worker:0", number)
        assert cluster.wait("worker:0", 30.0) == status
        assert says in cluster.output("worker:0")
        assert "Traceback" not in cluster.output("worker:0")
    finally:
        cluster.close()


def test_join_ends_when_another_thread_stops_the_server(tmp_path: Path) -> None:
    done = run_script(
        tmp_path,
        "threading.Timer(0.1, server.stop).start()\nserver.join()\nprint('ended')\n",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


def test_a_program_ends_with_its_server_and_blocked_runs(tmp_path: Path) -> None:
    done = run_script(
        tmp_path,
        """
queue = hr.FIFOQueue(1, hr.float32, [])
begun = hr.Variable(0.0)
with hr.control_dependencies([begun.assign_add(1.0, use_locking=True)]):
    value = queue.dequeue()
session = hr.Session(server.target)
session.run(begun.initializer)
for _ in range(8):
    threading.Thread(target=lambda: session.run(value), daemon=True).start()
while session.run(begun) < 8.0:
    pass
print("ended", flush=True)
""",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


def test_a_program_ends_with_a_session_on_another_process(tmp_path: Path) -> None:
    with in_process(ps=1) as cluster:
        done = run_script(
            tmp_path,
            f"session = hr.Session({cluster.target('ps')!r})\n"
            "print(session.run(hr.constant(3.0) * 2.0), flush=True)\n",
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "6.0\n", "")


def test_a_forked_child_opens_sessions_of_its_own(tmp_path: Path) -> None:
    with in_process(ps=1) as cluster:
        done = run_script(
            tmp_path,
            f"""
import os, warnings
warnings.simplefilter("ignore")
target = {cluster.target("ps")!r}
x = hr.constant(3.0) * 2.0
server.stop()
child = os.fork()
if not child:
    with hr.Session(target) as session:
        print("child", session.run(x), flush=True)
    os._exit(0)
_, status = os.waitpid(child, 0)
with hr.Session(target) as session:
    print("parent", session.run(x), status, flush=True)
""",
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "child 6.0\nparent 6.0 0\n"


def test_ctrl_c_ends_a_wait_for_an_absent_task(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        SERVE
        + """
from headrace.formats.proto.run_pb2 import ConfigProto
cluster = hr.train.ClusterSpec({"worker": ["127.0.0.1:0"], "ps": ["127.0.0.1:1"]})
server = hr.train.Server(cluster, "worker", 0)
with hr.device("/job:ps/task:0"):
    x = hr.constant(1.0) + 1.0
session = hr.Session(server.target, config=ConfigProto(operation_timeout_in_ms=600_000))
print(session.run(hr.constant(2.0)), flush=True)
print('{"event": "waits"}', flush=True)
try:
    session.run(x)
except KeyboardInterrupt:
    print("interrupted", flush=True)
session.close()
"""
    )
    cluster = Cluster(tmp_path, 0, 1)
    try:
        cluster.start("worker:0", str(script))
        cluster.until("worker:0", lambda event: event.get("event") == "waits")
        cluster.signal("worker:0", signal.SIGINT)
        assert cluster.wait("worker:0", 30.0) == 0, cluster.output("worker:0")
        assert "interrupted" in cluster.output("worker:0")
    finally:
        cluster.close()
