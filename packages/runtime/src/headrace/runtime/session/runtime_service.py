"""The service `headrace.runtimes`: what a distributed runtime needs of this machine."""

from __future__ import annotations

from headrace.runtime.session.planner import GraphPlanner
from headrace.runtime.session.step_rendezvous import Rendezvous
from headrace.runtime.session.worker import Worker


class Runtime:
    """services.RuntimeService."""

    def open_planner(self, config: bytes) -> GraphPlanner:
        """Returns a planner with an empty graph; config is a serialized ConfigProto."""
        return GraphPlanner(config)

    def open_worker(self, task: str, config: bytes) -> Worker:
        """Returns a worker for a task, "/job:ps/replica:0/task:3"."""
        return Worker(task, config)

    def open_rendezvous(self) -> Rendezvous:
        """Returns a rendezvous, which workers of this process may share in a step."""
        return Rendezvous()


def open_runtime() -> Runtime:
    """Returns the service; the entry point `local`."""
    return Runtime()
