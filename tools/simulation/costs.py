"""What the simulation takes work to cost, and where each number comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    """Seconds, and bytes per second.

    The first group is what `simulate_cluster.py measure` found on the machine of docs/scale.md,
    rounded: a RUN, value and DONE of a task takes its master 11 us. The second group is assumed;
    the paper does not name the network of its cluster.
    """

    client_s: float = 12e-6  # Session.run, without the frames
    send_s: float = 4e-6  # a frame
    receive_s: float = 6e-6  # a frame that comes alone
    receive_more_s: float = 1.5e-6  # a frame behind another one of its link, read with it
    run_s: float = 5e-6  # to start and end a partition
    node_s: float = 0.1e-6  # of a partition; 0.02 us behind another one, more behind a value
    sent_byte_s: float = 0.16e-9
    received_byte_s: float = 0.55e-9
    rpc_s: float = 300e-6  # a gRPC call, both sides: grpcio's null round trip

    local_s: float = 1e-6  # a frame within a process
    touched_byte_s: float = 0.1e-9  # of a tensor that a kernel writes
    latency_s: float = 20e-6  # from NIC to NIC
    nic_bytes_per_s: float = 1.25e9  # 10 Gb/s in each direction
    cores: int = 8
    heartbeat_s: float = 1.0  # HEADRACE_HEARTBEAT_S
    dead_after_s: float = 5.0  # HEADRACE_DEAD_AFTER_S


HEADER_BYTES = 64  # of a frame (native/frame.hpp)
