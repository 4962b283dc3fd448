"""The command `headrace-board`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from headrace.board.reading.places.log_places import Place, parse_logdir
from headrace.board.web.security import Access, is_loopback
from headrace.board.web.server import BoardServer, address, is_unspecified, listening_socket
from headrace.formats.errors import UnimplementedError
from headrace.formats.file_systems import is_remote

_THREADS = 24  # each browser occupies one with its event stream; the others serve requests
_DEFAULT_PORT = 6006
_PORTS_TRIED = 20


def main(arguments: list[str] | None = None) -> int:
    """Serves a logdir until the process is interrupted.

    Args:
      arguments: command-line arguments; by default those of the process.
    Returns: the exit status.
    """
    options = _parser().parse_args(arguments)
    from headrace.board.app import create_app, new_token
    from headrace.board.web.static_files import FrontendMissingError

    try:
        logdir = parse_logdir(options.logdir)
    except ValueError as error:
        return _fail(str(error), 2)
    for place in logdir.values() if isinstance(logdir, dict) else [logdir]:
        if is_remote(place):
            continue
        if os.path.isfile(place):
            return _fail(f"{place} is a file: give its folder", 2)
        if not os.path.isdir(place):
            _warn_of_missing_logdir(place)
    token = new_token() if options.token == "" else options.token
    if not is_loopback(options.host) and token is None and not options.insecure_public:
        return _fail(
            f"on {options.host} anyone on the network could read your logs:"
            " give --token, or --insecure-public to allow that",
            2,
        )
    if options.insecure_public:
        _print_error("warning: anyone who reaches this port can read the logs")
    ports = range(_DEFAULT_PORT, _DEFAULT_PORT + _PORTS_TRIED)
    if options.port is not None:
        ports = range(options.port, options.port + 1)
    try:
        listener = listening_socket(options.host, ports)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "not a valid host name"
        where = f"any port from {ports[0]} to {ports[-1]}" if len(ports) > 1 else f"port {ports[0]}"
        return _fail(f"cannot listen on {options.host} at {where}: {why}", 1)
    with listener:
        port = listener.getsockname()[1]
        try:
            app = create_app(
                logdir,
                title=options.title,
                state_file=options.state,
                follow_links=options.follow_links,
                access=_access(options, token, port),
            )
        except (FrontendMissingError, UnimplementedError) as error:
            return _fail(str(error), 1)
        url = address(options.host, port, token)
        print(f"headrace-board: {options.logdir} on {url}", flush=True)
        _serve_until_interrupted(BoardServer(app, listener, _THREADS))
    return 0


def _warn_of_missing_logdir(logdir: Place) -> None:
    _print_error(f"WARNING: the folder {os.path.abspath(logdir)} does not exist.")
    _print_error("Check --logdir. The board starts without runs and waits for the folder.")


def _access(options: argparse.Namespace, token: str | None, port: int) -> Access:
    """Returns who may send requests.

    Without --allow-host, a board that listens on all addresses accepts every host name.
    """
    every_address = is_unspecified(options.host)
    any_host = (options.insecure_public or every_address) and not options.allow_host
    hosts = [*options.allow_host]
    if not every_address and not is_loopback(options.host):
        own = f"[{options.host}]" if ":" in options.host else options.host
        hosts.append(f"{own}:{port}")
    return Access(frozenset(hosts), token=token, any_host=any_host)


def _serve_until_interrupted(server: BoardServer) -> None:
    try:
        _on_signals(_interrupt)
        server.start()
        server.wait()
    except KeyboardInterrupt:
        _on_signals(signal.SIG_DFL)  # a second signal ends the process at once
    finally:
        server.stop()


def _on_signals(handler: Any) -> None:
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        # A background job of a shell ignores SIGINT, and must keep ignoring it.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _print_error(sentence: str) -> None:
    print(f"headrace-board: {sentence}", file=sys.stderr)


def _fail(sentence: str, status: int) -> int:
    _print_error(sentence)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headrace-board", description="Graphs, summaries and step traces in the browser."
    )
    parser.add_argument(
        "--logdir",
        required=True,
        help="folder of event logs, or its URL (s3://bucket/runs); several: name:folder,name:URL",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument(
        "--port",
        type=_port,
        default=None,
        help=f"port to listen on; 0: any free port; default: first free port from {_DEFAULT_PORT}",
    )
    parser.add_argument("--title", default="", help="title of the browser tab")
    parser.add_argument("--state", type=Path, help="file for notes, saved views and colours")
    parser.add_argument(
        "--token",
        nargs="?",
        const="",
        help="secret that browsers must send; generated if no value is given",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME[:PORT]",
        help="further host name of the board, such as that of a proxy or a tunnel;"
        " without a port, any port is accepted",
    )
    parser.add_argument(
        "--insecure-public", action="store_true", help="let anyone read the logs without a token"
    )
    parser.add_argument(
        "--follow-links", action="store_true", help="follow symbolic links out of the logdir"
    )
    return parser


def _port(text: str) -> int:
    try:
        port = int(text)
    except ValueError:
        port = -1
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port: use a number from 0 to 65535")
    return port


if __name__ == "__main__":
    sys.exit(main())
