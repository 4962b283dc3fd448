"""A program of many segments takes memory and time in proportion to its nodes.

Modules: plan/prepared_nodes, session/moving_step, passes/placement_report.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import resource
import sys
import headrace.graph as hr

def resident():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # of kilobytes

x = hr.placeholder(hr.float32, [8])
values = [x]
for i in range(int(sys.argv[1])):
    with hr.device(f"/cpu:{i % 2}"):   # each node waits for the other device
        values.append(values[-1] + values[i // 2])
config = hr.ConfigProto(device_count={"CPU": 2}, intra_op_parallelism_threads=1)
options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
with hr.Session(config=config) as session:
    before = resident()
    for _ in range(3):
        session.run(values[-1], {x: [0.0] * 8})
    print(resident() - before)
    before = resident()
    for _ in range(5):
        session.run(values[-1], {x: [0.0] * 8}, options, hr.RunMetadata())
    before = resident()
    for _ in range(5):
        session.run(values[-1], {x: [0.0] * 8}, options, hr.RunMetadata())
    print(resident() - before)
"""


def test_the_memory_of_a_chain_over_two_devices_grows_with_its_length(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), "3000"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    runs, traced = (float(line) for line in done.stdout.split())
    print(f"runs: {runs:.0f} MB, more traced runs: {traced:.0f} MB")
    # Each segment kept a list of all nodes of the program: 120 bytes times the square of 3000.
    assert runs < 200
    assert traced < 20
