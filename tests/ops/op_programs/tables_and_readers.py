"""Lookup tables of each kind, and readers, by reference and by resource."""

from __future__ import annotations

from pathlib import Path

import headrace.graph as hr
from op_programs import Program, Runs

r = hr.raw_ops
S, I = hr.string, hr.int64  # noqa: E741
LINES = str(Path(__file__).with_name("lines.txt"))


def _hash_table(v2: str) -> Runs:
    table = getattr(r, "HashTable" + v2)(key_dtype=S, value_dtype=I, shared_name="t" + v2)
    find = getattr(r, "LookupTableFind" + v2)(
        table_handle=table, keys=["a", "z"], default_value=hr.constant(-1, I))  # fmt: skip
    start = getattr(r, "InitializeTable" + v2)(
        table_handle=table, keys=["a", "b"], values=hr.constant([1, 2], I))  # fmt: skip
    size = getattr(r, "LookupTableSize" + v2)(table_handle=table)
    again = getattr(r, "InitializeTable" + v2)(
        table_handle=table, keys=["a"], values=hr.constant([5], I))  # fmt: skip
    put = getattr(r, "LookupTableInsert" + v2)(
        table_handle=table, keys=["c"], values=hr.constant([5], I))  # fmt: skip
    return [[find], [start], [find], [size], [again], [put], [size]]


def _from_file(v2: str) -> Runs:
    table = getattr(r, "HashTable" + v2)(key_dtype=S, value_dtype=I, shared_name="f" + v2)
    start = getattr(r, "InitializeTableFromTextFile" + v2)(
        table_handle=table, filename=LINES, key_index=-2, value_index=-1)  # fmt: skip
    find = getattr(r, "LookupTableFind" + v2)(
        table_handle=table, keys=["three", "z"], default_value=hr.constant(-1, I))  # fmt: skip
    out = getattr(r, "LookupTableExport" + v2)(table_handle=table, Tkeys=S, Tvalues=I)
    return [[start], [find], [hr.reduce_sum(out.values), hr.shape(out.keys)]]


def _mutable(kind: str, v2: str) -> Runs:
    named = {"shared_name": kind + v2, "value_dtype": hr.float32}
    value = [3.0, 4.0] if kind != "MutableHashTable" else 3.0
    if kind == "MutableDenseHashTable":
        extra = {"deleted_key": hr.constant(-2, I)} if v2 else {}
        table = getattr(r, kind + v2)(
            empty_key=hr.constant(-1, I), value_shape=[2], **extra, **named
        )
    elif kind == "MutableHashTableOfTensors":
        table = getattr(r, kind + v2)(key_dtype=I, value_shape=[2], **named)
    else:
        table = getattr(r, kind + v2)(key_dtype=I, **named)
    keys = hr.constant([1, 2], I)
    call = lambda name, **k: getattr(r, name + v2)(table_handle=table, **k)  # noqa: E731
    put = call("LookupTableInsert", keys=keys, values=[value, value])
    find = call("LookupTableFind", keys=hr.constant([2, 9], I), default_value=hr.zeros_like(value))
    size = call("LookupTableSize")
    out = call("LookupTableExport", Tkeys=I, Tvalues=hr.float32)
    load = call("LookupTableImport", keys=hr.constant([9], I), values=[value])
    bad = call("LookupTableInsert", keys=keys, values=hr.placeholder_with_default([value], None))
    totals = [hr.shape(out.keys), hr.shape(out.values), hr.reduce_sum(out.values)]
    runs = [[find], [put], [find], [size], totals, [load], [find], [size], [bad]]
    if v2:
        gone = r.LookupTableRemoveV2(table_handle=table, keys=hr.constant([9], I))
        runs += [[gone], [size]]
    return runs


def _reader(kind: str, v2: str) -> Runs:
    named = {"shared_name": kind + v2}
    if kind == "FixedLengthRecordReader":
        named["record_bytes"] = 4  # type: ignore[assignment]
    reader = getattr(r, kind + v2)(**named)
    queue = getattr(r, "FIFOQueue" + v2)(component_types=[S], shared_name="q" + kind + v2)
    put = getattr(r, "QueueEnqueue" + v2)(handle=queue, components=[hr.constant(LINES)])
    close = getattr(r, "QueueClose" + v2)(handle=queue)
    call = lambda name, **k: getattr(r, name + v2)(reader_handle=reader, **k)  # noqa: E731
    read = call("ReaderRead", queue_handle=queue)
    rest = call("ReaderReadUpTo", queue_handle=queue, num_records=hr.constant(5, I))
    records, units = call("ReaderNumRecordsProduced"), call("ReaderNumWorkUnitsCompleted")
    reset, state = call("ReaderReset"), call("ReaderSerializeState")
    restore = call("ReaderRestoreState", state=hr.constant(b"\xff"))
    return [[put], list(read), [records, units], [close], list(rest), [records, units], [reset],
            [records, units], list(read), [hr.size(state)], [restore]]  # fmt: skip


TABLES = ("MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable")
READERS = ("TextLineReader", "WholeFileReader", "IdentityReader", "FixedLengthRecordReader",
           "TFRecordReader")  # fmt: skip
NOT_JUDGED = {
    "MutableDenseHashTable": "TensorFlow's kernel asks for the deleted_key of V2",
    "FixedLengthRecordReader": "TensorFlow's kernel asks for the encoding of V2",
}


def _reason(kind: str, v2: str) -> str:
    return "" if v2 else NOT_JUDGED.get(kind, "")


PROGRAMS = [
    *[Program(f"HashTable{v}", lambda v=v: _hash_table(v)) for v in ("", "V2")],
    *[Program(f"table from a file{v}", lambda v=v: _from_file(v)) for v in ("", "V2")],
    *[
        Program(f"{k}{v}", lambda k=k, v=v: _mutable(k, v), not_judged=_reason(k, v))
        for k in TABLES
        for v in ("", "V2")
    ],
    *[
        Program(f"{k}{v}", lambda k=k, v=v: _reader(k, v), not_judged=_reason(k, v))
        for k in READERS
        for v in ("", "V2")
    ],
]
