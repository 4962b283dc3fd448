"""Measures in a separate process how much memory reading a file takes."""

from __future__ import annotations

import json
import subprocess
import sys

SCRIPT = """
import json, resource, sys
import headrace.graph as hr
from headrace.formats.remote_file import write_bytes
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
def count(name):
    get_next = hr.data.TFRecordDataset(name).make_one_shot_iterator().get_next()
    found = 0
    with hr.Session() as session:
        try:
            while True:
                session.run(get_next)
                found += 1
        except hr.errors.OutOfRangeError:
            return found
with hr.Graph().as_default():
    write_bytes(sys.argv[1] + ".small", b"")
    count(sys.argv[1] + ".small")  # imports
before = peak()
found = count(sys.argv[1])
print(json.dumps([peak() - before, found]))
"""


def growth_of_reading(url: str) -> tuple[int, int]:
    """Returns by how many bytes the peak memory grows, and the number of records."""
    printed = subprocess.check_output([sys.executable, "-c", SCRIPT, url], text=True)
    grown, count = json.loads(printed)
    return grown, count
