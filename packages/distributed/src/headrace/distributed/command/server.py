"""The command headrace-server: one task of a cluster, until it is stopped."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence

from headrace.distributed.cluster.cluster_text import cluster_from_text
from headrace.formats import errors
from headrace.formats.proto.server_pb2 import ServerDef
from headrace.formats.services import SERVERS, find_service

_TRANSPORTS = {
    "auto": "the fastest that both ends have",
    "shm": "a UNIX socket and shared memory, on one host",
    "uds": "a UNIX socket, on one host",
    "tcp": "TCP",
    "stream": "gRPC streams",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns: the status of the process."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(
        level=logging.INFO if options.verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    _set_environment(options)
    try:
        server_def = ServerDef(
            cluster=cluster_from_text(options.cluster),
            job_name=options.job,
            task_index=options.task,
            protocol="grpc" if options.transport == "auto" else f"grpc+{options.transport}",
        )
        server = find_service(SERVERS, "grpc")(server_def.SerializeToString())
        server.start()
    except errors.OpError as error:
        print(f"headrace-server: {error}", file=sys.stderr)
        return 1
    print(f"headrace-server: /job:{options.job}/task:{options.task} serves {server.target}")
    sys.stdout.flush()
    try:
        server.join()
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headrace-server",
        description="Runs one task of a cluster until it gets SIGINT or SIGTERM. Sessions connect "
        "to grpc://HOST:PORT of any task.",
    )
    parser.add_argument("--job", required=True, help="name of the job, such as ps or worker")
    parser.add_argument("--task", type=int, default=0, help="index of the task in the job")
    parser.add_argument(
        "--cluster",
        required=True,
        help="ps=host:port|host:port,worker=host:port or a JSON object of lists; port 0 of the own "
        "task: a free one",
    )
    described = "; ".join(f"{name}: {what}" for name, what in _TRANSPORTS.items())
    parser.add_argument(
        "--transport",
        choices=_TRANSPORTS,
        default="auto",
        help=f"how tensors travel. {described} (HEADRACE_TRANSPORT)",
    )
    parser.add_argument(
        "--bind",
        metavar="HOST",
        help="interface to listen on, instead of the host of the task's address (HEADRACE_BIND)",
    )
    parser.add_argument(
        "--token-file",
        metavar="PATH",
        help="file with the secret that all processes of the cluster share; needed beyond the "
        "loopback interface unless TLS is used (HEADRACE_CLUSTER_TOKEN_FILE)",
    )
    for name, what in (
        ("cert", "certificate of this task"),
        ("key", "its private key"),
        ("ca", "certificates of the authorities whose certificates are accepted"),
    ):
        parser.add_argument(
            f"--tls-{name}",
            metavar="PATH",
            help=f"PEM file: {what}, for mutual TLS (HEADRACE_TLS_{name.upper()})",
        )
    parser.add_argument(
        "--tls-name",
        metavar="NAME",
        help="name that the certificates of all tasks carry, if not their host (HEADRACE_TLS_NAME)",
    )
    parser.add_argument("--verbose", action="store_true", help="log sessions and links")
    return parser


def _set_environment(options: argparse.Namespace) -> None:
    """Sets the variables from which servers, and what they start, take their settings."""
    given = {
        "HEADRACE_BIND": options.bind,
        "HEADRACE_CLUSTER_TOKEN_FILE": options.token_file,
        "HEADRACE_TLS_CERT": options.tls_cert,
        "HEADRACE_TLS_KEY": options.tls_key,
        "HEADRACE_TLS_CA": options.tls_ca,
        "HEADRACE_TLS_NAME": options.tls_name,
        "HEADRACE_TRANSPORT": "" if options.transport == "auto" else f"grpc+{options.transport}",
    }
    os.environ.update({name: value for name, value in given.items() if value})


if __name__ == "__main__":
    sys.exit(main())
