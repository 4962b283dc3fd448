"""Frames and calls between tasks: CPU, NICs with queues, latency, and counts of what travels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from simulation.costs import HEADER_BYTES, Costs
from simulation.events import Clock, Resource


class Kind(Enum):
    """What travels: the frames of native/frame.hpp, and gRPC calls, which have a reply."""

    RUN = "RUN"
    TENSOR = "TENSOR"
    DONE = "DONE"
    ABORT = "ABORT"
    PING = "PING"
    PONG = "PONG"
    CALL = "call"
    REPLY = "reply"


@dataclass(slots=True)
class Message:
    """A frame or half a call. `content` depends on the kind; size is without the header."""

    kind: Kind
    source: Port
    target: Port
    content: Any = None
    size: int = 0


class Port:
    """A task as the network sees it.

    Attributes:
      io: the thread that sends and receives (native/endpoint.hpp).
      alive: a task that is not neither sends nor receives.
      read_until: by peer, when what has come over its link will be read.
      heard: by peer, when the last message came.
      n_sent: by peer, the number of messages.
    """

    def __init__(self, name: str, clock: Clock, handle: Callable[[Message], None]) -> None:
        self.name = name
        self.alive = True
        self.handle = handle
        self.read_until: dict[Port, float] = {}
        self.heard: dict[Port, float] = {}
        self.n_sent: Counter[Port] = Counter()
        self.io, self.outgoing, self.incoming = (Resource(clock) for _ in range(3))


class Network:
    """Carries messages. Between two tasks it keeps their order.

    Attributes:
      sent, delivered, dropped: messages by kind; between tasks of different processes only.
      bytes: that left a task.
    """

    def __init__(self, clock: Clock, costs: Costs) -> None:
        self.clock, self.costs = clock, costs
        self.sent: Counter[Kind] = Counter()
        self.delivered: Counter[Kind] = Counter()
        self.dropped: Counter[Kind] = Counter()
        self.bytes = 0

    def send(self, message: Message) -> None:
        """Sends a message, unless its source is dead."""
        source, costs = message.source, self.costs
        if not source.alive:
            return
        if message.target is source:
            self.clock.at(source.io.use(costs.local_s), self._handle, message)
            return
        self.sent[message.kind] += 1
        source.n_sent[message.target] += 1
        self.bytes += HEADER_BYTES + message.size
        is_call = message.kind in (Kind.CALL, Kind.REPLY)
        cpu_s = costs.rpc_s / 4 if is_call else costs.send_s
        ready = source.io.use(cpu_s + message.size * costs.sent_byte_s)
        wire_s = self._wire_s(message)
        end = source.outgoing.use(wire_s, not_before=ready)
        # The receiver's NIC takes the first byte while the last ones still wait to be sent.
        self.clock.at(end - wire_s + costs.latency_s, self._arrive, message)

    def _arrive(self, message: Message) -> None:
        end = message.target.incoming.use(self._wire_s(message))
        self.clock.at(end, self._receive, message)

    def _receive(self, message: Message) -> None:
        target, costs = message.target, self.costs
        if not target.alive:
            self.dropped[message.kind] += 1
            return
        if message.kind in (Kind.CALL, Kind.REPLY):
            cpu_s = costs.rpc_s / 4
        elif self.clock.now < target.read_until.get(message.source, 0.0):
            cpu_s = costs.receive_more_s
        else:
            cpu_s = costs.receive_s
        end = target.io.use(cpu_s + message.size * costs.received_byte_s)
        target.read_until[message.source] = end
        target.heard[message.source] = self.clock.now
        self.clock.at(end, self._deliver, message)

    def _deliver(self, message: Message) -> None:
        counts = self.delivered if message.target.alive else self.dropped
        counts[message.kind] += 1
        self._handle(message)

    def _handle(self, message: Message) -> None:
        if message.target.alive:
            message.target.handle(message)

    def _wire_s(self, message: Message) -> float:
        return (HEADER_BYTES + message.size) / self.costs.nic_bytes_per_s
