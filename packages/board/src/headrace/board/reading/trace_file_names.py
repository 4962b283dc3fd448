"""Names of trace files that profilers of other programs write."""

from __future__ import annotations

import re

_XPLANE = ".xplane.pb"
# trace_step_3.json, host.trace.json.gz, worker.1700.pt.trace.json: Chrome's format
_CHROME = re.compile(r"trace[^/]*\.json(\.gz)?$", re.I)
# TensorBoard's profile plugin: RUN/plugins/profile/SESSION/HOST.xplane.pb
_PROFILE = re.compile(r"^(?:(.*)/)?plugins/profile/[^/]+$")


def is_trace_file(name: str) -> bool:
    """Returns whether a file name is that of a trace in Chrome's format or XLA's."""
    return name.endswith(_XPLANE) or _CHROME.search(name) is not None


def is_xplane(name: str) -> bool:
    """Returns whether a trace file is in XLA's format, XSpace."""
    return name.endswith(_XPLANE)


def run_of_trace(folder: str) -> str:
    """Returns the folder of the run that a folder of trace files belongs to."""
    found = _PROFILE.match(folder)
    return folder if found is None else found[1] or ""


def title_of_trace(run: str, name: str) -> str:
    """Returns a short title of a trace file within its run.

    Args:
      run: the folder of the run, "" for the logdir.
      name: of the file, relative to the logdir.
    """
    below = name[len(run) + 1 :] if run else name
    for ending in (_XPLANE, ".pt.trace.json.gz", ".pt.trace.json", ".trace.json.gz", ".trace.json"):
        if below.endswith(ending):
            kind = " (XLA)" if ending == _XPLANE else ""
            below = below[: -len(ending)] + kind
            break
    return below.removeprefix("plugins/profile/")
