import io
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packed import pack

from headrace.formats import errors, sorted_table
from headrace.formats.masked_crc import masked_crc32c
from headrace.formats.sorted_table import TableReader, TableWriter, decode_varint
from headrace.formats.wire import encode_varint


def table(entries, **options):
    file = io.BytesIO()
    writer = TableWriter(file, **options)
    for key, value in sorted(entries.items()):
        writer.add(key, value)
    writer.finish()
    return file.getvalue()


ENTRIES = {b"layer_%03d/kernel" % i: b"v" * (i % 9) for i in range(200)}


@pytest.mark.parametrize("block_bytes", [1, 50, 4096, 1 << 18])
@pytest.mark.parametrize("restart_interval", [1, 3, 16])
def test_entries_round_trip(block_bytes, restart_interval):
    data = table(ENTRIES, block_bytes=block_bytes, restart_interval=restart_interval)
    reader = TableReader(data)
    assert dict(reader.items()) == ENTRIES
    assert [k for k, _ in reader.items()] == sorted(ENTRIES)
    assert reader.get(b"layer_077/kernel") == ENTRIES[b"layer_077/kernel"]
    for missing in (b"", b"layer_077", b"layer_077/kernel!", b"z"):
        assert reader.get(missing) is None


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(st.binary(max_size=20), st.binary(max_size=40), max_size=40),
    st.integers(1, 200),
    st.integers(1, 5),
)
def test_arbitrary_entries_round_trip(entries, block_bytes, restart_interval):
    reader = TableReader(table(entries, block_bytes=block_bytes, restart_interval=restart_interval))
    assert dict(reader.items()) == entries
    for key, value in entries.items():
        assert reader.get(key) == value


def test_shared_prefixes_are_stored_once():
    assert len(table(ENTRIES, restart_interval=16)) < len(table(ENTRIES, restart_interval=1)) / 1.5


def test_writer_rejects_keys_out_of_order():
    writer = TableWriter(io.BytesIO())
    writer.add(b"b", b"")
    for key in (b"a", b"b"):
        with pytest.raises(errors.InvalidArgumentError, match="does not follow b'b'"):
            writer.add(key, b"")
    with pytest.raises(errors.InvalidArgumentError, match="exceeds 65536"):
        writer.add(b"c" * 70000, b"")


@given(st.integers(0, 2**64 - 1))
def test_varints_round_trip(value):
    assert decode_varint(encode_varint(value), 0) == (value, len(encode_varint(value)))


def test_every_flipped_bit_of_a_block_raises_data_loss_error(tmp_path):
    data = table(dict(list(ENTRIES.items())[:12]), block_bytes=60)
    whole = dict(TableReader(data).items())
    for bit in range((len(data) - 48) * 8):
        bad = bytearray(data)
        bad[bit // 8] ^= 1 << bit % 8
        try:
            # The metaindex block is empty and never read.
            assert dict(TableReader(bytes(bad), "t").items()) == whole
        except errors.DataLossError as error:
            assert error.path == "t" and 0 <= error.offset <= len(data)
            assert abs(bit // 8 - error.offset) < 400


def test_truncation_at_any_byte_raises_data_loss_error(tmp_path):
    data = table(ENTRIES, block_bytes=300)
    for cut in range(len(data)):
        with pytest.raises(errors.DataLossError) as raised:
            list(TableReader(data[:cut]).items())
        assert raised.value.offset <= cut


def block(entries, restarts=(0,)):
    body = b"".join(entries) + struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts))
    return body


def framed(body, kind=0):
    return body + bytes((kind,)) + struct.pack("<I", masked_crc32c(body + bytes((kind,))))


def handle(offset, size):
    return encode_varint(offset) + encode_varint(size)


def file_of(data_block, kind=0, data_handle=None):
    """Returns a table with one data block of arbitrary bytes."""
    data = framed(data_block, kind)
    index_value = data_handle or handle(0, len(data_block))
    entry = bytes((0, 1, len(index_value))) + b"z" + index_value
    index = framed(block([entry]))
    offset = len(data)
    footer = (handle(0, 0) + handle(offset, len(index) - 5)).ljust(40, b"\0")
    return data + index + footer + struct.pack("<Q", sorted_table.MAGIC)


LONG = encode_varint(2**63)


@pytest.mark.parametrize(
    ("data", "error", "text", "offset"),
    [
        (b"", errors.DataLossError, "0 bytes are too few for a table", 0),
        (b"x" * 100, errors.DataLossError, "ends in 0x7878787878787878", 52),
        (file_of(b""), errors.DataLossError, "too small for its restart points", 0),
        (file_of(b"\xff\xff\xff\x7f"), errors.DataLossError, "2147483647 restart points", 0),
        (file_of(block([b"\x05\x01\x00a"])), errors.DataLossError, "exceeds the block", 0),
        (file_of(block([b"\x00" + LONG + b"\x00a"])), errors.DataLossError, "exceeds the block", 0),
        (file_of(block([b"\x00\x01\x00b", b"\x00\x01\x00a"])), errors.DataLossError,
         "key b'a' does not follow b'b'", 0),
        (file_of(block([b"\x00\xff"])), errors.DataLossError, "the block is corrupted", 0),
        (file_of(block([b"\xff" * 11])), errors.DataLossError, "corrupted", 0),
        (file_of(block([b"\x00\x01\x00a"]), kind=1), errors.DataLossError,
         "the compressed block is corrupted", 0),
        (file_of(block([b"\x00\x01\x00a"]), kind=7), errors.DataLossError,
         "unknown compression 7", 0),
        (file_of(block([]), data_handle=handle(2**40, 5)), errors.DataLossError,
         "a block of 5 bytes at 1099511627776 exceeds the", 2**40),
        (file_of(block([]), data_handle=handle(0, 2**60)), errors.DataLossError,
         "exceeds the", 0),
        (file_of(block([]), data_handle=b"\xff"), errors.DataLossError, "index is corrupted", 0),
        (file_of(block([b"\x00\x01\x00~"])), errors.DataLossError, "the block ends in b'~'", 0),
    ],
)  # fmt: skip
def test_invalid_tables_raise_with_an_offset(data, error, text, offset):
    with pytest.raises(error, match=text) as raised:
        list(TableReader(data, "t").items())
    assert (raised.value.path, raised.value.offset) == ("t", offset)


def test_keys_that_expand_to_gigabytes_raise_data_loss_error():
    first = b"\x00" + encode_varint(60000) + b"\x00" + b"a" * 60000
    grow = [encode_varint(60000 + i) + b"\x01\x00b" for i in range(5000)]
    with pytest.raises(errors.DataLossError, match="expand to many times its size"):
        for _ in TableReader(file_of(block([first, *grow]))).items():
            pass


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_arbitrary_blocks_are_read_or_raise_data_loss_error(data):
    try:
        list(TableReader(file_of(data)).items())
    except errors.DataLossError:
        pass


def compressed(data):
    """Returns a table with its blocks compressed, the index included."""
    reader = TableReader(data)
    out, entries = b"", []
    for key, handle_bytes in reader._index:
        offset, size = reader._handle(handle_bytes)
        packed = pack(data[offset : offset + size])
        entries.append((key, handle(len(out), len(packed))))
        out += framed(packed, kind=1)
    index = b"".join(bytes((0, len(k))) + encode_varint(len(h)) + k + h for k, h in entries)
    packed = pack(block([index]))
    footer = (handle(0, 0) + handle(len(out), len(packed))).ljust(40, b"\0")
    return out + framed(packed, kind=1) + footer + struct.pack("<Q", sorted_table.MAGIC)


def test_compressed_blocks_are_unpacked():
    data = table(ENTRIES, block_bytes=300)
    smaller = compressed(data)
    assert len(smaller) < len(data) - 100
    assert dict(TableReader(smaller).items()) == ENTRIES
    key = sorted(ENTRIES)[5]
    assert TableReader(smaller).get(key) == ENTRIES[key]


def test_missing_file_raises_not_found_error(tmp_path):
    with pytest.raises(errors.NotFoundError, match="no such file"):
        TableReader.open(tmp_path / "none")


def _scan(data):
    """Returns the expected output of the C reader, computed by the Python reader."""
    lines = []
    try:
        for key, value in TableReader(data).items():
            total = 0
            for byte in key + value:
                total = (total * 31 + byte) % 2**64
            lines.append(f"{len(key)} {len(value)} {total % 1000000007}")
    except errors.DataLossError as error:
        return [*lines, f"end 2 {error.offset}"]
    return [*lines, "end 1 0"]


def test_c_reader_agrees_with_python_on_intact_and_corrupted_tables(native, tmp_path):
    scan = native("table_scan.c")
    path = tmp_path / "t"
    whole = table(ENTRIES, block_bytes=200)
    cases = [whole, b"", whole[:100], whole[1:], table({})]
    cases += [compressed(whole), compressed(table({b"k050": b"v" * 5000}))]
    cases += [file_of(b""), file_of(block([b"\x05\x01\x00a"])), file_of(block([]), kind=1)]
    cases += [file_of(block([]), data_handle=handle(2**40, 5)), file_of(b"\xff\xff\xff\x7f")]
    for bit in range(0, len(whole) * 8, 1009):
        bad = bytearray(whole)
        bad[bit // 8] ^= 1 << bit % 8
        cases.append(bytes(bad))
    for case in cases:
        path.write_bytes(case)
        assert scan(path) == _scan(case)


def test_c_reader_handles_flipped_bits_and_truncation_under_sanitizers(native, tmp_path):
    scan = native("table_scan.c", sanitize=True)
    path = tmp_path / "t"
    path.write_bytes(
        table({b"k%03d" % i: b"v" * (i % 9) for i in range(0, 100, 3)}, block_bytes=90)
    )
    assert scan(path, "corruption")[-1] == "survived 1"
    path.write_bytes(compressed(path.read_bytes()))
    assert scan(path, "corruption")[-1] == "survived 1"
