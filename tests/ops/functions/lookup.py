"""Lookup tables: initialisers, static, mutable and dense tables, vocabularies."""

from __future__ import annotations

import tempfile


def _file(text):
    handle, path = tempfile.mkstemp()
    with open(handle, "w", newline="") as file:
        file.write(text)
    return path


def _initialised(m):
    m.add_to_collection("before", m.tables_initializer())


def _sparse(m):
    return m.SparseTensor([[0, 0], [1, 2]], ["b", "x"], [2, 3])


def from_tensors(m):
    lookup = m.lookup
    counts = lookup.StaticHashTable(lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    names = lookup.StaticHashTable(
        lookup.KeyValueTensorInitializer([3, 4], ["three", "four"], m.int64, m.string), "?"
    )
    shares = lookup.StaticHashTable(
        lookup.KeyValueTensorInitializer([1, 2], [0.5, 0.25], m.int64, m.float32), 0.0
    )
    _initialised(m)
    found = counts.lookup(_sparse(m))
    return [
        counts.lookup(m.constant([["a", "c"], ["b", "a"]])),
        counts[m.constant("b")],
        counts.size(),
        found.indices,
        found.values,
        found.dense_shape,
        names.lookup(m.constant([4, 5, 3], m.int64)),
        shares.lookup(m.constant([[2], [3]], m.int64)),
    ]


def from_files(m):
    lookup = m.lookup
    words = _file("alpha\nbeta\r\ngamma\n")
    columns = _file("x 10 0.5\ny -20 1e3\nz 30 .25")
    index = lookup.TextFileIndex

    def table(path, key, key_index, value, value_index, default, **more):
        rows = lookup.TextFileInitializer(path, key, key_index, value, value_index, **more)
        return lookup.StaticHashTable(rows, default)

    line, number = index.WHOLE_LINE, index.LINE_NUMBER
    ids = table(words, m.string, line, m.int64, number, -1)
    two = table(words, m.string, line, m.int64, number, -1, vocab_size=2)
    back = table(words, m.int64, number, m.string, line, "none")
    counts = table(columns, m.string, 0, m.int64, 1, 0, delimiter=" ")
    shares = table(columns, m.string, 0, m.float32, 2, 0.0, delimiter=" ")
    _initialised(m)
    letters = m.constant(["z", "x", "y", "w"])
    return [
        ids.lookup(m.constant(["beta", "delta", "gamma"])),
        two.lookup(m.constant(["beta", "gamma"])),
        back.lookup(m.constant([0, 1, 7], m.int64)),
        counts.lookup(letters),
        shares.lookup(letters),
        ids.size(),
        two.size(),
    ]


def vocabulary_tables(m):
    lookup = m.lookup
    words = lookup.KeyValueTensorInitializer(["a", "b"], m.constant([0, 1], m.int64))
    numbers = lookup.KeyValueTensorInitializer(
        m.constant([10, 20], m.int64), m.constant([0, 1], m.int64)
    )
    table = lookup.StaticVocabularyTable(words, 5)
    ids = lookup.StaticVocabularyTable(numbers, 3, lookup_key_dtype=m.int32)
    hashed = lookup.StaticVocabularyTable(None, 7)
    _initialised(m)
    found = table.lookup(_sparse(m))
    return [
        table.lookup(m.constant(["b", "c", "dd", "a"])),
        table.size(),
        found.values,
        ids.lookup(m.constant([20, 30, 40])),
        hashed.lookup(m.constant(["a", "b"])),
        hashed.size(),
    ]


def mutable(m):
    table = m.lookup.experimental.MutableHashTable(m.string, m.int64, -1)
    vectors = m.lookup.experimental.MutableHashTable(m.int64, m.float32, [0.0, 0.5], name="v")
    start = m.group(
        table.insert(m.constant(["a", "b", "a"]), m.constant([1, 2, 3], m.int64)),
        vectors.insert(m.constant([[7], [9]], m.int64), m.constant([[[1.0, 2.0]], [[3.0, 4.0]]])),
    )
    with m.control_dependencies([start]):
        m.add_to_collection("before", table.remove(m.constant(["b", "zz"])))
    keys, values = table.export()
    return [
        table.lookup(m.constant(["a", "b"])),
        table.size(),
        keys,
        values,
        vectors.lookup(m.constant([[7, 8], [9, 7]], m.int64)),
    ]


def dense(m):
    table = m.lookup.experimental.DenseHashTable(
        m.int64, m.int64, -1, empty_key=0, deleted_key=-5, initial_num_buckets=8
    )
    words = m.lookup.experimental.DenseHashTable(
        m.string, m.float32, [0.0, 1.0], empty_key="", deleted_key="-", initial_num_buckets=4,
        name="words",
    )  # fmt: skip
    pairs = m.lookup.experimental.DenseHashTable(
        m.int64, m.int64, [-1], empty_key=[0, 0], deleted_key=[-1, -1], name="pairs"
    )
    start = m.group(
        table.insert(m.constant([11, 12, 3, 19, 27], m.int64),
                     m.constant([0, 1, 2, 3, 4], m.int64)),
        words.insert(m.constant(["one", "two", "three and more", "4"]),
                     m.constant([[1.0, 0], [2, 0], [3, 0], [4, 0]])),
        pairs.insert(m.constant([[0, 1], [5, 6]], m.int64), m.constant([[7], [8]], m.int64)),
    )  # fmt: skip
    m.add_to_collection("before", start)
    keys, values = table.export()
    word_keys, word_values = words.export()
    return [
        table.lookup(m.constant([12, 13, 27], m.int64)),
        table.size(),
        keys,
        values,
        words.lookup(m.constant(["two", "none"])),
        word_keys,
        word_values,
        pairs.lookup(m.constant([[5, 6], [6, 5]], m.int64)),
    ]


PROGRAMS = {f.__name__: f for f in (from_tensors, from_files, vocabulary_tables, mutable, dense)}
