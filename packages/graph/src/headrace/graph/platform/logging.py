"""What a program says about itself while it runs: hr.logging, on Python's logger "headrace"."""

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
    """Python's logger of this name; it writes to standard error unless the program has set up
    logging of its own."""
    global _logger
    if _logger is None:
        _logger = _logging.getLogger("headrace")
        if not _logging.getLogger().handlers and not _logger.handlers:
            handler = _logging.StreamHandler(sys.stderr)
            handler.setFormatter(_logging.Formatter(_logging.BASIC_FORMAT, None))
            _logger.addHandler(handler)
    return _logger


def log(level: int, msg: object, *args: Any, **kwargs: Any) -> None:
    """Says msg % args at a level."""
    get_logger().log(level, msg, *args, **kwargs)


def debug(msg: object, *args: Any, **kwargs: Any) -> None:
    """Says something for who looks for an error."""
    get_logger().debug(msg, *args, **kwargs)


def info(msg: object, *args: Any, **kwargs: Any) -> None:
    """Says how things go."""
    get_logger().info(msg, *args, **kwargs)


def warning(msg: object, *args: Any, **kwargs: Any) -> None:
    """Says what may be wrong."""
    get_logger().warning(msg, *args, **kwargs)


def warn(msg: object, *args: Any, **kwargs: Any) -> None:
    """The older spelling of warning."""
    get_logger().warning(msg, *args, **kwargs)


def error(msg: object, *args: Any, **kwargs: Any) -> None:
    """Says what is wrong."""
    get_logger().error(msg, *args, **kwargs)


def fatal(msg: object, *args: Any, **kwargs: Any) -> None:
    """Says why the program cannot go on (and lets it go on)."""
    get_logger().critical(msg, *args, **kwargs)


def vlog(level: int, msg: object, *args: Any, **kwargs: Any) -> None:
    """The same as log."""
    get_logger().log(level, msg, *args, **kwargs)


def TaskLevelStatusMessage(msg: object) -> None:  # noqa: N802 - TF's name
    """Says a state of the program as an error."""
    error(msg)


def _call_count(token: Any) -> int:
    """How often this has been asked for a token before."""
    _counts[token] = _counts.get(token, -1) + 1
    return _counts[token]


def _caller() -> tuple[str, int]:
    """The user's line, which counts by itself."""
    frame = sys._getframe(2)
    return frame.f_code.co_filename, frame.f_lineno


def log_every_n(level: int, msg: object, n: int, *args: Any) -> None:
    """Says something at the first of each n calls from this line."""
    log_if(level, msg, not _call_count(_caller()) % n, *args)


def log_first_n(level: int, msg: object, n: int, *args: Any) -> None:
    """Says something at the first n calls from this line."""
    log_if(level, msg, _call_count(_caller()) < n, *args)


def log_if(level: int, msg: object, condition: object, *args: Any) -> None:
    """Says something where a condition holds."""
    if condition:
        log(level, msg, *args)


def flush() -> None:
    """Lets what was said reach where it goes."""
    for handler in get_logger().handlers:
        handler.flush()


def get_verbosity() -> int:
    """The least level that is said."""
    return get_logger().getEffectiveLevel()


def set_verbosity(v: int) -> None:
    """Sets the least level that is said: DEBUG, INFO, WARN, ERROR or FATAL."""
    get_logger().setLevel(v)
