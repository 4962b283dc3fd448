"""The clocks of other machines, as a master measures them for traces."""

from __future__ import annotations

import time

from headrace.distributed.master.cluster_view import ClusterView
from headrace.distributed.rpc.daemon_threads import DaemonThreads
from headrace.distributed.rpc.deadline import Deadline
from headrace.distributed.rpc.host import host_identity
from headrace.formats import errors
from headrace.formats.proto.worker_service_pb2 import GetStatusResponse

HOUR_NS = 3_600_000_000_000


class _Clock:
    """A task whose clock is ahead, and whose answers take time."""

    def __init__(self, ahead_ns: int, boot_id: str, answers: bool = True) -> None:
        self.ahead_ns, self.boot_id, self.answers = ahead_ns, boot_id, answers
        self.calls = 0

    def status(self, deadline: Deadline) -> GetStatusResponse:
        if not self.answers:
            raise errors.UnavailableError(None, None, "cut off")
        self.calls += 1
        time.sleep(0.02 if self.calls == 1 else 0.0)
        now = time.time_ns() + self.ahead_ns
        return GetStatusResponse(boot_id=self.boot_id, wall_clock_ns=now)


def test_offsets_of_other_machines_are_measured_and_those_of_this_one_are_0() -> None:
    clients = {
        "/job:ps/replica:0/task:0": _Clock(HOUR_NS, "elsewhere"),
        "/job:ps/replica:0/task:1": _Clock(-HOUR_NS, "elsewhere"),
        "/job:ps/replica:0/task:2": _Clock(HOUR_NS, host_identity().boot_id),
        "/job:ps/replica:0/task:3": _Clock(HOUR_NS, "elsewhere", answers=False),
    }
    view = ClusterView("/job:ps/replica:0/task:0", clients, DaemonThreads("test"))  # type: ignore[arg-type]
    offsets_ns = view.clock_offsets_ns(list(clients), Deadline.after(30.0))
    ahead, behind, same, silent = offsets_ns.values()
    # The fastest of five calls is closer than a minute on any machine.
    assert abs(ahead - HOUR_NS) < HOUR_NS / 60
    assert abs(behind + HOUR_NS) < HOUR_NS / 60
    assert same == 0 and silent == 0
