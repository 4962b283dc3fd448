"""The message XSpace of XLA's profiler, as far as a timeline needs it.

Source: the field numbers of tsl/profiler/protobuf/xplane.proto.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_TYPES = {
    "int64": descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
    "uint64": descriptor_pb2.FieldDescriptorProto.TYPE_UINT64,
    "double": descriptor_pb2.FieldDescriptorProto.TYPE_DOUBLE,
    # Texts of a trace may be cut within a character, which a string field would reject.
    "text": descriptor_pb2.FieldDescriptorProto.TYPE_BYTES,
}
# message: (field, number, type, whether repeated); a map is a list of entries on the wire
_MESSAGES: dict[str, list[tuple[str, int, str, bool]]] = {
    "XStat": [
        ("metadata_id", 1, "int64", False),
        ("double_value", 2, "double", False),
        ("uint64_value", 3, "uint64", False),
        ("int64_value", 4, "int64", False),
        ("str_value", 5, "text", False),
        ("ref_value", 7, "uint64", False),
    ],
    "XEvent": [
        ("metadata_id", 1, "int64", False),
        ("offset_ps", 2, "int64", False),
        ("duration_ps", 3, "int64", False),
        ("stats", 4, "XStat", True),
    ],
    "XLine": [
        ("id", 1, "int64", False),
        ("name", 2, "text", False),
        ("timestamp_ns", 3, "int64", False),
        ("events", 4, "XEvent", True),
        ("display_name", 11, "text", False),
    ],
    "XEventMetadata": [("name", 2, "text", False), ("display_name", 4, "text", False)],
    "XStatMetadata": [("name", 2, "text", False)],
    "EventEntry": [("key", 1, "int64", False), ("value", 2, "XEventMetadata", False)],
    "StatEntry": [("key", 1, "int64", False), ("value", 2, "XStatMetadata", False)],
    "XPlane": [
        ("name", 2, "text", False),
        ("lines", 3, "XLine", True),
        ("event_metadata", 4, "EventEntry", True),
        ("stat_metadata", 5, "StatEntry", True),
    ],
    "XSpace": [("planes", 1, "XPlane", True), ("hostnames", 4, "text", True)],
}


@cache
def xspace_class() -> Any:
    """Returns the message class XSpace."""
    file = descriptor_pb2.FileDescriptorProto(
        name="headrace/board/xspace.proto", package="headrace.board.xspace", syntax="proto2"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, type_name, repeated in fields:
            label = "LABEL_REPEATED" if repeated else "LABEL_OPTIONAL"
            one = message.field.add(
                name=field,
                number=number,
                label=getattr(descriptor_pb2.FieldDescriptorProto, label),
            )
            if type_name in _TYPES:
                one.type = _TYPES[type_name]
            else:
                one.type = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
                one.type_name = f".headrace.board.xspace.{type_name}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindMessageTypeByName("headrace.board.xspace.XSpace")
    return message_factory.GetMessageClass(found)
