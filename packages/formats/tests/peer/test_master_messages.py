"""The messages of MasterService have the fields of TensorFlow's C++ header."""

import re
from pathlib import Path

import pytest

from headrace.formats.proto import master_pb2

pytestmark = pytest.mark.peer

FIRST_OWN = 10000


def _fields_of_tensorflow(header):
    """Field numbers by name, by message."""
    found = {}
    for part in re.split(r"^class PROTOBUF_EXPORT (?=\w+ final)", header, flags=re.MULTILINE)[1:]:
        name = part.split(" ", 1)[0]
        found[name] = {
            re.sub(r"(?<!^)(?=[A-Z])", "_", field).lower(): int(number)
            for field, number in re.findall(r"k(\w+)FieldNumber = (\d+)", part)
        }
    return found


def test_fields_equal_tensorflow(tf):
    path = Path(tf.sysconfig.get_include(), "tensorflow/core/protobuf/master.pb.h")
    theirs = _fields_of_tensorflow(path.read_text())
    ours = {
        name: {f.name: f.number for f in message.fields if f.number < FIRST_OWN}
        for name, message in master_pb2.DESCRIPTOR.message_types_by_name.items()
    }
    assert len(ours) == 20
    assert ours == {name: theirs[name] for name in ours}
    assert set(theirs) == set(ours)
