"""Damaged images, sounds, messages and lines, and ops that decode them (kind `files`)."""

from __future__ import annotations

import base64
import gzip
import io
import random
import struct
import zlib
from functools import lru_cache
from typing import Any

import numpy as np
from fuzz_case import Case, Run
from random_functions import BOOL, DOUBLE, FLOAT, INT, LONG, TEXT, Nodes
from written_files import FILES

from headrace.formats.proto.example_pb2 import Example, SequenceExample
from headrace.formats.proto.graph_pb2 import GraphDef

_UINT8, _INT16 = 4, 5
_IMAGES = ("DecodeJpeg", "DecodePng", "DecodeGif", "DecodeBmp", "ExtractJpegShape")
_NUMBERS = (FLOAT, DOUBLE, INT, LONG, _UINT8, _INT16)


def make_case(dice: random.Random) -> Case:
    """One to three ops with damaged bytes; they run as they are, and with other damage."""
    graph = GraphDef()
    nodes = Nodes(dice, graph.node, in_function=False)
    text = nodes.add("Placeholder", dtype=TEXT, shape=None)[0][0]
    kind = dice.choice(("image", "image", "sound", "message", "message", "lines", "raw"))
    found = _OPS[kind](nodes, text)
    fetches = [name if ":" in name else f"{name}:0" for name, _ in found]
    one = dice.random() < 0.93
    contents = _contents()[kind]
    if kind == "image":  # of one format
        kept = dice.choice(contents)[:2]
        contents = [data for data in contents if data[:2] == kept]
    runs = []
    for number in range(4):
        words = [dice.choice(contents) for _ in range(1 if one else 3)]
        if number:
            words = [_damaged(dice, word) for word in words]
        value = np.array(words, object)
        value = value.reshape(()) if one and kind != "lines" else value
        runs.append(Run({f"{text}:0": value}, fetches))
    runs.insert(0, runs[0])
    return Case(graph, runs)


def _damaged(dice: random.Random, data: bytes) -> bytes:
    """The bytes as they are, cut, or with some of them changed."""
    roll = dice.random()
    if roll < 0.25 or not data:
        return data
    if roll < 0.4:
        return data[: dice.randrange(len(data))]
    changed = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 5, 20))):
        # Headers say more than the rest.
        at = dice.randrange(min(len(changed), 64) if dice.random() < 0.5 else len(changed))
        how = dice.random()
        if how < 0.5:
            changed[at] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))
        elif how < 0.6:
            changed[at : at + 4] = struct.pack(
                "<I", dice.choice((0, 1, 2**31 - 1, 2**31, 2**32 - 1))
            )
        elif how < 0.8:
            del changed[at : at + dice.choice((1, 2, 10))]
            changed = changed or bytearray(b"\0")
        else:
            changed[at:at] = changed[at : at + dice.choice((1, 4, 50))]
    return bytes(changed)


@lru_cache(maxsize=1)
def _contents() -> dict[str, list[bytes]]:
    """Valid contents by kind."""
    return {
        "image": _images(), "sound": _sounds(), "message": _messages(),
        "lines": [b"1,2.5,three", b'"4",,"quo""ted"', b"", b"1e400,99999999999999999999,x", b","],
        "raw": [bytes(range(64)), zlib.compress(b"abc" * 50), gzip.compress(b"abc" * 50),
                base64.urlsafe_b64encode(bytes(range(40))), b'{"id": {"x": [1, 2]}}', b""],
    }  # fmt: skip


def _images() -> list[bytes]:
    from PIL import Image

    found = []
    ramp = np.arange(20 * 30 * 3, dtype=np.uint8).reshape(20, 30, 3)
    for mode in ("RGB", "L", "P", "1", "CMYK", "RGBA", "I;16"):
        picture = Image.fromarray(ramp[..., 0].astype(np.uint16)) if mode == "I;16" else None
        picture = picture or Image.fromarray(ramp).convert(mode)
        for form, options in (
            ("JPEG", {}), ("JPEG", {"progressive": True}), ("PNG", {}), ("GIF", {}), ("BMP", {}),
        ):  # fmt: skip
            stream = io.BytesIO()
            try:
                picture.save(stream, form, **options)
            except (OSError, ValueError):  # the form has no such mode
                continue
            found.append(stream.getvalue())
    stream = io.BytesIO()
    frames = [Image.fromarray(ramp[:, :, i]) for i in range(3)]
    frames[0].save(stream, "GIF", save_all=True, append_images=frames[1:])
    return [*found, stream.getvalue()]


def _sounds() -> list[bytes]:
    samples = np.arange(40, dtype=np.int16).tobytes()
    found = []
    for channels in (1, 2):
        form = struct.pack("<HHIIHH", 1, channels, 8000, 16000 * channels, 2 * channels, 16)
        body = b"WAVEfmt " + struct.pack("<I", 16) + form
        body += b"LIST\x04\0\0\0INFO" + b"data" + struct.pack("<I", len(samples)) + samples
        found.append(b"RIFF" + struct.pack("<I", len(body)) + body)
    return found


def _messages() -> list[bytes]:
    example, sequence = Example(), SequenceExample()
    for features in (example.features, sequence.context):
        features.feature["a"].int64_list.value.extend([1, 2, -3])
        features.feature["b"].float_list.value.extend([0.5, 1e30])
        features.feature["c"].bytes_list.value.extend([b"x", b"", b"long" * 20])
    for name, count in (("a", 2), ("b", 3)):
        for _ in range(count):
            feature = sequence.feature_lists.feature_list[name].feature.add()
            if name == "a":
                feature.int64_list.value.extend([4, 5])
            else:
                feature.float_list.value.extend([1.5])
    tensor = GraphDef().node.add().attr["v"].tensor
    tensor.dtype = FLOAT
    tensor.tensor_shape.dim.add(size=3)
    tensor.float_val.extend([1, 2, 3])
    return [m.SerializeToString() for m in (example, example, sequence, tensor)]


# ---- ops ----------------------------------------------------------------------------------------


def _image(nodes: Nodes, text: str) -> Any:
    dice = nodes.dice
    roll = dice.random()
    channels = dice.choice((0, 0, 1, 3, 4, 2))
    if roll < 0.2:
        window = nodes.literal([dice.choice((0, 1, -1)), 0, dice.choice((5, 20, 0)), 7], INT)
        return nodes.add("DecodeAndCropJpeg", text, window, channels=channels)
    if roll < 0.3:
        return nodes.add("DecodeImage", text, channels=channels, dtype=dice.choice((_UINT8, FLOAT)))
    op = dice.choice(_IMAGES)
    if op == "DecodeJpeg":
        return nodes.add(op, text, channels=channels, ratio=dice.choice((1, 2, 4, 8, 3)),
                         try_recover_truncated=dice.random() < 0.5,
                         acceptable_fraction=dice.choice((1.0, 0.5, 0.0)),
                         dct_method=dice.choice(("", "INTEGER_ACCURATE", "odd")))  # fmt: skip
    if op == "DecodePng":
        return nodes.add(op, text, channels=channels, dtype=dice.choice((_UINT8, 17)))
    return nodes.add(op, text, channels=channels) if op == "DecodeBmp" else nodes.add(op, text)


def _sound(nodes: Nodes, text: str) -> Any:
    dice = nodes.dice
    sound = nodes.add("DecodeWav", text, desired_channels=dice.choice((-1, 1, 2, 5, -3)),
                      desired_samples=dice.choice((-1, 3, 100)))  # fmt: skip
    return sound + nodes.add("EncodeWav", sound[0][0], sound[1][0])


def _message(nodes: Nodes, text: str) -> Any:
    dice = nodes.dice
    kinds = [dice.choice((LONG, FLOAT, TEXT)) for _ in range(2)]
    shapes = [dice.choice(((), (3,), (None,), (2, 2))) for _ in kinds]
    wanted = [dice.choice((LONG, FLOAT, TEXT)) for _ in range(dice.choice((0, 1)))]
    names = [dice.choice((b"a", b"b", b"c", b"absent")) for _ in range(3)]
    rows = [shape if None not in shape else () for shape in shapes]
    empty = [
        nodes.constant(kind, dims if dice.random() < 0.9 else (3,))
        for kind, dims in zip(kinds, rows, strict=True)
    ]
    roll = dice.random()
    if roll < 0.25:
        return nodes.add("ParseSingleExample", text, *empty, num_sparse=len(wanted),
                         sparse_keys=[b"a"] * len(wanted), dense_keys=names[:2],
                         sparse_types=wanted, Tdense=kinds, dense_shapes=shapes)  # fmt: skip
    if roll < 0.6:
        many = nodes.add("Reshape", text, nodes.literal([-1], INT), T=TEXT, Tshape=INT)[0][0]
        inputs = [many, nodes.literal([], TEXT), *(nodes.literal(b"c", TEXT) for _ in wanted),
                  *(nodes.literal(name, TEXT) for name in names[:2]), *empty]  # fmt: skip
        return nodes.add("ParseExample", *inputs, Nsparse=len(wanted), Ndense=2,
                         sparse_types=wanted, Tdense=kinds, dense_shapes=shapes)  # fmt: skip
    if roll < 0.85:
        absent = nodes.literal(dice.choice(([], [b"a"])), TEXT)
        keys = [nodes.literal(name, TEXT) for name in names]
        inputs = [text, absent, *keys, empty[0], nodes.literal(b"", TEXT)]
        return nodes.add(
            "ParseSingleSequenceExample", *inputs, Ncontext_sparse=1, Ncontext_dense=1,
            Nfeature_list_sparse=0, Nfeature_list_dense=1, context_sparse_types=[LONG],
            Tcontext_dense=kinds[:1], feature_list_dense_types=kinds[1:],
            context_dense_shapes=shapes[:1],
            feature_list_sparse_types=[], feature_list_dense_shapes=shapes[1:],
        )  # fmt: skip
    if roll < 0.95:
        return nodes.add("ParseTensor", text, out_type=dice.choice(_NUMBERS))
    return nodes.add("DecodeJSONExample", text)


def _lines(nodes: Nodes, text: str) -> Any:
    dice = nodes.dice
    kinds = [dice.choice((LONG, FLOAT, TEXT, INT, DOUBLE)) for _ in range(3)]
    defaults = [nodes.constant(kind, dice.choice(((1,), (1,), (0,), (2,)))) for kind in kinds]
    return nodes.add("DecodeCSV", text, *defaults, OUT_TYPE=kinds,
                     field_delim=dice.choice((",", ",", ",", ";", "")),
                     use_quote_delim=dice.random() < 0.7, na_value=dice.choice(("", "x")),
                     select_cols=dice.choice(([], [], [0, 1, 2], [2, 1], [7, 8, 9])))  # fmt: skip


def _raw(nodes: Nodes, text: str) -> Any:
    dice = nodes.dice
    roll = dice.random()
    if roll < 0.3:
        return nodes.add("DecodeRaw", text, out_type=dice.choice((*_NUMBERS, BOOL)),
                         little_endian=dice.random() < 0.5)  # fmt: skip
    if roll < 0.5:
        packed = dice.choice(("", "ZLIB", "GZIP", "odd"))
        return nodes.add("DecodeCompressed", text, compression_type=packed)
    if roll < 0.7:
        return nodes.add("DecodeBase64", text)
    if roll < 0.8:
        return nodes.add("ReadFile", nodes.literal(dice.choice(FILES), TEXT))
    return nodes.add("StringToNumber", text, out_type=dice.choice((FLOAT, DOUBLE, INT, LONG)))


_OPS = {"image": _image, "sound": _sound, "message": _message, "lines": _lines, "raw": _raw}
