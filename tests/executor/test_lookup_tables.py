"""Lookup tables in sessions: initialisation, sharing, concurrency, saving, invalid use.

Modules of headrace.graph: lookup, api.public_input.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from concurrently import concurrently

import headrace.graph as hr
from headrace.formats.errors import (
    AbortedError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
)
from headrace.graph.api.public_input import INPUT

lookup = hr.lookup
contrib = hr.contrib.lookup


def _static(keys: Any, values: Any, default: Any = -1) -> Any:
    return lookup.StaticHashTable(lookup.KeyValueTensorInitializer(keys, values), default)


def _run_initialised(*fetches: Any) -> Any:
    with hr.Session() as session:
        session.run(hr.tables_initializer())
        return session.run(list(fetches))


# ---- static tables -----------------------------------------------------------------------------


def test_a_table_must_be_initialised_before_it_is_used() -> None:
    table = _static(["a"], [1])
    found, exported, size = table.lookup(hr.constant("a")), table.export(), table.size()
    with hr.Session() as session:
        with pytest.raises(FailedPreconditionError, match="Table not initialized"):
            session.run(found)
        with pytest.raises(AbortedError, match="HashTable is not initialized"):
            session.run(exported)
        assert session.run(size) == 0
        session.run(table.initializer)
        assert session.run([found, size]) == [1, 1]
        session.run(table.initializer)  # the same rows again


def test_another_initialisation_is_rejected() -> None:
    table = _static(["a"], [1])
    other = lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]).initialize(table)
    with hr.Session() as session:
        session.run(table.initializer)
        with pytest.raises(FailedPreconditionError, match="initialized with different data"):
            session.run(other)


def test_a_key_with_two_values_is_rejected() -> None:
    table = _static(["a", "a", "b", "b"], [1, 1, 2, 3])
    with (
        hr.Session() as session,
        pytest.raises(
            FailedPreconditionError,
            match="different value for same key. Key b has 2 and trying to add value 3",
        ),
    ):
        session.run(table.initializer)


@pytest.mark.parametrize(
    "pair",
    [(k, v) for k in ("int32", "int64", "string")
     for v in ("bool", "int32", "int64", "float32", "float64", "string")],
)  # fmt: skip
def test_every_pair_of_dtypes(pair: tuple[str, str]) -> None:
    key, value = pair
    keys = np.array(["5", "-7"], object) if key == "string" else np.array([5, -7], key)
    values = np.array(["x", ""], object) if value == "string" else np.array([1, 0], value)
    table = lookup.StaticHashTable(
        lookup.KeyValueTensorInitializer(keys, values, key, value), values[1]
    )
    mutable = lookup.experimental.MutableHashTable(key, value, values[1])
    with hr.Session() as session:
        session.run([table.initializer, mutable.insert(keys, values)])
        for one in (table, mutable):
            found = session.run(one.lookup(hr.constant(keys[::-1], key)))
            assert found.dtype == hr.as_dtype(value).as_numpy_dtype
            assert [v.decode() if value == "string" else v for v in found] == list(values[::-1])


def test_keys_and_values_of_other_dtypes_are_rejected() -> None:
    table = _static(["a"], [1])
    with pytest.raises(TypeError, match="Keys must be dtype"):
        table.lookup(hr.constant([1]))
    raw = hr.raw_ops
    wrong = [
        raw.LookupTableFindV2(table_handle=table.resource_handle, keys=[1], default_value=1),
        raw.LookupTableImportV2(table_handle=table.resource_handle, keys=["a"], values=[0.5]),
        raw.LookupTableExportV2(
            table_handle=table.resource_handle, Tkeys=hr.int64, Tvalues=hr.int32
        )[0],
    ]
    shapes = [
        raw.LookupTableFindV2(table_handle=table.resource_handle, keys=["a"], default_value=[1, 2]),
        raw.InitializeTableV2(table_handle=table.resource_handle, keys=["a"], values=[1, 2]),
        raw.LookupTableImportV2(table_handle=table.resource_handle, keys=["a"], values=[1, 2]),
    ]
    with hr.Session() as session:
        session.run(table.initializer)
        for one in wrong:
            with pytest.raises(InvalidArgumentError, match="Signature mismatch"):
                session.run(one)
        for one in shapes:
            with pytest.raises(InvalidArgumentError):
                session.run(one)
        for change in (
            raw.LookupTableInsertV2(
                table_handle=table.resource_handle, keys=["a"], values=np.int32([1])
            ),
            raw.LookupTableRemoveV2(table_handle=table.resource_handle, keys=["a"]),
        ):
            with pytest.raises(UnimplementedError):
                session.run(change)


def test_what_is_no_table_is_rejected() -> None:
    variable = hr.raw_ops.VarHandleOp(dtype=hr.int64, shape=[])
    queue = hr.FIFOQueue(1, [hr.int64])
    with hr.Session() as session:
        for handle in (variable, queue.queue_ref):
            with pytest.raises(InvalidArgumentError, match="does not point at a lookup table"):
                session.run(hr.raw_ops.LookupTableSizeV2(table_handle=handle))


def test_a_shared_table_has_one_pair_of_dtypes() -> None:
    one = hr.raw_ops.HashTableV2(key_dtype=hr.int64, value_dtype=hr.int64, shared_name="t")
    two = hr.raw_ops.HashTableV2(key_dtype=hr.string, value_dtype=hr.int64, shared_name="t")
    bad = hr.raw_ops.HashTableV2(key_dtype=hr.string, value_dtype=hr.int64, container="?")
    with hr.Session() as session:
        with pytest.raises(InvalidArgumentError, match="Conflicting key/value dtypes"):
            session.run([hr.raw_ops.LookupTableSizeV2(table_handle=h) for h in (one, two)])
        with pytest.raises(InvalidArgumentError, match="container contains invalid characters"):
            session.run(hr.raw_ops.LookupTableSizeV2(table_handle=bad))


def test_first_generation_ops_work_on_references() -> None:
    raw = hr.raw_ops
    table = raw.MutableHashTable(key_dtype=hr.int64, value_dtype=hr.float32)
    dense = raw.MutableDenseHashTable(
        empty_key=np.int64(0), value_dtype=hr.int64, initial_num_buckets=4
    )
    static = raw.HashTable(key_dtype=hr.string, value_dtype=hr.int64)
    start = hr.group(
        raw.LookupTableInsert(table_handle=table, keys=np.int64([1]), values=[0.5]),
        raw.LookupTableInsert(table_handle=dense, keys=np.int64([4]), values=np.int64([8])),
        raw.InitializeTable(table_handle=static, keys=["k"], values=np.int64([3])),
    )
    with hr.Session() as session:
        for _ in range(3):
            session.run(start)
        found = session.run([
            raw.LookupTableFind(table_handle=table, keys=np.int64([1, 2]), default_value=9.0),
            raw.LookupTableFind(table_handle=dense, keys=np.int64([4]), default_value=np.int64(0)),
            raw.LookupTableFind(table_handle=static, keys=["k"], default_value=np.int64(0)),
            raw.LookupTableSize(table_handle=static),
            *raw.LookupTableExport(table_handle=table, Tkeys=hr.int64, Tvalues=hr.float32),
        ])  # fmt: skip
    assert [np.asarray(f).tolist() for f in found] == [[0.5, 9.0], [8], [3], 1, [1], [0.5]]


def test_sessions_share_tables_by_name_and_reset_removes_them() -> None:
    table = lookup.experimental.MutableHashTable("int64", "int64", -1, shared_name="counts")
    insert, size = table.insert([1, 2], [3, 4]), table.size()
    with hr.Session("local://tables") as one, hr.Session("local://tables") as two:
        one.run(insert)
        assert two.run(size) == 2
        assert hr.Session().run(size) == 0
    hr.Session.reset("local://tables")
    with hr.Session("local://tables") as three:
        assert three.run(size) == 0


# ---- text files --------------------------------------------------------------------------------


def _table_of(
    path: Path, key: str, key_index: int, value: str, value_index: int, **more: Any
) -> Any:
    rows = lookup.TextFileInitializer(str(path), key, key_index, value, value_index, **more)
    return lookup.StaticHashTable(rows, "" if value == "string" else -1)


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("a b\nc\n", ("string", 0, "string", 1, " "), "Invalid number of columns in .* line 1"),
        ("a b\nc d\n", ("string", 0, "int64", 1, " "), "Field b in line 0 is not a valid int64"),
        ("1\n99999999999999999999\n", ("int64", -2, "int64", -1, " "), "is not a valid int64"),
        ("a\n\nb\n", ("string", -2, "int64", -1, " "), "empty line found at position"),
        ("a 0x1p-2z\n", ("string", 0, "float32", 1, " "), "is not a valid float"),
    ],
)
def test_invalid_lines_are_rejected(
    tmp_path: Path, text: str, arguments: tuple[Any, ...], message: str
) -> None:
    path = tmp_path / "rows"
    path.write_text(text)
    table = _table_of(path, *arguments[:4], delimiter=arguments[4])
    with hr.Session() as session, pytest.raises(InvalidArgumentError, match=message):
        session.run(table.initializer)


def test_invalid_files_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_text("a\nb\n")
    missing = _table_of(tmp_path / "none", "string", -2, "int64", -1)
    short = _table_of(path, "string", -2, "int64", -1, vocab_size=3)
    raw = hr.raw_ops
    handle = raw.HashTableV2(key_dtype=hr.int64, value_dtype=hr.float32)
    bad = [
        raw.InitializeTableFromTextFileV2(
            table_handle=handle, filename=name, key_index=k, value_index=v, delimiter=delimiter
        )
        for name, k, v, delimiter in (
            (str(path), -1, -1, " "), (str(path), -1, -2, " "), (str(path), 0, 0, "ab"),
            ("", 0, 0, " "), (str(tmp_path), 0, 0, " "),
        )
    ]  # fmt: skip
    with hr.Session() as session:
        with pytest.raises(NotFoundError):
            session.run(missing.initializer)
        with pytest.raises(InvalidArgumentError, match="expected 3 but got 2"):
            session.run(short.initializer)
        for one in bad:
            with pytest.raises(OpError):
                session.run(one)


def test_the_asset_of_a_table_is_collected(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_text("a\nb\n")
    table = contrib.index_table_from_file(str(path), num_oov_buckets=1)
    (asset,) = hr.get_collection(hr.GraphKeys.ASSET_FILEPATHS)
    assert len(hr.get_collection(hr.GraphKeys.TABLE_INITIALIZERS)) == 1
    path_of_asset, ids = _run_initialised(asset, table.lookup(hr.constant(["b", "zz", "a"])))
    assert (path_of_asset.decode(), ids.tolist()) == (str(path), [1, 2, 0])


# ---- vocabularies ------------------------------------------------------------------------------


def test_the_functions_of_contrib(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_text("a\nb\n")
    words = hr.constant(["b", "?"])
    numbers = hr.constant([1, 5], hr.int64)
    strong = contrib.StrongHashSpec([1, 2])
    bucketed = contrib.IdTableWithHashBuckets(
        contrib.index_table_from_tensor(["a", "b"]), 4, hasher_spec=strong
    )
    found = _run_initialised(
        contrib.index_table_from_tensor(["a", "b"]).lookup(words),
        contrib.index_table_from_tensor([7, 8], dtype=hr.int64).lookup(
            hr.constant([8, 1], hr.int64)
        ),
        contrib.index_to_string_table_from_tensor(["a", "b"]).lookup(numbers),
        contrib.index_to_string_table_from_file(str(path), default_value="no").lookup(numbers),
        contrib.string_to_index_table_from_file(str(path)).lookup(words),
        contrib.string_to_index_table_from_tensor(["a", "b"], default_value=9).lookup(words),
        contrib.string_to_index(words, ["a", "b"]),
        contrib.index_to_string(numbers, ["a", "b"]),
        bucketed.size(),
        bucketed.lookup(hr.constant("a")),
    )
    assert [np.asarray(f).tolist() for f in found] == [
        [1, -1], [1, -1], [b"b", b"UNK"], [b"b", b"no"], [1, -1], [1, 9], [1, -1], [b"b", b"UNK"],
        6, 0,
    ]  # fmt: skip


def test_invalid_arguments_are_rejected_when_the_graph_is_built() -> None:
    ids = lookup.KeyValueTensorInitializer(["a"], hr.constant([0], hr.int64))
    table = lookup.StaticHashTable(ids, -1)
    for build, error in (
        (lambda: contrib.index_table_from_file(""), ValueError),
        (lambda: contrib.index_table_from_file("f", num_oov_buckets=-1), ValueError),
        (lambda: contrib.index_table_from_file("f", vocab_size=0), ValueError),
        (lambda: contrib.index_table_from_file("f", key_dtype=hr.float32), TypeError),
        (lambda: contrib.index_table_from_tensor(None), ValueError),
        (lambda: contrib.index_table_from_tensor(["a"], dtype=hr.int64), ValueError),
        (lambda: contrib.index_to_string_table_from_tensor(None), ValueError),
        (lambda: contrib.TextFileIdTableInitializer(""), ValueError),
        (lambda: contrib.TextFileStringTableInitializer("f", vocab_size=0), ValueError),
        (lambda: lookup.TextFileInitializer("f", "string", -3, "int64", -1), ValueError),
        (lambda: lookup.TextFileInitializer("f", "string", -1, "int64", -1), ValueError),
        (lambda: lookup.TextFileInitializer("f", "string", -2, "float32", -2), ValueError),
        (lambda: lookup.StaticVocabularyTable(ids, 0), ValueError),
        (lambda: lookup.StaticVocabularyTable(ids, 1, hr.int64), TypeError),
        (lambda: contrib.IdTableWithHashBuckets(None, 0), ValueError),
        (lambda: contrib.IdTableWithHashBuckets(table, 1, hasher_spec="fast"), TypeError),
        (lambda: contrib.StrongHashSpec([1]), ValueError),
        (lambda: contrib.StrongHashSpec(["a", "b"]), TypeError),
        (lambda: contrib.HasherSpec("x", None) and contrib.IdTableWithHashBuckets(
            table, 1, contrib.HasherSpec("x", None)), ValueError),
        (lambda: contrib.HashTable(ids, [1, 2]), ValueError),
        (lambda: lookup.KeyValueTensorInitializer([1], [2]).initialize(table), TypeError),
    ):  # fmt: skip
        with pytest.raises(error):
            build()


# ---- tables that change ------------------------------------------------------------------------


def test_rows_are_inserted_changed_and_removed() -> None:
    """Against a dict, with keys that come and go in a random order."""
    table = lookup.experimental.MutableHashTable("int64", "string", "none")
    keys = hr.placeholder(hr.int64, [None])
    values = hr.placeholder(hr.string, [None])
    insert, remove, found = table.insert(keys, values), table.remove(keys), table.lookup(keys)
    dice = np.random.default_rng(0)
    model: dict[int, bytes] = {}
    with hr.Session() as session:
        for step in range(60):
            some = dice.integers(0, 200, 20)
            if step % 3 == 2:
                session.run(remove, {keys: some})
                for key in some:
                    model.pop(int(key), None)
            else:
                text = [b"%d of %d" % (key, step) for key in some]
                session.run(insert, {keys: some, values: text})
                model.update(zip(some.tolist(), text, strict=True))
        everything = np.arange(200)
        assert session.run(found, {keys: everything}).tolist() == [
            model.get(key, b"none") for key in range(200)
        ]
        assert session.run(table.size()) == len(model)
        out_keys, out_values = session.run(table.export())
        assert dict(zip(out_keys.tolist(), out_values.tolist(), strict=True)) == model


def test_a_dense_table_rejects_its_reserved_keys_and_bad_attributes() -> None:
    dense = lookup.experimental.DenseHashTable
    table = dense("int64", "int64", -1, empty_key=0, deleted_key=-1)
    raw = hr.raw_ops.MutableDenseHashTableV2
    bad = [
        raw(empty_key=np.int64(0), deleted_key=np.int64(0), value_dtype=hr.int64),
        raw(empty_key=np.int64(0), deleted_key=np.int64([1]), value_dtype=hr.int64),
        raw(empty_key=np.int64(0), deleted_key=np.int64(1), value_dtype=hr.int64,
            initial_num_buckets=12),
        raw(empty_key=np.int64(0), deleted_key=np.int64(1), value_dtype=hr.int64,
            max_load_factor=1.5),
        raw(empty_key=np.int64(0), deleted_key=np.int64(1), value_dtype=hr.int64,
            value_shape=[2, 2]),
    ]  # fmt: skip
    with hr.Session() as session:
        for use in (
            table.lookup([0]), table.insert([0], [1]), table.erase([-1]), table.lookup([1, -1])
        ):  # fmt: skip
            with pytest.raises(InvalidArgumentError, match="as a table key is not allowed"):
                session.run(use)
        for handle in bad:
            with pytest.raises(InvalidArgumentError):
                session.run(hr.raw_ops.LookupTableSizeV2(table_handle=handle))
        session.run(table.insert_or_assign([5, 6, 5], [1, 2, 3]))
        session.run(table.remove([6]))
        assert session.run(table.lookup([5, 6])).tolist() == [3, -1]


def test_an_absurd_number_of_buckets_takes_no_memory_before_an_export() -> None:
    table = contrib.MutableDenseHashTable(
        "int64", "int64", -1, empty_key=0, deleted_key=-1, initial_num_buckets=1 << 60,
        checkpoint=False,
    )  # fmt: skip
    with hr.Session() as session:
        session.run(table.insert([1], [2]))
        assert session.run(table.lookup([1])).tolist() == [2]
        with pytest.raises(OpError):
            session.run(table.export())


def test_savers_save_and_restore_tables(tmp_path: Path) -> None:
    counts = hr.contrib.lookup.MutableHashTable(hr.string, hr.int64, -1, name="counts")
    vectors = lookup.experimental.DenseHashTable(
        hr.int64, hr.float32, [0.0, 0.0], 0, -1, initial_num_buckets=4, name="vectors"
    )
    hr.get_variable("w", [])
    insert = hr.group(
        counts.insert(["a", "b"], [1, 2]), vectors.insert([5, 6], [[1.0, 2.0], [3.0, 4.0]])
    )
    found = [counts.lookup(["a", "b", "c"]), vectors.lookup([6, 5, 7])]
    saver = hr.train.Saver()
    path = str(tmp_path / "model")
    with hr.Session() as session:
        session.run([hr.global_variables_initializer(), insert])
        expected = session.run(found)
        saver.save(session, path)
    names = dict(hr.train.list_variables(path))
    assert names["counts-keys"] == [2] and names["vectors-keys"] == [4, 1]
    with hr.Session() as session:
        session.run(counts.insert(["z"], [26]))
        saver.restore(session, path)
        for one, other in zip(session.run(found), expected, strict=True):
            assert np.array_equal(one, other)
        assert session.run(counts.size()) == 2  # the rows of before are gone


def test_threads_read_and_change_a_table_at_once() -> None:
    table = lookup.experimental.MutableHashTable("string", "int64", -1)
    keys = hr.placeholder(hr.string, [None])
    values = hr.placeholder(hr.int64, [None])
    insert, remove, found = table.insert(keys, values), table.remove(keys), table.lookup(keys)
    export = table.export()
    names = np.array([f"key number {n}" for n in range(64)], object)
    wrong: list[Any] = []
    with hr.Session() as session:

        def work(thread: int) -> None:
            dice = np.random.default_rng(thread)
            for _ in range(40):
                some = dice.choice(64, 16)
                action = dice.integers(4)
                if action == 0:
                    session.run(insert, {keys: names[some], values: some})
                elif action == 1:
                    session.run(remove, {keys: names[some]})
                elif action == 2:
                    got = session.run(found, {keys: names[some]})
                    wrong.extend(g for g, k in zip(got, some, strict=True) if g not in (-1, k))
                else:
                    for k, v in zip(*session.run(export), strict=True):
                        if k.decode() != names[v]:
                            wrong.append((k, v))

        concurrently(work, 4)
    assert wrong == []


def test_a_table_is_used_in_a_loop_and_a_branch() -> None:
    table = _static(hr.constant([0, 1, 2], hr.int64), hr.constant([1, 2, 0], hr.int64))
    walked = hr.while_loop(
        lambda i, at: i < 4, lambda i, at: (i + 1, table.lookup(at)), [0, hr.constant(0, hr.int64)]
    )
    branch = hr.cond(walked[1] > 0, lambda: table.lookup(walked[1]), lambda: walked[1])
    assert _run_initialised(walked[1], branch) == [1, 2]


def test_a_graph_with_tables_is_loaded_again() -> None:
    table = _static(["a", "b"], [1, 2])
    found = table.lookup(hr.constant(["b"]), name="found")
    meta = hr.train.export_meta_graph()
    with hr.Graph().as_default(), hr.Session() as session:
        hr.train.import_meta_graph(meta)
        session.run(hr.tables_initializer())
        assert session.run(found.name).tolist() == [2]


def test_classes_are_shared_between_the_namespaces() -> None:
    for initializer in (lookup.KeyValueTensorInitializer, contrib.TextFileInitializer):
        assert issubclass(initializer, contrib.TableInitializerBase)
    assert issubclass(contrib.HashTable, contrib.InitializableLookupTableBase)
    assert issubclass(lookup.experimental.MutableHashTable, contrib.LookupInterface)
    assert contrib.KeyValueTensorInitializer is lookup.KeyValueTensorInitializer
    assert contrib.TextFileIndex is lookup.TextFileIndex
    assert contrib.FastHashSpec == contrib.HasherSpec("fasthash", None)
    assert INPUT["lookup.StaticHashTable"] == "lookup.tables"


def test_a_load_factor_that_no_number_of_buckets_gives_is_an_error() -> None:
    raw = hr.raw_ops
    table = raw.MutableDenseHashTableV2(
        empty_key=hr.constant(-1, hr.int64), deleted_key=hr.constant(-2, hr.int64),
        value_dtype=hr.int64, max_load_factor=1e-20, initial_num_buckets=4,
    )  # fmt: skip
    rows = hr.constant([[1]], hr.int64)
    put = raw.LookupTableImportV2(table_handle=table, keys=rows, values=rows)
    insert = raw.LookupTableInsertV2(table_handle=table, keys=rows[0], values=rows[0])
    with hr.Session() as session:
        for change in (put, insert):
            with pytest.raises(ResourceExhaustedError, match="more than 2.40 buckets for 1 keys"):
                session.run(change)
        assert session.run(raw.LookupTableSizeV2(table_handle=table)) == 0


@pytest.mark.parametrize("kind", ["mutable", "dense", "static"])
def test_a_default_may_be_given_for_each_key(kind: str) -> None:
    raw, keys = hr.raw_ops, hr.constant([1, 2, 3], hr.int64)
    if kind == "static":
        table = raw.HashTableV2(key_dtype=hr.int64, value_dtype=hr.int64)
    elif kind == "dense":
        table = raw.MutableDenseHashTableV2(
            empty_key=hr.constant(-1, hr.int64), deleted_key=hr.constant(-2, hr.int64),
            value_dtype=hr.int64,
        )  # fmt: skip
    else:
        table = raw.MutableHashTableV2(key_dtype=hr.int64, value_dtype=hr.int64)
    put = raw.InitializeTableV2 if kind == "static" else raw.LookupTableInsertV2
    one, ten = hr.constant([1], hr.int64), hr.constant([10], hr.int64)
    filled = put(table_handle=table, keys=one, values=ten)
    each = hr.constant([7, 8, 9], hr.int64)
    found = raw.LookupTableFindV2(table_handle=table, keys=keys, default_value=each)
    wrong = raw.LookupTableFindV2(table_handle=table, keys=keys, default_value=each[:2])
    with hr.Session() as session:
        session.run(filled)
        # As in TensorFlow, tables that are not MutableHashTables take the first for all.
        assert session.run(found).tolist() == ([10, 8, 9] if kind == "mutable" else [10, 7, 7])
        with pytest.raises(InvalidArgumentError, match="for default value, got"):
            session.run(wrong)
