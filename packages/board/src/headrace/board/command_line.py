"""The command `headrace-board`."""

from __future__ import annotations

import argparse
import ipaddress
import logging
import os
import socket
import sys
from pathlib import Path

_THREADS = 24  # 8 for events, 8 for who waits for /changes (panels/overview.py), 8 for all else
_DEFAULT_PORT = 6006
_PORTS_TRIED = 20


def main(arguments: list[str] | None = None) -> int:
    """Serves a logdir until it is interrupted. Returns: the exit status."""
    options = _parser().parse_args(arguments)
    from headrace.board.app import create_app, new_token
    from headrace.board.security import Access

    if not options.logdir.is_dir():
        print(f"headrace-board: {options.logdir} is not there yet; waiting for it", file=sys.stderr)
    token = options.token
    if token == "":
        token = new_token()
    if not _is_loopback(options.host) and token is None and not options.insecure_public:
        print(
            f"headrace-board: on {options.host} everybody on the network could read your logs:"
            " give --token (or --insecure-public to allow that)",
            file=sys.stderr,
        )
        return 2
    if options.insecure_public:
        print("headrace-board: warning: anybody who reaches this port can read the logs")
    try:
        listener = _listener(options.host, options.port)
    except OSError as error:
        print(
            f"headrace-board: cannot listen on {options.host}:{options.port}: {error.strerror}",
            file=sys.stderr,
        )
        return 1
    port = listener.getsockname()[1]
    hosts = frozenset([*options.allow_host, *([] if _any(options.host) else [options.host])])
    access = Access(hosts, token, any_host=options.insecure_public or _any(options.host))
    app = create_app(
        options.logdir,
        title=options.title,
        state_file=options.state,
        follow_links=options.follow_links,
        access=access,
    )
    shown = "localhost" if _any(options.host) or _is_loopback(options.host) else options.host
    query = f"?t={token}" if token else ""
    print(f"headrace-board: {options.logdir} on http://{shown}:{port}/{query}", flush=True)
    _serve(app, listener)
    return 0


def _serve(app: object, listener: socket.socket) -> None:
    import waitress

    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    server = waitress.create_server(
        app,
        sockets=[listener],
        threads=_THREADS,
        ident="",
        channel_timeout=600,
    )
    try:
        server.run()
    except KeyboardInterrupt:
        pass
    finally:
        app.board.stop()  # type: ignore[attr-defined]
        server.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headrace-board", description="Graphs, summaries and step traces in the browser."
    )
    parser.add_argument("--logdir", type=Path, required=True, help="folder of event logs")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument(
        "--port",
        type=int,
        default=None,
        help=f"port to listen on; 0: any; by default the first free one from {_DEFAULT_PORT}",
    )
    parser.add_argument("--title", default="", help="stands in the browser's tab")
    parser.add_argument("--state", type=Path, help="file for notes, saved views and colours")
    parser.add_argument(
        "--token", nargs="?", const="", help="what a browser must show; made up if empty"
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name by which the board is addressed",
    )
    parser.add_argument(
        "--insecure-public", action="store_true", help="let everybody read the logs"
    )
    parser.add_argument(
        "--follow-links", action="store_true", help="follow links that lead out of the logdir"
    )
    return parser


def _listener(host: str, port: int | None) -> socket.socket:
    ports = range(_DEFAULT_PORT, _DEFAULT_PORT + _PORTS_TRIED) if port is None else [port]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for last, candidate in enumerate(ports, 1):
        listener = socket.socket(family, socket.SOCK_STREAM)
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, candidate))
            listener.listen(1024)  # who comes before the server is ready waits
        except OSError:
            listener.close()
            if last == len(ports):
                raise
            continue
        return listener
    raise AssertionError("unreachable: the last candidate raises")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


if __name__ == "__main__":
    sys.exit(main())
