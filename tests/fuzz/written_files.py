"""The files that the cases of a child read: lines, records, a table."""

from __future__ import annotations

import zlib

from headrace.formats.record_file import RecordWriter

# Names for cases; some are no file.
FILES = (b"lines.txt", b"records", b"broken", b"table.csv", b"packed.gz", b"absent", b"", b"*")


def write_files() -> None:
    """Writes the files into the current folder."""
    with open("lines.txt", "wb") as file:
        file.write(b"one\n\ntwo\r\n" + b"x" * 300 + b"\nlast")
    with open("table.csv", "wb") as file:
        file.write(b'a,b,c\n1,2.5,three\n"4",,"quo""ted"\n7,8\n9,x,10\n')
    with RecordWriter("records") as writer:
        for record in (b"", b"one", b"y" * 5000):
            writer.write(record)
    with open("records", "rb") as file:
        data = bytearray(file.read())
    data[len(data) // 2] ^= 1
    with open("broken", "wb") as file:
        file.write(data[:-3])
    with open("packed.gz", "wb") as file:
        squeeze = zlib.compressobj(wbits=31)
        file.write(squeeze.compress(b"packed\nlines\n" * 20) + squeeze.flush())
