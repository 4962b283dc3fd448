"""A Slurm of one node, made of Debian's packages slurm-wlm and munge, for tests; runs as root."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol")

# cred_expire bounds how long a requeued job waits (120 s by default); fewer than 5 s are ignored.
_CONFIG = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SchedulerType=sched/builtin
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
KillWait=2
MinJobAge=300
InactiveLimit=0
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=10 State=UP OverSubscribe=YES:8
"""


def missing_programs() -> list[str]:
    """Returns the programs of Slurm and munge that are not installed."""
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    return [name for name in PROGRAMS if shutil.which(name, path=path) is None]


@contextmanager
def slurm(folder: Path) -> Iterator[dict[str, str]]:
    """Runs munged, slurmctld and slurmd with all of their files in a folder.

    Yields: the environment in which Slurm's commands find this cluster.
    """
    host = socket.gethostname().partition(".")[0]
    for name, mode in (("munge", 0o755), ("state", 0o700), ("spool", 0o755)):
        (folder / name).mkdir(parents=True)
        (folder / name).chmod(mode)
    key = folder / "munge" / "key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    config = folder / "slurm.conf"
    config.write_text(
        _CONFIG.format(
            folder=folder,
            host=host,
            controller_port=_free_port(),
            node_port=_free_port(),
            cpus=os.cpu_count(),
        )
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SLURM")}
    environment["PATH"] += ":/usr/sbin:/sbin"
    environment["SLURM_CONF"] = str(config)
    with ExitStack() as running:
        munge = folder / "munge"
        _daemon(
            running,
            "munged --foreground --force --num-threads=2"
            f" --key-file={key} --socket={munge}/socket --pid-file={munge}/pid"
            f" --seed-file={munge}/seed --log-file={munge}/log",
            environment,
            munge / "output",
        )
        _wait_for("munged", lambda: (munge / "socket").exists(), munge / "output")
        _daemon(running, "slurmctld -D", environment, folder / "slurmctld.output")
        _daemon(running, f"slurmd -D -N {host}", environment, folder / "slurmd.output")
        running.callback(_cancel_all, environment)
        _wait_for(
            "an idle node",
            lambda: _answer("sinfo -h -o %T", environment) == "idle",
            folder / "slurmctld.log",
        )
        yield environment


def _daemon(running: ExitStack, command: str, environment: dict[str, str], output: Path) -> None:
    with output.open("wb") as file:
        process = subprocess.Popen(
            command.split(),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    running.callback(_end, process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def _cancel_all(environment: dict[str, str]) -> None:
    subprocess.run(
        ["scancel", "--signal=KILL", "--full", "-u", "root"], env=environment, timeout=20
    )
    subprocess.run(["scancel", "-u", "root"], env=environment, timeout=20)
    _wait_for("the end of all jobs", lambda: _answer("squeue -h", environment) == "", None)


def _answer(command: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        command.split(), env=environment, capture_output=True, text=True, timeout=20
    )
    return done.stdout.strip() if done.returncode == 0 else done.stderr


def _wait_for(what: str, happened: Callable[[], bool], log: Path | None) -> None:
    deadline = time.monotonic() + 40
    while not happened():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not in 40 s\n{log.read_text() if log else ''}")
        time.sleep(0.05)


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
