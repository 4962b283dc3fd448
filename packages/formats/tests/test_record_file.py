import gzip
import pickle
import struct
import zlib

import google_crc32c
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.formats import errors, masked_crc
from headrace.formats.record_file import (
    RecordReader,
    RecordWriter,
    TornRecordError,
    frame,
    read_records,
)

RECORDS = [b"first", b"", b"x" * 1000, b"last"]


def write(path, records=RECORDS, **options):
    with RecordWriter(path, **options) as writer:
        for record in records:
            writer.write(record)
    return path


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "records")


def test_crc_is_crc32c_and_unmask_inverts_mask():
    assert masked_crc.crc32c(b"123456789") == 0xE3069283
    assert (
        masked_crc.crc32c(memoryview(b"6789"), masked_crc.crc32c(bytearray(b"12345"))) == 0xE3069283
    )
    assert masked_crc.crc32c(memoryview(b"")) == 0
    for crc in (0, 1, 0xFFFFFFFF, 0xE3069283):
        assert masked_crc.unmask(masked_crc.mask(crc)) == crc
    assert masked_crc.masked_crc32c(b"") == 0xA282EAD8
    assert google_crc32c.implementation == "c"


def test_frame_has_the_bytes_of_a_tfrecord():
    # what TensorFlow 2.21 writes for the record b"abc"
    assert frame(b"abc").hex() == "0300000000000000b099490e6162636e57f121"


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB", None])
def test_records_round_trip(tmp_path, compression):
    big = [bytes([i % 251]) * (i * 997 % 70000) for i in range(40)]
    path = write(tmp_path / "r", big, compression=compression)
    assert list(read_records(path, compression)) == big


@settings(max_examples=50, deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=12), st.sampled_from(["", "GZIP", "ZLIB"]))
def test_arbitrary_records_round_trip(tmp_path_factory, records, compression):
    path = write(tmp_path_factory.mktemp("h") / "r", records, compression=compression)
    assert list(read_records(path, compression)) == records


def test_gzip_and_zlib_modules_read_compressed_files(tmp_path):
    plain = b"".join(map(frame, RECORDS))
    path = write(tmp_path / "g", compression="GZIP")
    assert gzip.decompress(path.read_bytes()) == plain
    path = write(tmp_path / "z", compression="ZLIB")
    assert zlib.decompress(path.read_bytes()) == plain


def test_append_adds_records_to_an_existing_file(tmp_path):
    for compression in ("", "GZIP"):
        path = tmp_path / f"a{compression}"
        write(path, compression=compression)
        write(path, [b"more"], compression=compression, append=True)
        assert list(read_records(path, compression)) == [*RECORDS, b"more"]
    with pytest.raises(errors.InvalidArgumentError, match="cannot append to a ZLIB stream"):
        RecordWriter(tmp_path / "z", "ZLIB", append=True)


def test_truncated_file_gives_its_complete_records_and_then_torn_record_error(file):
    whole = file.read_bytes()
    starts = [0]
    for record in RECORDS:
        starts.append(starts[-1] + 16 + len(record))
    for cut in range(len(whole) + 1):
        file.write_bytes(whole[:cut])
        count = sum(start <= cut for start in starts) - 1
        with RecordReader(file) as reader:
            assert [reader.read() for _ in range(count)] == RECORDS[:count]
            if cut in starts:
                assert reader.read() is None
                continue
            for _ in range(2):
                with pytest.raises(TornRecordError, match="truncated record") as raised:
                    reader.read()
                assert (raised.value.path, raised.value.offset) == (str(file), starts[count])


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_reader_continues_when_a_truncated_file_grows(tmp_path, compression):
    whole = write(tmp_path / "w", compression=compression).read_bytes()
    path = tmp_path / "growing"
    path.write_bytes(b"")
    with RecordReader(path, compression) as reader:
        got = []
        for end in range(1, len(whole) + 1):
            with open(path, "ab") as file:
                file.write(whole[end - 1 : end])
            try:
                while (record := reader.read()) is not None:
                    got.append(record)
            except TornRecordError as error:
                assert error.code == errors.DATA_LOSS
    assert got == RECORDS


def test_reader_starts_at_an_offset(tmp_path):
    for compression in ("", "GZIP"):
        path = write(tmp_path / f"o{compression}", compression=compression)
        with RecordReader(path, compression) as reader:
            reader.read()
            offset = reader.offset
        assert offset == 21
        with RecordReader(path, compression, offset=offset) as reader:
            assert list(reader) == RECORDS[1:]


def test_every_flipped_bit_raises_data_loss_error_at_the_offset_of_its_record(tmp_path):
    path = write(tmp_path / "f", [b"abcdefgh", b"next"])
    whole = path.read_bytes()
    for bit in range(24 * 8):
        bad = bytearray(whole)
        bad[bit // 8] ^= 1 << bit % 8
        path.write_bytes(bad)
        with RecordReader(path) as reader:
            with pytest.raises(errors.DataLossError) as raised:
                reader.read()
            assert (raised.value.path, raised.value.offset) == (str(path), 0)
            assert not isinstance(raised.value, TornRecordError)
            if 12 * 8 <= bit:  # the length is intact: only this record is lost
                assert reader.skip()
                assert list(reader) == [b"next"]


def test_length_beyond_the_file_allocates_no_memory(tmp_path):
    import tracemalloc

    path = tmp_path / "hostile"
    length = struct.pack("<Q", 2**31 - 2)
    header = length + struct.pack("<I", masked_crc.masked_crc32c(length))
    path.write_bytes(header + b"abc")
    zipped = tmp_path / "zipped"
    zipped.write_bytes(zlib.compress(header + b"abc"))
    tracemalloc.start()
    with pytest.raises(TornRecordError, match="its 2147483646 bytes of data are incomplete"):
        list(read_records(path))
    with pytest.raises(TornRecordError):
        list(read_records(zipped, "ZLIB"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000
    length = struct.pack("<Q", 2**63)
    path.write_bytes(length + struct.pack("<I", masked_crc.masked_crc32c(length)))
    with pytest.raises(errors.DataLossError, match="above the 2147483647 bytes allowed"):
        list(read_records(path))


def test_errors_name_the_cause(tmp_path, file):
    with pytest.raises(errors.NotFoundError, match="no such file"):
        RecordReader(tmp_path / "none")
    with pytest.raises(errors.InvalidArgumentError, match="compression 'LZ4' is unknown"):
        RecordReader(file, "LZ4")
    zipped = write(tmp_path / "gz", compression="GZIP")
    with pytest.raises(errors.DataLossError, match='open it with compression="GZIP"'):
        list(read_records(zipped))
    with pytest.raises(errors.DataLossError, match="the compressed stream is corrupted"):
        list(read_records(file, "GZIP"))
    bad = bytearray(file.read_bytes())
    bad[13] ^= 1
    file.write_bytes(bad)
    with pytest.raises(errors.DataLossError) as raised:
        list(read_records(file))
    assert str(raised.value) == (
        f"{file}: corrupted record at byte 0: data has CRC 0xba5399ce but 0xe523ff55 is stored"
    )
    assert pickle.loads(pickle.dumps(raised.value)).offset == 0


def _scan(path):
    """Returns the expected output of the C reader, computed by the Python reader."""
    lines = []
    with RecordReader(path, max_record_bytes=2**31 - 1) as reader:
        while True:
            offset = reader.offset
            try:
                record = reader.read()
            except TornRecordError:
                lines.append(f"2 {offset} 0")
                break
            except errors.DataLossError as error:
                if "data has CRC" not in error.message:
                    lines.append(f"3 {offset} 0")
                    break
                reader.skip()
                lines.append(f"4 {offset} {reader.offset - offset - 16}")
                continue
            if record is None:
                lines.append(f"1 {offset} 0")
                break
            lines.append(f"0 {offset} {len(record)}")
    return lines


def test_c_reader_agrees_with_python_on_intact_and_corrupted_files(native, file):
    scan = native("record_scan.c")
    whole = file.read_bytes()
    cases = [whole, b"", *(whole[:n] for n in (1, 11, 12, 20, 21, 30, len(whole) - 1))]
    for bit in range(0, len(whole) * 8, 97):
        bad = bytearray(whole)
        bad[bit // 8] ^= 1 << bit % 8
        cases.append(bytes(bad))
    for case in cases:
        file.write_bytes(case)
        lines = _scan(file)
        assert scan(file) == lines + lines


def test_c_reader_handles_flipped_bits_and_truncation_under_sanitizers(native, tmp_path):
    path = write(tmp_path / "s", [b"abcdefgh" * 9, b"", b"z" * 300])
    scan = native("record_scan.c", sanitize=True)
    assert scan(path, "corruption")[-1] == "survived 1"
    length = struct.pack("<Q", 2**31 - 2)
    path.write_bytes(length + struct.pack("<I", masked_crc.masked_crc32c(length)) + b"abc")
    assert scan(path) == ["2 0 0", "2 0 0"]


def test_c_header_compiles_as_cpp(native, tmp_path):
    scan = native("record_scan.c", "-xc++", compiler="g++")
    assert scan(write(tmp_path / "p", [b"a"])) == ["0 0 1", "1 17 0"] * 2
