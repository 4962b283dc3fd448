"""Messages and enums have the same fields, numbers and types as TensorFlow's."""

import importlib
from pathlib import Path

import pytest
from google.protobuf.descriptor import FieldDescriptor

from headrace.formats import proto

pytestmark = pytest.mark.peer

ALL = {p.stem for p in Path(proto.__file__).parent.glob("*.proto")}
# Headrace's own messages, and those of which TensorFlow's package has no Python module
# (test_master_messages.py).
HEADRACE_ONLY = {"master", "plan", "worker_service"}
# test_plugin_descriptors.py compares the plugins' messages with TensorBoard's.
OURS = sorted(name for name in ALL - HEADRACE_ONLY if not name.startswith("plugin_"))

THEIRS = [
    "framework.graph", "framework.step_stats", "framework.summary", "framework.kernel_def",
    "framework.device_attributes", "framework.variable", "framework.cost_graph",
    "framework.reader_base", "framework.op_def", "framework.types",
    "protobuf.config", "protobuf.meta_graph", "protobuf.queue_runner", "protobuf.control_flow",
    "protobuf.saved_model", "protobuf.tensor_bundle", "protobuf.tensorflow_server",
    "protobuf.named_tensor", "protobuf.device_properties", "protobuf.error_codes",
    "util.event", "util.saved_tensor_slice", "example.example",
]  # fmt: skip


# Headrace's fields have numbers from here on, which TensorFlow will hardly use.
FIRST_OWN = 10000
OWN = {
    "ConfigProto.Experimental.placement_simulation",
    "ConfigProto.Experimental.plan_memory_limit_bytes",
    "ConfigProto.Experimental.refuse_reference_kernels",
    "ConfigProto.Experimental.transfer_gigabytes_per_second",
    "ConfigProto.Experimental.transfer_latency_us",
    "RunMetadata.placement",
}


def _collect(module_names):
    messages, enums, seen = {}, {}, set()

    def walk(file):
        if file.name in seen or file.name.startswith("google/"):
            return
        if Path(file.name).stem in HEADRACE_ONLY:
            return
        seen.add(file.name)
        messages.update(file.message_types_by_name)
        enums.update(file.enum_types_by_name)
        for dependency in file.dependencies:
            walk(dependency)

    for name in module_names:
        walk(importlib.import_module(name).DESCRIPTOR)
    return messages, enums


@pytest.fixture(scope="module")
def both():
    import tensorflow  # noqa: F401  (registers all of its files)

    ours = _collect(f"headrace.formats.proto.{name}_pb2" for name in OURS)
    theirs = _collect(
        [f"tensorflow.core.{name}_pb2" for name in THEIRS]
        + ["tensorflow.python.training.checkpoint_state_pb2"]
    )
    return ours, theirs


def _relative(descriptor):
    """Returns the name without the package, the only part that may differ."""
    full = descriptor.full_name
    if descriptor.file.name.startswith("google/"):
        return full
    return full.removeprefix(descriptor.file.package + ".")


def _field(field):
    message, enum, oneof = field.message_type, field.enum_type, field.containing_oneof
    return {
        "name": field.name,
        "number": field.number,
        "type": field.type,
        "repeated": field.is_repeated,
        "packed": field.is_packed if field.is_repeated else None,
        # entries of a map always have both fields
        "presence": field.has_presence and not field.containing_type.GetOptions().map_entry,
        "message": message and _relative(message),
        "enum": enum and _relative(enum),
        # proto3 represents an optional field by a synthetic oneof
        "oneof": None if oneof is None or oneof.name == f"_{field.name}" else oneof.name,
        "default": field.default_value if field.type != FieldDescriptor.TYPE_MESSAGE else None,
    }


def _enum(enum):
    return {"name": _relative(enum), "values": {v.name: v.number for v in enum.values}}


def _message(message):
    return {
        "name": _relative(message),
        "is_map": message.GetOptions().map_entry,
        "fields": [
            _field(f)
            for f in sorted(message.fields, key=lambda f: f.number)
            if f.number < FIRST_OWN
        ],
        "enums": sorted((_enum(e) for e in message.enum_types), key=lambda e: e["name"]),
        "nested": sorted((_message(m) for m in message.nested_types), key=lambda m: m["name"]),
    }


def test_messages_have_the_fields_of_tensorflow(both):
    (ours, _), (theirs, _) = both
    assert len(ours) > 120
    assert set(ours) <= set(theirs)
    for name, message in ours.items():
        assert _message(message) == _message(theirs[name])


def test_headrace_adds_only_the_listed_fields(both):
    def own(message):
        for field in message.fields:
            if field.number >= FIRST_OWN:
                yield f"{_relative(message)}.{field.name}"
        for nested in message.nested_types:
            yield from own(nested)

    (ours, _), _ = both
    assert {name for message in ours.values() for name in own(message)} == OWN


def test_enums_have_the_values_of_tensorflow(both):
    (_, ours), (_, theirs) = both
    assert set(ours) <= set(theirs)
    for name, enum in ours.items():
        assert _enum(enum) == _enum(theirs[name])


def test_headrace_omits_only_the_listed_messages(both):
    (ours, our_enums), (theirs, their_enums) = both
    assert set(theirs) - set(ours) == {
        "RequestedExitCode",
        "WatchdogConfig",
        "WorkerHeartbeatRequest",
        "WorkerHeartbeatResponse",
    }
    assert set(their_enums) - set(our_enums) == {"WorkerHealth", "WorkerShutdownMode"}


def test_reserved_numbers_equal_tensorflow(both):
    from google.protobuf import descriptor_pb2

    def reserved(message):
        copy = descriptor_pb2.DescriptorProto()
        message.CopyToProto(copy)
        return sorted((r.start, r.end) for r in copy.reserved_range)

    (ours, _), (theirs, _) = both
    for name, message in ours.items():
        assert reserved(message) == reserved(theirs[name]), name
