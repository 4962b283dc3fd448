"""Scripts that play servers and workers, so that supervision is tested apart from real servers."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from launched_job import LaunchedJob

# A server at the task's address, and a process that it starts.
SERVE = """
import os, socketserver, subprocess, sys
from headrace.distributed.cluster.addresses import split_address
from headrace.distributed.engines import resolve

cluster = resolve()
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)", __file__])

class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(f"{cluster.job_name} {cluster.task_index} {os.getpid()}".encode())

socketserver.TCPServer.allow_reuse_address = True
address = split_address(cluster.master.removeprefix("grpc://"))
with socketserver.TCPServer(address, Handler) as server:
    print("serving", *sys.argv[1:])
    server.serve_forever()
"""

CLIENT = """
import socket, time
from headrace.distributed.cluster.addresses import split_address
from headrace.distributed.engines import resolve

cluster = resolve()

def ask(index):
    address = split_address({j.name: j for j in cluster.cluster_def.job}["ps"].tasks[index])
    while True:
        try:
            with socket.create_connection(address, 5) as connection:
                answer = connection.recv(100).decode()
                if answer:
                    return answer
        except OSError:
            pass
        time.sleep(0.05)
"""

# Works until the file `end` appears, and says when it finds another server at the address.
WORK = (
    CLIENT
    + """
import os, pathlib

me = cluster.task_index
server = ask(0)
print("begin", me, cluster.engine, cluster.restart_count, os.getpid(), os.getppid(), server)
while not pathlib.Path(__file__).with_name("end").exists():
    now = ask(0)
    if now != server:
        print("changed", me, now)
    server = now
    time.sleep(0.02)
print("end", me, cluster.restart_count)
"""
)


def write_scripts(folder: Path) -> None:
    (folder / "serve.py").write_text(SERVE)
    (folder / "work.py").write_text(WORK)


def supervised_job(folder: Path) -> list[str]:
    """Returns the arguments for a parameter server and two workers."""
    script, serve = str(folder / "work.py"), str(folder / "serve.py")
    return ["--workers", "2", "--ps", "1", "--ps-script", serve, script]


def begun(job: LaunchedJob, worker: int) -> list[tuple[int, int, int, int]]:
    """Returns restart count, process, parent and server's process of each start of a worker."""
    pattern = rf"begin {worker} \w+ (\d+) (\d+) (\d+) ps 0 (\d+)"
    return [tuple(map(int, found)) for found in re.findall(pattern, job.stdout)]  # type: ignore[misc]


def kill_each_job_once(job: LaunchedJob, folder: Path, parent: bool = False) -> None:
    """Kills a worker and then the parameter server of a running `supervised_job`, and ends it.

    Both come back: the worker with a new process and restart count, the server at its address,
    where both workers find it; the other worker goes on.

    Args:
      parent: whether to kill the process above the worker instead.
    """
    job.wait_for("both workers", lambda: bool(begun(job, 0) and begun(job, 1)))
    ((_, pid, above, server),) = begun(job, 1)
    os.kill(above if parent else pid, signal.SIGKILL)
    job.wait_for("the worker again", lambda: len(begun(job, 1)) == 2)
    assert [start[0] for start in begun(job, 1)] == [0, 1]
    os.kill(server, signal.SIGKILL)
    job.wait_for(
        "another server", lambda: "changed 0 ps 0" in job.stdout and "changed 1 ps 0" in job.stdout
    )
    (folder / "end").touch()
    assert job.end() == 0, job.stdout + job.stderr
    assert "end 1 1" in job.stdout and "end 0 0" in job.stdout
    assert len(begun(job, 0)) == 1, "the other worker was disturbed"
