"""Writes every kind that Headrace's own writer can: python write_every_summary.py FOLDER.

The board's tests of peers (packages/board/tests/browser/peers) open the log.
"""

from __future__ import annotations

import os
import sys

import headrace.graph as hr

STEPS = range(0, 50, 5)


def main(folder: str) -> None:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [], "x")
        with hr.name_scope("layer"):
            y = hr.matmul(hr.fill([8, 8], x), hr.ones([8, 8]), name="product")
        summaries = [
            hr.summary.scalar("train/loss", 2 / (x + 1)),
            hr.summary.histogram("weights/normal", y + hr.range(8.0)),
            hr.summary.image("image/batch", hr.fill([2, 24, 32, 3], x / 50), max_outputs=2),
            hr.summary.audio("sound/tone", hr.fill([1, 4410, 1], x / 100), 44100),
            hr.summary.text("text/note", hr.string_join(["**step** ", hr.as_string(x)])),
            hr.summary.tensor_summary("tensor/matrix", hr.reshape(hr.range(6.0), [2, 3]) + x),
        ]
        run = os.path.join(folder, "main")
        with hr.Session(graph=graph) as session, hr.summary.FileWriter(run, graph) as writer:
            writer.add_session_log(hr.SessionLog(status=hr.SessionLog.START), 0)
            for step in STEPS:
                for one in session.run(summaries, {x: float(step)}):
                    writer.add_summary(one, step)
                value = hr.Summary.Value(tag="by hand", simple_value=step / 2)
                writer.add_summary(hr.Summary(value=[value]), step)
            for step in (0, 20):
                metadata = hr.RunMetadata()
                options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
                session.run(y, {x: 1.0}, options, metadata)
                writer.add_run_metadata(metadata, f"step {step}", step)
    write_restart(os.path.join(folder, "restarted"))


def write_restart(folder: str) -> None:
    """Twenty steps, and a second writer that begins again at step 12."""
    for begin, end, base in ((0, 20, 100.0), (12, 30, 200.0)):
        with hr.summary.FileWriter(folder, filename_suffix=f".{begin}") as writer:
            writer.add_session_log(hr.SessionLog(status=hr.SessionLog.START), begin)
            for step in range(begin, end):
                value = hr.Summary.Value(tag="train/loss", simple_value=base + step)
                writer.add_summary(hr.Summary(value=[value]), step)


if __name__ == "__main__":
    main(sys.argv[1])
