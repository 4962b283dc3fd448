"""Corrupted .meta and SavedModel files raise errors with path and offset."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import headrace.graph as hr
from headrace.formats.errors import OpError
from headrace.formats.proto.meta_graph_pb2 import MetaGraphDef
from headrace.formats.proto.saved_model_pb2 import SavedModel

COUNT = 250
CODES = (3, 5, 15)  # InvalidArgument, NotFound for unknown ops and variables, DataLoss


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes a checkpoint with .meta and a SavedModel of a graph with all kinds of collections."""
    result = tmp_path_factory.mktemp("meta")
    with hr.Graph().as_default():
        x = hr.placeholder(hr.float32, [None, 4], name="x")
        weights = hr.get_variable("weights", [4, 2])
        with hr.variable_scope("parts", partitioner=hr.fixed_size_partitioner(2)):
            parts = hr.get_variable("parts", [4, 2])
        y = hr.matmul(x, weights) + hr.get_variable("bias", [2], use_resource=True)
        y = hr.cond(hr.reduce_sum(parts) > 0, lambda: y * 2.0, lambda: y - 1.0)
        _, last = hr.while_loop(
            lambda i, _: i < 3, lambda i, v: (i + 1, v * 0.5), (0, hr.reduce_sum(y))
        )
        for name, value in (("ints", 3), ("floats", 1.5), ("words", "a"), ("nodes", last)):
            hr.add_to_collection(name, value)
        hr.train.get_or_create_global_step()
        saver = hr.train.Saver()
        hr.add_to_collection(hr.GraphKeys.SAVERS, saver)
        with hr.Session() as session:
            session.run(hr.global_variables_initializer())
            saver.save(session, str(result / "model"))
            hr.saved_model.simple_save(session, str(result / "saved"), {"x": x}, {"y": y})
    return result


def _flip_bytes(wire: bytes, dice: random.Random) -> bytes:
    data = bytearray(wire)
    for _ in range(dice.choice([1, 1, 2])):
        if not data:
            break
        at = dice.randrange(len(data))
        kind = dice.randrange(4)
        if kind == 0:
            data[at] ^= 1 << dice.randrange(8)
        elif kind == 1:
            data[at] = dice.randrange(32, 127)
        elif kind == 2:
            del data[at : at + dice.randrange(1, 9)]
        else:
            data[at:at] = data[at : at + dice.randrange(1, 40)]
    return bytes(data)


def _change_fields(message: MetaGraphDef, dice: random.Random) -> None:
    """Corrupts the values of a collection, or the names of the saver's nodes."""
    key = dice.choice([*sorted(message.collection_def), "saver_def"])
    if key == "saver_def":
        field = dice.choice(["filename_tensor_name", "save_tensor_name", "restore_op_name"])
        text = getattr(message.saver_def, field)
        setattr(message.saver_def, field, dice.choice(["", "nothing:0", text[1:], text + "0"]))
        return
    collection = message.collection_def[key]
    kind = dice.choice(["same", "other"])
    if kind == "other":
        collection.CopyFrom(message.collection_def[dice.choice(sorted(message.collection_def))])
    values = getattr(collection, collection.WhichOneof("kind")).value
    if not values:
        return
    if collection.HasField("bytes_list"):
        at = dice.randrange(len(values))
        values[at] = _flip_bytes(values[at] or b"\0", dice)
    elif collection.HasField("node_list"):
        values[dice.randrange(len(values))] = dice.choice(["", ":", "nothing", "nothing:0", "x:9"])


def _import(path: Path) -> None:
    with hr.Graph().as_default():
        hr.train.import_meta_graph(str(path))


def _load(path: Path) -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        hr.saved_model.loader.load(session, ["serve"], str(path.parent))


@pytest.mark.parametrize("corruption", ["bytes", "collections", "fields"])
@pytest.mark.parametrize(
    ("name", "use", "kind"),
    [("model.meta", _import, MetaGraphDef), ("saved/saved_model.pb", _load, SavedModel)],
    ids=["meta", "SavedModel"],
)
def test_corrupted_files_raise_errors_that_name_the_file(
    folder: Path, name: str, use: Callable[[Path], None], kind: type, corruption: str
) -> None:
    path = folder / name
    whole = path.read_bytes()
    dice = random.Random(f"{name} {corruption}")
    ends: Counter[str] = Counter()
    try:
        for _ in range(COUNT):
            path.write_bytes(_corrupted(whole, kind, corruption, dice))
            ends[_end(use, path)] += 1
    finally:
        path.write_bytes(whole)
    assert set(ends) <= {"used", "rejected"} and ends["rejected"] > COUNT / 4, ends


def _corrupted(whole: bytes, kind: type, corruption: str, dice: random.Random) -> bytes:
    if corruption == "bytes":
        return _flip_bytes(whole, dice)
    if corruption == "collections":  # they are at the end of the file
        start = whole.index(b"cond_context")
        return whole[:start] + _flip_bytes(whole[start:], dice)
    message = kind.FromString(whole)
    _change_fields(message if kind is MetaGraphDef else message.meta_graphs[0], dice)
    return message.SerializeToString()


def _end(use: Callable[[Path], None], path: Path) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use(path)
    except OpError as error:
        if error.code in CODES and error.path == str(path) and error.offset is not None:
            return "rejected"
        return f"{type(error).__name__} {error.path}, {error.offset}: {error}"
    except Exception as error:  # noqa: BLE001 - which it is, is the question
        return f"{type(error).__name__}: {error}"
    return "used"


def test_offset_points_to_the_corrupted_collection(folder: Path) -> None:
    path = folder / "saved" / "saved_model.pb"
    whole = path.read_bytes()
    model = SavedModel.FromString(whole)
    model.meta_graphs[0].collection_def["nodes"].node_list.value[0] = "nothing:0"
    path.write_bytes(model.SerializeToString())
    try:
        with pytest.raises(hr.errors.DataLossError, match="collection 'nodes'.*nothing") as caught:
            _load(path)
        found = path.read_bytes()[caught.value.offset :]
        assert found.startswith(b"\n\x05nodes")  # field 1 of the map entry: the key
    finally:
        path.write_bytes(whole)
