"""Training sessions with their hyperparameters and metrics, from the messages of the plugin.

A run is a session if it has the tag `_hparams_/session_start_info`. A metric (group, tag) of a
session is the scalar tag of the run `<session>/<group>`. What an experiment message leaves out is
taken from the sessions; without an experiment message, all scalars of the session's run and of the
runs below it are metrics.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError
from google.protobuf.struct_pb2 import Value

from headrace.board.store.scalar_series import ScalarSeries
from headrace.formats.proto.plugin_hparams_pb2 import (
    Experiment,
    HParamInfo,
    HParamsPluginData,
    SessionEndInfo,
    SessionStartInfo,
    Status,
)

if TYPE_CHECKING:
    from headrace.board.store.run import Run
    from headrace.board.store.run_index import RunIndex

_KIND_OF_TYPE = {1: "string", 2: "bool", 3: "number"}
_MAX_PARAMS = 2000
_MAX_METRICS = 500
_MAX_RUNS_BELOW = 50


@dataclass
class _Session:
    run: Run
    start: SessionStartInfo
    end: SessionEndInfo | None = None


@dataclass
class _Found:
    experiments: list[Experiment] = field(default_factory=list)
    sessions: dict[int, _Session] = field(default_factory=dict)
    unreadable: int = 0


def hparams_table(index: RunIndex) -> dict[str, Any]:
    """Returns the reply of /hparams: {params, metrics, sessions, unreadable}."""
    found = _read(index)
    sessions = list(found.sessions.values())
    runs = {run.name: run for run in index.runs()}
    metrics = _metrics(index, found, runs)
    return {
        "params": _params(found),
        "metrics": metrics,
        "sessions": [_session_document(index, session, metrics, runs) for session in sessions],
        "unreadable": found.unreadable,
    }


def _read(index: RunIndex) -> _Found:
    found = _Found()
    ends: dict[int, SessionEndInfo] = {}
    for series in index.series_of_kind("hparams"):
        try:
            message = HParamsPluginData.FromString(series.plugin_content)
        except DecodeError:
            found.unreadable += 1
            continue
        what = message.WhichOneof("data")
        if what == "experiment":
            found.experiments.append(message.experiment)
        elif what == "session_start_info":
            found.sessions[series.run.id] = _Session(series.run, message.session_start_info)
        elif what == "session_end_info":
            ends[series.run.id] = message.session_end_info
        else:
            found.unreadable += 1
    for run, end in ends.items():
        if run in found.sessions:
            found.sessions[run].end = end
    return found


def _params(found: _Found) -> list[dict[str, Any]]:
    documents: dict[str, dict[str, Any]] = {}
    for experiment in found.experiments:
        for info in experiment.hparam_infos:
            if info.name not in documents and len(documents) < _MAX_PARAMS:
                documents[info.name] = _param_document(info)
    for session in found.sessions.values():
        for name in sorted(session.start.hparams):
            if name not in documents and len(documents) < _MAX_PARAMS:
                documents[name] = _param_document(HParamInfo(name=name))
    for document in documents.values():
        if not document["kind"]:
            document["kind"] = _kind_of_values(found, document["name"])
    return list(documents.values())


def _param_document(info: HParamInfo) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": info.name,
        "kind": _KIND_OF_TYPE.get(info.type, ""),
        "display": info.display_name,
        "description": info.description,
    }
    domain = info.WhichOneof("domain")
    if domain == "domain_discrete":
        document["values"] = [plain_value(v) for v in info.domain_discrete.values]
    elif domain == "domain_interval":
        interval = info.domain_interval
        document["interval"] = [interval.min_value, interval.max_value]
    return document


def _kind_of_values(found: _Found, name: str) -> str:
    kinds = set()
    for session in found.sessions.values():
        if name in session.start.hparams:
            kinds.add(session.start.hparams[name].WhichOneof("kind"))
    if kinds <= {"number_value"} and kinds:
        return "number"
    return "bool" if kinds == {"bool_value"} else "string"


def plain_value(value: Value) -> float | str | bool | None:
    """Returns the value of a struct Value; lists and objects as text."""
    kind = value.WhichOneof("kind")
    if kind in ("number_value", "string_value", "bool_value"):
        plain: float | str | bool = getattr(value, kind)
        return plain
    return None if kind in (None, "null_value") else str(value)[:1000]


def _metrics(index: RunIndex, found: _Found, runs: dict[str, Run]) -> list[dict[str, Any]]:
    """Returns the metrics that experiments name, or all scalars of sessions if none do.

    Metrics of one tag in different groups have different keys; a group is a folder below the run
    of the session.
    """
    named: dict[tuple[str, str], dict[str, Any]] = {}

    def add(group: str, tag: str, display: str = "", description: str = "", data: str = "") -> None:
        if (group, tag) not in named and len(named) < _MAX_METRICS:
            known = index.find_tag(tag, "scalar")
            key = "" if known is None else str(known.id)
            named[group, tag] = {
                "key": f"{key}/{group}" if group else key,
                "tag": None if known is None else known.id,
                "name": tag,
                "group": group,
                "display": display,
                "description": description,
                "dataset": data,
            }

    for experiment in found.experiments:
        for info in experiment.metric_infos:
            data = {1: "training", 2: "validation"}.get(int(info.dataset_type), "")
            add(info.name.group, info.name.tag, info.display_name, info.description, data)
    if not named:
        for session in found.sessions.values():
            for group, run in _runs_of(session.run, runs):
                for series in tuple(run.series.values()):
                    if isinstance(series, ScalarSeries):
                        add(group, series.tag.name)
    return list(named.values())


def _runs_of(session: Run, runs: dict[str, Run]) -> list[tuple[str, Run]]:
    prefix = "" if session.name == "." else session.name + "/"
    below = [
        (name[len(prefix) :], run)
        for name, run in runs.items()
        if prefix and name.startswith(prefix)
    ]
    return [("", session), *below[:_MAX_RUNS_BELOW]]


def _session_document(
    index: RunIndex, session: _Session, metrics: list[dict[str, Any]], runs: dict[str, Run]
) -> dict[str, Any]:
    start, end = session.start, session.end
    status = Status.STATUS_UNKNOWN if end is None else end.status
    figures = {}
    for metric in metrics:
        if metric["tag"] is None:
            continue
        name = posixpath.normpath(posixpath.join(session.run.name, metric["group"]))
        run = runs.get(name)
        series = None if run is None else run.series.get(metric["tag"])
        if isinstance(series, ScalarSeries):
            statistics = series.statistics()
            figures[metric["key"]] = {
                "last": statistics.last,
                "min": statistics.min,
                "max": statistics.max,
            }
    return {
        "run": session.run.id,
        "group": start.group_name,
        "values": {name: plain_value(start.hparams[name]) for name in sorted(start.hparams)},
        "status": {1: "success", 2: "failure", 3: "running"}.get(int(status), "unknown"),
        "start": start.start_time_secs or None,
        "end": None if end is None else end.end_time_secs or None,
        "model_uri": start.model_uri,
        "monitor_url": start.monitor_url,
        "metrics": figures,
    }
