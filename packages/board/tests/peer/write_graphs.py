"""Writes the logs of networks that readers know: python write_graphs.py PART FOLDER.

PART is keras, tensorflow or torch; each network becomes one run of FOLDER. Runs in the
environments of these libraries, so it imports nothing of ours.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

STEPS = 20
UNITS = 32


def write_keras(folder: str) -> None:
    """The models of keras.applications and a transformer, as the callback writes them."""
    import keras
    import tensorflow as tf

    models = {
        "keras_inception_v3": keras.applications.InceptionV3,
        "keras_resnet50": keras.applications.ResNet50,
        "keras_mobilenet_v2": keras.applications.MobileNetV2,
        "keras_efficientnet_b0": keras.applications.EfficientNetB0,
        "keras_densenet121": keras.applications.DenseNet121,
    }
    for name, make in models.items():
        keras.backend.clear_session()
        write_keras_model(os.path.join(folder, name), make(weights=None))
    keras.backend.clear_session()
    write_keras_model(os.path.join(folder, "keras_transformer"), transformer(keras))
    # The same networks as TensorFlow sees them: every layer is a scope of a flat graph.
    for name in ("keras_inception_v3", "keras_resnet50"):
        keras.backend.clear_session()
        model = models[name](weights=None)
        call = tf.function(lambda x, model=model: model(x, training=False))
        concrete = call.get_concrete_function(tf.TensorSpec([1, *model.input_shape[1:]]))
        writer = tf.summary.create_file_writer(os.path.join(folder, f"{name}_ops"))
        with writer.as_default():
            tf.summary.graph(concrete.graph)
        writer.close()


def write_keras_model(folder: str, model: object) -> None:
    import tensorflow as tf
    from keras.src.callbacks.tensorboard import keras_model_summary

    writer = tf.summary.create_file_writer(folder)
    with writer.as_default():
        keras_model_summary("keras", model, step=0)
    writer.close()


def transformer(keras: object) -> object:
    """An encoder of six layers in the functional style, without any scope."""
    layers = keras.layers
    tokens = keras.Input([64], dtype="int32", name="tokens")
    x = layers.Embedding(1000, 128)(tokens)
    for _ in range(6):
        attended = layers.MultiHeadAttention(4, 32)(x, x)
        attended = layers.Dropout(0.1)(attended)
        x = layers.LayerNormalization()(layers.Add()([x, attended]))
        hidden = layers.Dense(512, activation="gelu")(x)
        hidden = layers.Dropout(0.1)(layers.Dense(128)(hidden))
        x = layers.LayerNormalization()(layers.Add()([x, hidden]))
    pooled = layers.GlobalAveragePooling1D()(x)
    return keras.Model(tokens, layers.Dense(10, activation="softmax")(pooled))


def write_tensorflow(folder: str) -> None:
    """Graphs of TensorFlow 1: slim's InceptionV3, recurrent networks, digits with gradients."""
    import tensorflow as tf

    tf.compat.v1.disable_control_flow_v2()
    makers: dict[str, Callable] = {
        "slim_inception_v3": slim_inception_v3,
        "unrolled_lstm": unrolled_lstm,
        "while_rnn": while_rnn,
        "digits": digits,
    }
    for name, make in makers.items():
        with tf.Graph().as_default() as graph:
            make(tf.compat.v1)
            tf.compat.v1.summary.FileWriter(os.path.join(folder, name), graph).close()


def slim_inception_v3(tf1: object) -> None:
    """Inception v3 with the scopes of TF-slim (Szegedy et al. 2015, figures 5, 6, 7 and 10)."""

    def conv(x: object, depth: int, size: tuple, name: str, stride: int = 1, pad: str = "SAME"):
        with tf1.variable_scope(name):
            shape = [*size, int(x.shape[-1]), depth]
            weights = tf1.get_variable("weights", shape)
            x = tf1.nn.conv2d(x, weights, [1, stride, stride, 1], pad, name="Conv2D")
            with tf1.variable_scope("BatchNorm"):
                beta = tf1.get_variable("beta", [depth])
                mean = tf1.get_variable("moving_mean", [depth], trainable=False)
                var = tf1.get_variable("moving_variance", [depth], trainable=False)
                x = tf1.nn.fused_batch_norm(
                    x, tf1.ones([depth]), beta, mean, var, 0.001, is_training=False
                )[0]
            return tf1.nn.relu(x, name="Relu")

    def pool(x: object, name: str, kind: str = "max", stride: int = 1, pad: str = "SAME"):
        op = tf1.nn.max_pool if kind == "max" else tf1.nn.avg_pool
        return op(x, [1, 3, 3, 1], [1, stride, stride, 1], pad, name=name)

    def mixed(x: object, name: str, *branches: Callable):
        with tf1.variable_scope(name):
            ends = []
            for number, branch in enumerate(branches):
                with tf1.variable_scope(f"Branch_{number}"):
                    ends.append(branch(x))
            return tf1.concat(ends, 3, name="concat")

    def chain(*steps: tuple) -> Callable:
        def built(x: object):
            for step in steps:
                x = pool(x, *step[1:]) if step[0] == "pool" else conv(x, *step)
            return x

        return built

    def split(depth: int, *first: tuple) -> Callable:
        def built(x: object):
            x = chain(*first)(x)
            a = conv(x, depth, (1, 3), "Conv2d_0b_1x3")
            b = conv(x, depth, (3, 1), "Conv2d_0c_3x1")
            return tf1.concat([a, b], 3, name="concat")

        return built

    images = tf1.placeholder(tf1.float32, [32, 299, 299, 3], "images")
    with tf1.variable_scope("InceptionV3"), tf1.variable_scope("InceptionV3"):
        x = conv(images, 32, (3, 3), "Conv2d_1a_3x3", 2, "VALID")
        x = conv(x, 32, (3, 3), "Conv2d_2a_3x3", pad="VALID")
        x = conv(x, 64, (3, 3), "Conv2d_2b_3x3")
        x = pool(x, "MaxPool_3a_3x3", stride=2, pad="VALID")
        x = conv(x, 80, (1, 1), "Conv2d_3b_1x1", pad="VALID")
        x = conv(x, 192, (3, 3), "Conv2d_4a_3x3", pad="VALID")
        x = pool(x, "MaxPool_5a_3x3", stride=2, pad="VALID")
        for letter, last in zip("bcd", (32, 64, 64)):
            x = mixed(
                x,
                f"Mixed_5{letter}",
                chain((64, (1, 1), "Conv2d_0a_1x1")),
                chain((48, (1, 1), "Conv2d_0a_1x1"), (64, (5, 5), "Conv2d_0b_5x5")),
                chain(
                    (64, (1, 1), "Conv2d_0a_1x1"),
                    (96, (3, 3), "Conv2d_0b_3x3"),
                    (96, (3, 3), "Conv2d_0c_3x3"),
                ),
                chain(("pool", "AvgPool_0a_3x3", "avg"), (last, (1, 1), "Conv2d_0b_1x1")),
            )
        x = mixed(
            x,
            "Mixed_6a",
            chain((384, (3, 3), "Conv2d_1a_1x1", 2, "VALID")),
            chain(
                (64, (1, 1), "Conv2d_0a_1x1"),
                (96, (3, 3), "Conv2d_0b_3x3"),
                (96, (3, 3), "Conv2d_1a_1x1", 2, "VALID"),
            ),
            chain(("pool", "MaxPool_1a_3x3", "max", 2, "VALID")),
        )
        for letter, depth in zip("bcde", (128, 160, 160, 192)):
            x = mixed(
                x,
                f"Mixed_6{letter}",
                chain((192, (1, 1), "Conv2d_0a_1x1")),
                chain(
                    (depth, (1, 1), "Conv2d_0a_1x1"),
                    (depth, (1, 7), "Conv2d_0b_1x7"),
                    (192, (7, 1), "Conv2d_0c_7x1"),
                ),
                chain(
                    (depth, (1, 1), "Conv2d_0a_1x1"),
                    (depth, (7, 1), "Conv2d_0b_7x1"),
                    (depth, (1, 7), "Conv2d_0c_1x7"),
                    (depth, (7, 1), "Conv2d_0d_7x1"),
                    (192, (1, 7), "Conv2d_0e_1x7"),
                ),
                chain(("pool", "AvgPool_0a_3x3", "avg"), (192, (1, 1), "Conv2d_0b_1x1")),
            )
        x = mixed(
            x,
            "Mixed_7a",
            chain((192, (1, 1), "Conv2d_0a_1x1"), (320, (3, 3), "Conv2d_1a_3x3", 2, "VALID")),
            chain(
                (192, (1, 1), "Conv2d_0a_1x1"),
                (192, (1, 7), "Conv2d_0b_1x7"),
                (192, (7, 1), "Conv2d_0c_7x1"),
                (192, (3, 3), "Conv2d_1a_3x3", 2, "VALID"),
            ),
            chain(("pool", "MaxPool_1a_3x3", "max", 2, "VALID")),
        )
        for letter in "bc":
            x = mixed(
                x,
                f"Mixed_7{letter}",
                chain((320, (1, 1), "Conv2d_0a_1x1")),
                split(384, (384, (1, 1), "Conv2d_0a_1x1")),
                split(384, (448, (1, 1), "Conv2d_0a_1x1"), (384, (3, 3), "Conv2d_0b_3x3")),
                chain(("pool", "AvgPool_0a_3x3", "avg"), (192, (1, 1), "Conv2d_0b_1x1")),
            )
        with tf1.variable_scope("Logits"):
            x = tf1.nn.avg_pool(x, [1, 8, 8, 1], [1, 1, 1, 1], "VALID", name="AvgPool_1a_8x8")
            weights = tf1.get_variable("Conv2d_1c_1x1/weights", [1, 1, 2048, 1000])
            x = tf1.nn.conv2d(x, weights, 1, "SAME", name="Conv2d_1c_1x1/Conv2D")
            x = tf1.squeeze(x, [1, 2], name="SpatialSqueeze")
        tf1.nn.softmax(x, name="Predictions")


def lstm_cell(tf1: object, x: object, c: object, h: object, kernel: object, bias: object) -> tuple:
    """One step of an LSTM (Hochreiter and Schmidhuber 1997), as BasicLSTMCell has it."""
    gates = tf1.nn.bias_add(tf1.matmul(tf1.concat([x, h], 1), kernel), bias)
    i, j, f, o = tf1.split(gates, 4, 1)
    c = c * tf1.sigmoid(f + 1.0) + tf1.sigmoid(i) * tf1.tanh(j)
    return c, tf1.tanh(c) * tf1.sigmoid(o)


def _lstm_variables(tf1: object) -> tuple:
    kernel = tf1.get_variable("kernel", [2 * UNITS, 4 * UNITS])
    return kernel, tf1.get_variable("bias", [4 * UNITS])


def unrolled_lstm(tf1: object) -> None:
    """Twenty steps in one scope, as static_rnn makes them: names differ in _1, _2, ..."""
    inputs = tf1.placeholder(tf1.float32, [8, STEPS, UNITS], "inputs")
    c = h = tf1.zeros([8, UNITS], name="zero_state")
    steps = tf1.unstack(inputs, axis=1, name="unstack")
    with tf1.variable_scope("rnn/lstm_cell"):
        kernel, bias = _lstm_variables(tf1)
        for x in steps:
            c, h = lstm_cell(tf1, x, c, h, kernel, bias)
    logits = dense(tf1, h, 10, "logits")
    tf1.nn.softmax(logits, name="predictions")


def dense(tf1: object, x: object, units: int, name: str) -> object:
    with tf1.variable_scope(name):
        kernel = tf1.get_variable("kernel", [int(x.shape[-1]), units])
        bias = tf1.get_variable("bias", [units])
        return tf1.nn.bias_add(tf1.matmul(x, kernel), bias)


def while_rnn(tf1: object) -> None:
    """A loop over time, with its gradients."""
    inputs = tf1.placeholder(tf1.float32, [STEPS, 8, UNITS], "inputs")
    labels = tf1.placeholder(tf1.int32, [8], "labels")
    with tf1.variable_scope("rnn"):
        kernel, bias = _lstm_variables(tf1)
        zero = tf1.zeros([8, UNITS], name="zero_state")

        def step(t: object, c: object, h: object) -> tuple:
            with tf1.name_scope("lstm_cell"):
                return (t + 1, *lstm_cell(tf1, inputs[t], c, h, kernel, bias))

        _, _, h = tf1.while_loop(lambda t, c, h: t < STEPS, step, [0, zero, zero])
    logits = dense(tf1, h, 10, "logits")
    with tf1.name_scope("loss"):
        loss = tf1.reduce_mean(
            tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        )
    tf1.train.GradientDescentOptimizer(0.1).minimize(loss)


def digits(tf1: object) -> None:
    """Two convolutions and two dense layers on digits, trained with Adam."""
    images = tf1.placeholder(tf1.float32, [None, 28, 28, 1], "images")
    labels = tf1.placeholder(tf1.int32, [None], "labels")
    x = images
    for number, depth in enumerate((32, 64), 1):
        with tf1.variable_scope(f"conv{number}"):
            kernel = tf1.get_variable("kernel", [3, 3, int(x.shape[-1]), depth])
            bias = tf1.get_variable("bias", [depth])
            x = tf1.nn.conv2d(x, kernel, 1, "SAME", name="conv")
            x = tf1.nn.relu(tf1.nn.bias_add(x, bias), name="relu")
            x = tf1.nn.max_pool(x, 2, 2, "SAME", name="pool")
    x = tf1.reshape(x, [-1, 7 * 7 * 64], name="flatten")
    x = tf1.nn.relu(dense(tf1, x, 128, "hidden"), name="relu")
    logits = dense(tf1, x, 10, "logits")
    with tf1.name_scope("loss"):
        loss = tf1.reduce_mean(
            tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        )
    with tf1.name_scope("accuracy"):
        right = tf1.equal(tf1.argmax(logits, 1, output_type=tf1.int32), labels)
        tf1.reduce_mean(tf1.cast(right, tf1.float32))
    step = tf1.train.get_or_create_global_step()
    with tf1.name_scope("train"):
        tf1.train.AdamOptimizer(0.001).minimize(loss, step)
    tf1.train.Saver()


def write_torch(folder: str) -> None:
    """A ResNet-50 of PyTorch, written by add_graph."""
    import torch
    from torch import nn
    from torch.utils.tensorboard import SummaryWriter

    class Bottleneck(nn.Module):
        def __init__(self, inside: int, width: int, stride: int) -> None:
            super().__init__()
            out = 4 * width
            self.conv1 = nn.Conv2d(inside, width, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(width)
            self.conv3 = nn.Conv2d(width, out, 1, bias=False)
            self.bn3 = nn.BatchNorm2d(out)
            self.relu = nn.ReLU(inplace=True)
            self.downsample = None
            if inside != out:
                shortcut = nn.Conv2d(inside, out, 1, stride, bias=False)
                self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(out))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.relu(self.bn1(self.conv1(x)))
            y = self.relu(self.bn2(self.conv2(y)))
            y = self.bn3(self.conv3(y))
            return self.relu(y + (x if self.downsample is None else self.downsample(x)))

    class ResNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
            self.bn1 = nn.BatchNorm2d(64)
            self.relu = nn.ReLU(inplace=True)
            self.maxpool = nn.MaxPool2d(3, 2, 1)
            inside = 64
            for number, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), 1):
                parts = []
                for at in range(blocks):
                    parts.append(Bottleneck(inside, width, 2 if at == 0 and number > 1 else 1))
                    inside = 4 * width
                setattr(self, f"layer{number}", nn.Sequential(*parts))
            self.avgpool = nn.AdaptiveAvgPool2d(1)
            self.fc = nn.Linear(inside, 1000)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            return self.fc(torch.flatten(self.avgpool(x), 1))

    with SummaryWriter(os.path.join(folder, "torch_resnet50")) as writer:
        writer.add_graph(ResNet().eval(), torch.zeros(1, 3, 64, 64))


if __name__ == "__main__":
    parts = {"keras": write_keras, "tensorflow": write_tensorflow, "torch": write_torch}
    parts[sys.argv[1]](sys.argv[2])
