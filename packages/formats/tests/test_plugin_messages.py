import pytest

from headrace.formats.proto import (
    plugin_custom_scalars_pb2,
    plugin_data_pb2,
    plugin_hparams_pb2,
    plugin_mesh_pb2,
    plugin_pr_curve_pb2,
    plugin_projector_pb2,
)

# Each message with the bytes that TensorBoard 2.21 writes for it.
GOLDEN = [
    (plugin_pr_curve_pb2.PrCurvePluginData(num_thresholds=201), "10c901"),
    (plugin_data_pb2.AudioPluginData(encoding=11), "100b"),
    (
        plugin_mesh_pb2.MeshPluginData(
            version=1, name="cow", content_type=1, shape=[1, 3, 3], components=14
        ),
        "08011203636f7718013203010303380e",
    ),
    (
        plugin_hparams_pb2.HParamsPluginData(
            session_end_info=plugin_hparams_pb2.SessionEndInfo(status=1, end_time_secs=2)
        ),
        "220b0801110000000000000040",
    ),
    (
        plugin_custom_scalars_pb2.Layout(
            category=[
                plugin_custom_scalars_pb2.Category(
                    title="c",
                    chart=[
                        plugin_custom_scalars_pb2.Chart(
                            title="t",
                            multiline=plugin_custom_scalars_pb2.MultilineChartContent(tag=["a"]),
                        )
                    ],
                )
            ]
        ),
        "120d0a016312080a017412030a0161",
    ),
    (
        plugin_projector_pb2.ProjectorConfig(
            embeddings=[plugin_projector_pb2.EmbeddingInfo(tensor_name="e", tensor_path="e.tsv")]
        ),
        "120a0a01653205652e747376",
    ),
]


@pytest.mark.parametrize("message, expected", GOLDEN, ids=lambda v: type(v).__name__)
def test_plugin_messages_serialize_to_the_bytes_of_tensorboard(message, expected):
    assert message.SerializeToString().hex() == expected
    assert type(message).FromString(bytes.fromhex(expected)) == message
