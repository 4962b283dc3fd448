"""A session whose master is in this process: no call leaves it."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.distributed.master.master import Master
from headrace.distributed.master.partial_step import PartialStep
from headrace.distributed.master.prepared_step import PreparedStep


class LocalMasterSession:
    """services.ClusterSession over a master of this process."""

    def __init__(self, master: Master, target: str, config: bytes) -> None:
        self._master = master
        self._session = master.create_session(config, target)

    def extend(self, graph_def: bytes) -> None:
        self._session.extend(graph_def)

    def prepare(
        self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> PreparedStep:
        return self._session.prepare(feeds, fetches, targets)

    def partial_run_setup(
        self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> PartialStep:
        return self._session.partial_run_setup(feeds, fetches, targets)

    def list_devices(self) -> list[bytes]:
        local, remote = self._master.list_devices(self._session)
        return [device.SerializeToString() for device in (*local, *remote)]

    def reset(self, containers: Sequence[str]) -> None:
        self._master.reset(containers, ())

    def live_tasks(self, job: str) -> list[int]:
        return self._master.live_tasks(self._session, job)

    def close(self) -> None:
        self._master.close_session(self._session)
