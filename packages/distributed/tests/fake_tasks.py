"""Tasks without a runtime: workers that remember what they are asked, in this process."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from typing import Any

import grpc

from headrace.distributed.native.endpoint import Endpoint
from headrace.distributed.rpc.channels import SERVER_OPTIONS, Channels
from headrace.distributed.rpc.daemon_threads import DaemonThreads
from headrace.distributed.rpc.links import Links
from headrace.distributed.rpc.settings import Settings
from headrace.distributed.rpc.token import TokenCheck
from headrace.distributed.worker.worker_handlers import worker_handler
from headrace.distributed.worker.worker_service import WorkerService
from headrace.formats import errors
from headrace.formats.proto.device_pb2 import DeviceAttributes
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.plan_pb2 import PartitionPlan


class FakeWorker:
    """services.Worker that runs nothing."""

    capsule = None

    def __init__(self, task: str, devices: int = 1) -> None:
        self.task = task
        self.n_devices = devices
        self.sessions: dict[str, dict[int, bytes]] = {}
        self.own_state: dict[str, bool] = {}
        self.resets: list[list[str]] = []
        self.before_register: Callable[[], None] = lambda: None
        self._lock = threading.Lock()
        self._next = 0

    def list_devices(self) -> list[bytes]:
        names = [f"{self.task}/device:CPU:{i}" for i in range(self.n_devices)]
        return [DeviceAttributes(name=n, device_type="CPU").SerializeToString() for n in names]

    def open_session(self, session: str, config: bytes, own_state: bool) -> None:
        with self._lock:
            if session in self.sessions:
                raise errors.AlreadyExistsError(None, None, session)
            self.sessions[session] = {}
            self.own_state[session] = own_state

    def register(self, session: str, graph_def: bytes) -> int:
        self.before_register()
        with self._lock:
            if session not in self.sessions:
                raise errors.NotFoundError(None, None, session)
            self._next += 1
            self.sessions[session][self._next] = graph_def
            return self._next

    def deregister(self, partition: int) -> None:
        for partitions in self.sessions.values():
            partitions.pop(partition, None)

    def close_session(self, session: str) -> None:
        self.sessions.pop(session, None)

    def reset(self, containers: Sequence[str]) -> None:
        self.resets.append(list(containers))

    def close(self) -> None:
        self.sessions.clear()


class FakePlanner:
    """services.Planner that gives each node to the task of its device, without edges."""

    def __init__(self) -> None:
        self.graph = GraphDef()
        self.planned_for: list[list[str]] = []

    def extend(self, graph_def: bytes) -> None:
        self.graph.MergeFromString(graph_def)

    def plan(
        self,
        feeds: Sequence[str],
        fetches: Sequence[str],
        targets: Sequence[str],
        devices: Sequence[str],
    ) -> bytes:
        self.planned_for.append(list(devices))
        if fetches:
            raise errors.NotFoundError(None, None, f"the graph has no tensor {fetches[0]}")
        plan = PartitionPlan()
        for node in self.graph.node:
            if node.name not in targets:
                continue
            device = node.device or devices[0]
            if device not in devices:
                raise errors.InvalidArgumentError(None, None, f"no device {device}")
            task = device.rpartition("/device:")[0]
            part = GraphDef(node=[node]).SerializeToString()
            plan.partition.add(task=task, graph_def=part)
        return plan.SerializeToString()

    def observe(self, run_metadata: bytes) -> None:
        raise NotImplementedError("its tasks run no steps")

    def placement(
        self,
        feeds: Sequence[str],
        fetches: Sequence[str],
        targets: Sequence[str],
        devices: Sequence[str],
    ) -> bytes:
        raise NotImplementedError("its tasks run no steps")

    def explain(
        self,
        feeds: Sequence[str],
        fetches: Sequence[str],
        targets: Sequence[str],
        devices: Sequence[str],
    ) -> str:
        raise NotImplementedError("its tasks run no steps")

    def tensor_spec(self, name: str) -> Any:
        return name, 1, ()


class FakeTask:
    """A task that serves headrace.WorkerService on the loopback."""

    def __init__(
        self, name: str, settings: Settings | None = None, devices: int = 1, port: int = 0
    ) -> None:
        self.settings = settings or Settings()
        self.name = name
        self.worker = FakeWorker(name, devices)
        self.endpoint = Endpoint(name, secrets.randbits(62) + 1)
        self.channels = Channels(self.settings)
        self.links = Links(self.endpoint, self.channels, "127.0.0.1")
        self.threads = DaemonThreads(name)
        self.service = WorkerService(name, self.worker, self.links, "127.0.0.1", self.threads)
        self.server = grpc.server(
            self.threads, options=SERVER_OPTIONS, interceptors=[TokenCheck(self.settings.token)]
        )
        self.server.add_generic_rpc_handlers(
            (worker_handler(self.service, self.links, lambda handle, job: []),)
        )
        bound = self.server.add_insecure_port(f"127.0.0.1:{port}")
        self.address = f"127.0.0.1:{bound}"
        self.server.start()

    def close(self) -> None:
        self.server.stop(None).wait()
        self.service.close()
        self.links.close()
        self.channels.close()
