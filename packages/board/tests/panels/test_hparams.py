from __future__ import annotations

from pathlib import Path

from fixtures.panel_client import PanelClient, metadata, write_values

from headrace.formats.proto.plugin_hparams_pb2 import (
    DATA_TYPE_FLOAT64,
    Experiment,
    HParamInfo,
    HParamsPluginData,
    Interval,
    MetricInfo,
    MetricName,
    SessionEndInfo,
    SessionStartInfo,
)
from headrace.formats.proto.summary_pb2 import Summary


def summary(name: str, **data: object) -> tuple[int, Summary.Value]:
    content = HParamsPluginData(**data).SerializeToString()  # type: ignore[arg-type]
    return 0, Summary.Value(tag=f"_hparams_/{name}", metadata=metadata("hparams", content))


def start(group: str = "", **values: float | str | bool) -> tuple[int, Summary.Value]:
    info = SessionStartInfo(group_name=group, start_time_secs=5.0)
    for name, value in values.items():
        if isinstance(value, bool):
            info.hparams[name].bool_value = value
        elif isinstance(value, str):
            info.hparams[name].string_value = value
        else:
            info.hparams[name].number_value = value
    return summary("session_start_info", session_start_info=info)


def end(status: int) -> tuple[int, Summary.Value]:
    info = SessionEndInfo(status=status, end_time_secs=9.0)  # type: ignore[arg-type]
    return summary("session_end_info", session_end_info=info)


def scalar(tag: str, step: int, number: float) -> tuple[int, Summary.Value]:
    return step, Summary.Value(tag=tag, simple_value=number)


def test_an_experiment_names_what_sessions_have(tmp_path: Path) -> None:
    experiment = Experiment(
        hparam_infos=[
            HParamInfo(
                name="lr",
                display_name="Rate",
                type=DATA_TYPE_FLOAT64,
                domain_interval=Interval(min_value=0, max_value=1),
            ),
            HParamInfo(name="never"),
        ],
        metric_infos=[
            MetricInfo(name=MetricName(tag="loss"), display_name="Loss"),
            MetricInfo(name=MetricName(group="eval", tag="loss"), dataset_type=2),
            MetricInfo(name=MetricName(tag="unwritten")),
        ],
    )
    write_values(tmp_path, [summary("experiment", experiment=experiment)])
    write_values(tmp_path / "s0", [start("g", lr=0.5, opt="adam", bn=True), scalar("loss", 0, 3),
                                   scalar("loss", 1, 1), scalar("loss", 2, 2), end(1)])  # fmt: skip
    write_values(tmp_path / "s0/eval", [scalar("loss", 0, 7)])
    write_values(tmp_path / "s1", [start(lr=0.25)])
    client = PanelClient(tmp_path)
    reply = client.get("/hparams")
    loss = str(client.tag("loss"))
    assert reply["params"] == [
        {"name": "lr", "kind": "number", "display": "Rate", "description": "",
         "interval": [0, 1]},
        {"name": "never", "kind": "string", "display": "", "description": ""},
        {"name": "bn", "kind": "bool", "display": "", "description": ""},
        {"name": "opt", "kind": "string", "display": "", "description": ""},
    ]  # fmt: skip
    assert [(m["key"], m["name"], m["group"], m["display"]) for m in reply["metrics"]] == [
        (loss, "loss", "", "Loss"),
        (f"{loss}/eval", "loss", "eval", ""),
        ("", "unwritten", "", ""),
    ]
    assert reply["metrics"][1]["dataset"] == "validation" and reply["metrics"][2]["tag"] is None
    first, second = reply["sessions"]
    assert first["values"] == {"lr": 0.5, "opt": "adam", "bn": True}
    assert (first["status"], first["start"], first["end"], first["group"]) == (
        "success", 5, 9, "g")  # fmt: skip
    assert first["metrics"] == {
        loss: {"last": 2, "min": 1, "max": 3},
        f"{loss}/eval": {"last": 7, "min": 7, "max": 7},
    }
    assert (second["status"], second["end"], second["metrics"]) == ("unknown", None, {})


def test_sessions_without_an_experiment_are_judged_by_all_their_scalars(tmp_path: Path) -> None:
    write_values(tmp_path / "a/b", [start(lr=1.0), scalar("loss", 0, 1), end(3)])
    write_values(tmp_path / "a/b/eval", [scalar("accuracy", 0, 0.5)])
    write_values(tmp_path / "a/other", [scalar("not/mine", 0, 0.5)])
    reply = PanelClient(tmp_path).get("/hparams")
    assert [(m["name"], m["group"]) for m in reply["metrics"]] == [
        ("loss", ""),
        ("accuracy", "eval"),
    ]
    (session,) = reply["sessions"]
    assert session["status"] == "running"
    assert [f["last"] for f in session["metrics"].values()] == [1, 0.5]


def test_bytes_that_are_not_a_message_are_counted(tmp_path: Path) -> None:
    bad = Summary.Value(
        tag="_hparams_/session_start_info", metadata=metadata("hparams", b"\xff\xff")
    )
    write_values(tmp_path / "bad", [(0, bad)])
    none = Summary.Value(tag="_hparams_/experiment", metadata=metadata("hparams"))
    write_values(tmp_path / "empty", [(0, none)])
    write_values(tmp_path / "end only", [end(1)])
    reply = PanelClient(tmp_path).get("/hparams")
    assert (reply["sessions"], reply["params"], reply["unreadable"]) == ([], [], 2)
