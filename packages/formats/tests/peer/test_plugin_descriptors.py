"""Messages and enums of the plugins have the same fields and numbers as TensorBoard's."""

import importlib

import pytest

pytestmark = pytest.mark.peer

THEIRS = {
    "plugin_data": ["scalar", "histogram", "image", "audio", "text"],
    "plugin_pr_curve": ["pr_curve"],
    "plugin_custom_scalars": ["custom_scalar.layout"],
    "plugin_hparams": ["hparams", "hparams.api"],
    "plugin_mesh": ["mesh"],
    "plugin_projector": ["projector.projector_config"],
}


def _described(files):
    """Maps the name of each message field and enum value to its description."""
    found = {}

    def message(descriptor, where):
        where = f"{where}{descriptor.name}."
        for f in descriptor.fields:
            type_name = (f.message_type or f.enum_type).name if f.type in (11, 14) else ""
            oneof = f.containing_oneof.name if f.containing_oneof else ""
            found[where + f.name] = (f.number, f.type, f.is_repeated, type_name, oneof)
        for nested in descriptor.nested_types:
            message(nested, where)
        for e in descriptor.enum_types:
            enum(e, where)

    def enum(descriptor, where=""):
        for value in descriptor.values:
            found[f"{where}{descriptor.name}.{value.name}"] = value.number

    for file in files:
        for descriptor in file.message_types_by_name.values():
            message(descriptor, "")
        for descriptor in file.enum_types_by_name.values():
            enum(descriptor)
    return found


@pytest.mark.parametrize("ours", THEIRS)
def test_plugin_messages_have_the_fields_of_tensorboard(ours):
    mine = _described([importlib.import_module(f"headrace.formats.proto.{ours}_pb2").DESCRIPTOR])
    modules = [f"{name if '.' in name else name + '.plugin_data'}_pb2" for name in THEIRS[ours]]
    theirs = _described(
        importlib.import_module(f"tensorboard.plugins.{name}").DESCRIPTOR for name in modules
    )
    assert mine
    assert mine == {name: what for name, what in theirs.items() if name in mine}
    names = {name.rsplit(".", 1)[0] for name in mine}
    assert set(mine) == {name for name in theirs if name.rsplit(".", 1)[0] in names}
