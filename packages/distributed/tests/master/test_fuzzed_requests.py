"""Requests with any contents, and bytes that are no requests: the services say what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from fake_tasks import FakePlanner, FakeTask
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.distributed.cluster.cluster_text import cluster_from_jobs
from headrace.distributed.master.master import Master
from headrace.distributed.master.master_service import MasterService
from headrace.distributed.rpc.settings import Settings
from headrace.formats.proto import master_pb2, worker_service_pb2
from headrace.formats.proto.server_pb2 import ServerDef

METHODS = {
    "/headrace.WorkerService/": {
        "GetStatus": worker_service_pb2.GetStatusRequest,
        "OpenSession": worker_service_pb2.OpenWorkerSessionRequest,
        "Connect": worker_service_pb2.ConnectRequest,
        "RegisterGraph": worker_service_pb2.RegisterGraphRequest,
        "DeregisterGraph": worker_service_pb2.DeregisterGraphRequest,
        "CloseSession": worker_service_pb2.CloseWorkerSessionRequest,
        "Reset": worker_service_pb2.ResetWorkerRequest,
        "LiveTasks": worker_service_pb2.LiveTasksRequest,
    },
    "/tensorflow.MasterService/": {
        name: getattr(master_pb2, f"{name}Request")
        for name in (
            "CreateSession", "ExtendSession", "PartialRunSetup", "RunStep", "CloseSession",
            "ListDevices", "Reset", "MakeCallable", "RunCallable", "ReleaseCallable",
        )
    },
}  # fmt: skip
ALL = [(service, name) for service, methods in METHODS.items() for name in methods]
TASK = "/job:worker/replica:0/task:0"
OPEN_SESSION = 5


class FakeRuntime:
    """services.RuntimeService with a planner."""

    def open_planner(self, config: bytes) -> FakePlanner:
        return FakePlanner()

    open_worker = open_rendezvous = None


class Served:
    """A task with both services, and a session of each kind."""

    def __init__(self) -> None:
        self.task = FakeTask(TASK, Settings())
        here = self.task
        definition = ServerDef(
            job_name="worker", cluster=cluster_from_jobs({"worker": [here.address]})
        )
        runtime: Any = FakeRuntime()
        self.master = Master(
            definition, here.address, runtime, here.service, here.links, here.threads
        )
        here.server.add_generic_rpc_handlers((MasterService(self.master).handler(),))
        self.handle = self.master.create_session(b"", "").handle
        me = worker_service_pb2.TaskInstance(
            task=TASK, address=here.address, incarnation=here.endpoint.incarnation
        )
        here.service.open_session(
            worker_service_pb2.OpenWorkerSessionRequest(session=OPEN_SESSION, master=me), 30.0
        )
        self.me = me
        self.channel = grpc.insecure_channel(here.address)

    def call(self, path: str, wire: bytes) -> None:
        """Calls a method. Raises: AssertionError if it fails in a way that is ours to prevent."""
        try:
            self.channel.unary_unary(path)(wire, timeout=0.5)
        except grpc.RpcError as error:
            assert error.code() not in (
                grpc.StatusCode.INTERNAL,
                grpc.StatusCode.UNKNOWN,
            ), f"{path}: {error.details()}"

    def close(self) -> None:
        self.channel.close()
        self.master.close()
        self.task.close()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    made = Served()
    yield made
    made.close()


NUMBERS = {
    FieldDescriptor.CPPTYPE_INT32: st.sampled_from([0, 1, -1, 2**31 - 1, -(2**31)]),
    FieldDescriptor.CPPTYPE_INT64: st.sampled_from(
        [0, 1, -1, OPEN_SESSION, 2**24, 2**63 - 1, -(2**63)]
    ),
    FieldDescriptor.CPPTYPE_UINT32: st.sampled_from([0, 1, 2**32 - 1]),
    FieldDescriptor.CPPTYPE_UINT64: st.sampled_from([0, 1, 2**64 - 1]),
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
    FieldDescriptor.CPPTYPE_FLOAT: st.floats(width=32),
    FieldDescriptor.CPPTYPE_DOUBLE: st.floats(),
}
TEXTS = st.sampled_from(["", "x", "x:0", "^x", TASK, "handle", "127.0.0.1:1", "é/ü"])


def fill(draw: Any, message: Message, depth: int, served: Served) -> None:
    """Sets some of the fields of a message to anything."""
    for field in message.DESCRIPTOR.fields:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            continue
        if not draw(st.booleans()):
            continue
        repeated = hasattr(getattr(message, field.name), "extend")
        for _ in range(draw(st.integers(1, 2)) if repeated else 1):
            if field.message_type is not None:
                if depth:
                    inner = getattr(message, field.name)
                    inner = inner.add() if repeated else inner
                    inner.SetInParent()
                    fill(draw, inner, depth - 1, served)
                continue
            if field.enum_type is not None:
                value: Any = draw(st.sampled_from([v.number for v in field.enum_type.values]))
            elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
                if field.type == FieldDescriptor.TYPE_BYTES:
                    value = draw(st.binary(max_size=8))
                else:
                    value = draw(TEXTS)
                    value = served.handle if value == "handle" else value
            else:
                value = draw(NUMBERS[field.cpp_type])
            if repeated:
                getattr(message, field.name).append(value)
            else:
                setattr(message, field.name, value)


@pytest.mark.parametrize(("service", "name"), ALL)
@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_requests_with_any_contents(served: Served, service: str, name: str, data: Any) -> None:
    request = METHODS[service][name]()
    fill(data.draw, request, 3, served)
    # What waits for a link, waits until the deadline: that is another test's.
    if name == "OpenSession":
        request.master.CopyFrom(served.me)
    served.call(service + name, request.SerializeToString())


@pytest.mark.parametrize(("service", "name"), ALL)
@settings(deadline=None, max_examples=20, suppress_health_check=list(HealthCheck))
@given(wire=st.binary(max_size=40))
def test_bytes_that_are_no_request(served: Served, service: str, name: str, wire: bytes) -> None:
    served.call(service + name, wire)


def test_the_sessions_are_still_there(served: Served) -> None:
    request = worker_service_pb2.RegisterGraphRequest(session=99)
    with pytest.raises(grpc.RpcError) as caught:
        served.channel.unary_unary("/headrace.WorkerService/RegisterGraph")(
            request.SerializeToString(), timeout=20.0
        )
    assert caught.value.code() is grpc.StatusCode.ABORTED
