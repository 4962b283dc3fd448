"""Random faults against a training cluster; then: did it learn, was each update counted once?

    python tests/distributed/faults/soak.py --minutes 10 --seed 1 [--sync] [--loopback]

Two parameter servers and three workers train with checkpoints, each on a host of its own where the
machine allows (hosts.py). At random moments a process is killed and started again, stopped for a
time, cut off for a time, or left alone. At the end the disturbances stop, and
the training must reach the loss that it reaches undisturbed, with as many updates in `count` as the
global step says, but for those that were on their way at a checkpoint that was restored.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cluster_processes import Cluster
from hosts import Hosts, can_make_hosts
from tqdm import tqdm

WORKERS, SERVERS = 3, 2
UNDISTURBED_LOSS = 1e-12  # after 200 steps: 9 * 0.9 ** 400
CHANGES = (
    "kill a worker",
    "kill a server",
    "kill the chief",
    "stop a worker",
    "stop a server",
    "cut off a worker",
    "cut off a server",
    "wait",
)


class Soak:
    def __init__(self, folder: Path, sync: bool, seed: int, hosts: Hosts | None) -> None:
        times = {"HEADRACE_HEARTBEAT_S": "0.4", "HEADRACE_DEAD_AFTER_S": "2"}
        self.hosts = hosts
        self.cluster = Cluster(folder, SERVERS, WORKERS, hosts, **times)
        self.rng = random.Random(seed)
        self.changes = [change for change in CHANGES if hosts or not change.startswith("cut")]
        self.options = ["--checkpoints", str(folder / "checkpoints"), "--save-steps", "50"]
        if sync:
            self.options += ["--sync", str(WORKERS)]
        self.counts = dict.fromkeys(CHANGES, 0)
        self.restores = 0

    def start(self, name: str) -> None:
        job, index = name.split(":")
        if job == "ps":
            self.cluster.start_ps(int(index))
        else:
            self.cluster.start_worker(int(index), *self.options)

    def disturb(self) -> None:
        change = self.rng.choice(self.changes)
        self.counts[change] += 1
        name = {
            "kill a worker": f"worker:{self.rng.randrange(1, WORKERS)}",
            "kill the chief": "worker:0",
            "stop a worker": f"worker:{self.rng.randrange(WORKERS)}",
            "cut off a worker": f"worker:{self.rng.randrange(WORKERS)}",
        }.get(change, f"ps:{self.rng.randrange(SERVERS)}")
        if change.startswith("kill"):
            self.cluster.kill(name)
            time.sleep(self.rng.uniform(0.0, 3.0))
            self.start(name)
            self.restores += name.startswith("ps")
        elif change.startswith("stop"):
            self.cluster.signal(name, signal.SIGSTOP)
            time.sleep(self.rng.choice([0.5, 1.5, 4.0]))
            self.cluster.signal(name, signal.SIGCONT)
            self.restores += name.startswith("ps")

        elif change.startswith("cut") and self.hosts:
            self.hosts.pull(name)
            time.sleep(self.rng.choice([0.5, 1.5, 4.0]))
            self.hosts.plug(name)
            self.restores += 1

    def revive(self) -> None:
        """Starts what has ended by itself: an engine would do so."""
        for name, process in list(self.cluster.processes.items()):
            if process.poll() is not None:
                self.start(name)

    def newest(self) -> dict[str, Any]:
        """The newest step that any worker has reported."""
        found: dict[str, Any] = {"time": 0.0, "step": -1}
        for i in range(WORKERS):
            steps = [e for e in self.cluster.events(f"worker:{i}") if "step" in e]
            if steps and steps[-1]["time"] > found["time"]:
                found = steps[-1]
        return found

    def run(self, minutes: float) -> int:
        for i in range(SERVERS):
            self.start(f"ps:{i}")
        for i in range(WORKERS):
            self.start(f"worker:{i}")
        self.cluster.until_step("worker:0", 20)
        end = time.monotonic() + minutes * 60
        with tqdm(total=round(minutes * 60), unit="s") as bar:
            while time.monotonic() < end:
                self.disturb()
                time.sleep(self.rng.uniform(0.5, 6.0))
                self.revive()
                bar.n = round(minutes * 60 - max(0.0, end - time.monotonic()))
                bar.set_postfix(step=self.newest()["step"])
        return self.judge()

    def judge(self) -> int:
        """Lets the training go on undisturbed, and compares."""
        begin = self.newest()["step"]
        limit = time.monotonic() + 120
        while True:
            self.revive()
            last = self.newest()
            if last["step"] >= begin + 400 or time.monotonic() > limit:
                break
            time.sleep(0.5)
        # A checkpoint that was taken while workers updated may have one update of each in only one
        # of the two numbers.
        allowed = WORKERS * (self.restores + 1)
        off = abs(last["count"] - last["step"])
        print(f"disturbances: {self.counts}; starts: {self.cluster.starts}")
        print(
            f"global step {last['step']}, count {last['count']}: {off:g} apart, at most {allowed}"
        )
        print(f"loss {last['loss']:.3g}; undisturbed: at most {UNDISTURBED_LOSS}")
        good = off <= allowed and last["loss"] <= UNDISTURBED_LOSS and last["step"] >= begin + 400
        print("passed" if good else "FAILED")
        return 0 if good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sync", action="store_true")
    parser.add_argument("--loopback", action="store_true", help="one host, which cannot be cut off")
    parser.add_argument("--keep", action="store_true", help="keep the logs of the processes")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="headrace-soak-"))
    hosts = Hosts() if can_make_hosts() and not args.loopback else None
    soak = Soak(folder, args.sync, args.seed, hosts)
    try:
        code = soak.run(args.minutes)
    finally:
        soak.cluster.close()
    if code or args.keep:
        print(f"logs: {folder}")
    return code


if __name__ == "__main__":
    sys.exit(main())
