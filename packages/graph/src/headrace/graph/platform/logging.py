"""hr.logging: logging with Python's logger "headrace"."""

from __future__ import annotations

import logging as _logging
import sys
from typing import Any

DEBUG = _logging.DEBUG
INFO = _logging.INFO
WARN = _logging.WARN
ERROR = _logging.ERROR
FATAL = _logging.FATAL

_counts: dict[Any, int] = {}
_logger: _logging.Logger | None = None


def get_logger() -> _logging.Logger:
    """Returns Python's logger "headrace".

    It writes to standard error unless the program has configured logging."""
    global _logger
    if _logger is None:
        _logger = _logging.getLogger("headrace")
        if not _logging.getLogger().handlers and not _logger.handlers:
            handler = _logging.StreamHandler(sys.stderr)
            handler.setFormatter(_logging.Formatter(_logging.BASIC_FORMAT, None))
            _logger.addHandler(handler)
    return _logger


def log(level: int, msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs msg % args at a level."""
    get_logger().log(level, msg, *args, **kwargs)


def debug(msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs msg % args at level DEBUG."""
    get_logger().debug(msg, *args, **kwargs)


def info(msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs msg % args at level INFO."""
    get_logger().info(msg, *args, **kwargs)


def warning(msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs msg % args at level WARN."""
    get_logger().warning(msg, *args, **kwargs)


def warn(msg: object, *args: Any, **kwargs: Any) -> None:
    """Same as warning, its old name."""
    get_logger().warning(msg, *args, **kwargs)


def error(msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs msg % args at level ERROR."""
    get_logger().error(msg, *args, **kwargs)


def fatal(msg: object, *args: Any, **kwargs: Any) -> None:
    """Logs msg % args at level FATAL; the program continues."""
    get_logger().critical(msg, *args, **kwargs)


def vlog(level: int, msg: object, *args: Any, **kwargs: Any) -> None:
    """Same as log."""
    get_logger().log(level, msg, *args, **kwargs)


def TaskLevelStatusMessage(msg: object) -> None:  # noqa: N802 - TF's name
    """Logs a status message at level ERROR."""
    error(msg)


def _call_count(token: Any) -> int:
    """Returns the number of earlier calls with a token."""
    _counts[token] = _counts.get(token, -1) + 1
    return _counts[token]


def _caller() -> tuple[str, int]:
    """Returns the user's line, the key of the call count."""
    frame = sys._getframe(2)
    return frame.f_code.co_filename, frame.f_lineno


def log_every_n(level: int, msg: object, n: int, *args: Any) -> None:
    """Logs the first of each n calls from this line."""
    log_if(level, msg, not _call_count(_caller()) % n, *args)


def log_first_n(level: int, msg: object, n: int, *args: Any) -> None:
    """Logs the first n calls from this line."""
    log_if(level, msg, _call_count(_caller()) < n, *args)


def log_if(level: int, msg: object, condition: object, *args: Any) -> None:
    """Logs msg % args if a condition is true."""
    if condition:
        log(level, msg, *args)


def flush() -> None:
    """Flushes the handlers."""
    for handler in get_logger().handlers:
        handler.flush()


def get_verbosity() -> int:
    """Returns the lowest level that is logged."""
    return get_logger().getEffectiveLevel()


def set_verbosity(v: int) -> None:
    """Sets the lowest level to log: DEBUG, INFO, WARN, ERROR or FATAL."""
    get_logger().setLevel(v)
