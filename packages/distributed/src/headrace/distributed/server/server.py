"""The entry point `grpc` of the group headrace.servers."""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import signal
import threading
from types import FrameType

import grpc

from headrace.distributed.cluster.addresses import split_address
from headrace.distributed.cluster.tasks import Task, address_of
from headrace.distributed.master import in_process
from headrace.distributed.master.master import Master
from headrace.distributed.master.master_service import MasterService
from headrace.distributed.native.endpoint import Endpoint
from headrace.distributed.rpc.channels import SERVER_OPTIONS, Channels, server_credentials
from headrace.distributed.rpc.daemon_threads import DaemonThreads
from headrace.distributed.rpc.links import Links, interface_of
from headrace.distributed.rpc.settings import Settings, settings_from_environment
from headrace.distributed.rpc.token import TokenCheck
from headrace.distributed.worker.worker_handlers import worker_handler
from headrace.distributed.worker.worker_service import WorkerService
from headrace.formats import errors
from headrace.formats.proto.server_pb2 import ServerDef
from headrace.formats.services import RUNTIMES, find_service

_log = logging.getLogger("headrace.distributed")

_servers: set[Server] = set()


class Server:
    """services.ServerService: one task.

    Args:
      server_def: a serialized ServerDef.
    Raises: InvalidArgumentError for a task that the cluster does not have, or an interface beyond
      loopback without credentials; UnavailableError for a port that is in use; NotFoundError if
      no runtime is installed.
    """

    def __init__(self, server_def: bytes) -> None:
        definition = ServerDef.FromString(server_def)
        settings = settings_from_environment(definition.protocol or "grpc")
        task = Task(definition.job_name, definition.task_index)
        try:
            address = address_of(definition.cluster, task)
        except errors.NotFoundError as error:
            raise errors.InvalidArgumentError(None, None, error.message) from None
        host, port = split_address(address)
        port = definition.port or port
        interface = interface_of(address, settings)
        runtime = find_service(RUNTIMES, "local")()
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._started = False
        self._threads = DaemonThreads(f"headrace-{task.job}-{task.index}")
        self._grpc = grpc.server(
            self._threads, options=SERVER_OPTIONS, interceptors=[TokenCheck(settings.token)]
        )
        port = _bind(self._grpc, task, interface, port, settings)
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.target = f"grpc://{self.address}"
        for job in definition.cluster.job:
            if job.name == task.job:
                job.tasks[task.index] = self.address
        definition.port = port
        self.server_def = definition.SerializeToString()
        default_config = definition.default_session_config.SerializeToString()
        self._runtime_worker = runtime.open_worker(str(task), default_config)
        self._endpoint = Endpoint(
            str(task),
            secrets.randbits(62) + 1,
            self._runtime_worker,
            settings.heartbeat_s,
            settings.dead_after_s,
        )
        self._channels = Channels(settings)
        self._links = Links(self._endpoint, self._channels, interface)
        self._worker = WorkerService(
            str(task), self._runtime_worker, self._links, host, self._threads
        )
        self._master = Master(
            definition, self.address, runtime, self._worker, self._links, self._threads
        )
        live = lambda handle, job: self._master.live_tasks(self._master.session(handle), job)  # noqa: E731
        self._grpc.add_generic_rpc_handlers(
            (
                worker_handler(self._worker, self._links, live),
                MasterService(self._master).handler(),
            )
        )
        _servers.add(self)

    def start(self) -> None:
        """Begins to serve. Raises: FailedPreconditionError after `stop`."""
        with self._lock:
            if self._stopped.is_set():
                raise errors.FailedPreconditionError(
                    None, None, f"the server at {self.address} was stopped, and cannot start again"
                )
            if self._started:
                return
            self._started = True
            self._grpc.start()
            in_process.add(self.address, self._master)
        _log.info("%s serves %s", self._endpoint.name, self.target)

    def stop(self) -> None:
        """Ends all sessions and frees the port."""
        with self._lock:
            if self._stopped.is_set():
                return
            self._stopped.set()
        in_process.remove(self.address)
        self._master.close()
        ended = self._grpc.stop(None)
        # First the links: to its peers the task is gone, not a worker that knows nothing.
        self._links.close()
        self._worker.close()
        self._channels.close()
        ended.wait(5.0)
        self._threads.shutdown()
        _servers.discard(self)

    def join(self) -> None:
        """Waits until the server is stopped; SIGINT and SIGTERM stop it.

        Raises: KeyboardInterrupt for SIGINT. SIGTERM ends the process, after the server.
        """
        if threading.current_thread() is not threading.main_thread():
            self._stopped.wait()
            return
        terminated = threading.Event()

        def on_term(number: int, frame: FrameType | None) -> None:
            terminated.set()
            raise KeyboardInterrupt

        before = signal.getsignal(signal.SIGTERM)
        handled = before is signal.SIG_DFL
        if handled:
            signal.signal(signal.SIGTERM, on_term)
        try:
            self._stopped.wait()
        except KeyboardInterrupt:
            self.stop()
            if not terminated.is_set():
                raise
        finally:
            if handled:
                signal.signal(signal.SIGTERM, before)
        if terminated.is_set():
            os.kill(os.getpid(), signal.SIGTERM)


def _bind(server: grpc.Server, task: Task, host: str, port: int, settings: Settings) -> int:
    """Binds the port. Returns: its number. Raises: UnavailableError."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        if settings.tls is None:
            bound = server.add_insecure_port(address)
        else:
            bound = server.add_secure_port(address, server_credentials(settings.tls))
    except RuntimeError as error:
        bound = 0
        reason = str(error)
    else:
        reason = "the port is in use, or the interface is not this host's"
    if not bound:
        raise errors.UnavailableError(
            None, None, f"{task} cannot listen at {address}: {reason}; another server may use the "
            "port, or the interface is not this host's (HEADRACE_BIND chooses another)",
        )  # fmt: skip
    return int(bound)


def _end_all() -> None:
    for server in list(_servers):
        server.stop()


atexit.register(_end_all)
os.register_at_fork(after_in_child=_servers.clear)


def open_server(server_def: bytes) -> Server:
    """Makes a server (services.ServerService), which does not serve yet."""
    return Server(server_def)
