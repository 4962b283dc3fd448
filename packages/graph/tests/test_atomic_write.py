"""write_atomically with concurrent writers."""

from __future__ import annotations

import threading

from headrace.graph.platform.atomic_write import write_atomically


def test_concurrent_writes_leave_the_contents_of_one_thread(tmp_path):
    path = tmp_path / "f"
    contents = [bytes([n]) * 100_000 for n in range(8)]
    failed = []

    def write(data):
        try:
            for _ in range(20):
                write_atomically(path, data)
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(data,)) for data in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and path.read_bytes() in contents
    assert [p.name for p in tmp_path.iterdir()] == ["f"]
