"""SavedModels that TensorFlow 2 writes load and give TensorFlow's outputs."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import headrace.graph as hr

pytestmark = pytest.mark.peer


@pytest.fixture
def tf() -> Any:
    return importlib.import_module("tensorflow")


def outputs_here(folder, inputs, name="serving_default"):
    """Loads a SavedModel in a session and runs a signature."""
    with hr.Graph().as_default(), hr.Session() as sess:
        signature = hr.saved_model.load(sess, ["serve"], str(folder)).signature_def[name]
        feeds = {signature.inputs[key].name: value for key, value in inputs.items()}
        return sess.run({key: info.name for key, info in signature.outputs.items()}, feeds)


def check(tf, folder, inputs):
    """Compares the outputs of a SavedModel with those of TensorFlow."""
    loaded = tf.saved_model.load(str(folder)).signatures["serving_default"]
    expected = loaded(**{key: tf.constant(value) for key, value in inputs.items()})
    found = outputs_here(folder, inputs)
    assert set(found) == set(expected) and found
    for key, value in expected.items():
        if value.dtype.is_floating:
            np.testing.assert_allclose(found[key], value.numpy(), rtol=1e-5, atol=1e-5)
        else:
            assert found[key].tolist() == value.numpy().tolist(), key


def test_captured_variables_and_control_flow(tf, tmp_path):
    class Model(tf.Module):
        def __init__(self):
            self.w = tf.Variable(np.random.RandomState(0).randn(3, 3).astype("f4"), name="w")
            self.parts = [tf.Variable([1.0, 2.0, 3.0]), {"step": tf.Variable(2, dtype=tf.int64)}]

        @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
        def serve(self, x):
            steps = tf.cast(self.parts[1]["step"], tf.int32)
            outer = tf.zeros_like(x)
            for i in tf.range(steps + 2):
                x = tf.nn.tanh(x @ self.w + self.parts[0])
                if tf.reduce_sum(x) > 0:
                    outer += x * tf.cast(i, tf.float32)
                else:
                    outer -= self.inner(x)
            rows = tf.map_fn(lambda row: tf.cumsum(row), x)
            return {"outer": outer, "rows": rows, "steps": steps}

        @tf.function
        def inner(self, x):
            return tf.where(x > 0.1, x, tf.reduce_max(x, axis=1, keepdims=True))

    model = Model()
    x = np.random.RandomState(1).randn(4, 3).astype("f4")
    tf.saved_model.save(model, str(tmp_path), signatures=model.serve)
    check(tf, tmp_path, {"x": x})
    check(tf, tmp_path, {"x": -x[:1]})


def test_tables_assets_and_strings(tf, tmp_path):
    vocabulary = tmp_path / "words.txt"
    vocabulary.write_text("the\ncat\nsat\n")

    class Model(tf.Module):
        def __init__(self):
            lookup = tf.lookup
            self.words = lookup.StaticVocabularyTable(
                lookup.TextFileInitializer(
                    str(vocabulary), tf.string, lookup.TextFileIndex.WHOLE_LINE, tf.int64,
                    lookup.TextFileIndex.LINE_NUMBER,
                ),
                num_oov_buckets=4,
            )  # fmt: skip
            self.labels = lookup.StaticHashTable(
                lookup.KeyValueTensorInitializer(
                    tf.constant([0, 1, 2], tf.int64), tf.constant(["low", "mid", "high"])
                ),
                default_value="none",
            )
            self.table = tf.Variable(np.random.RandomState(0).randn(7, 2).astype("f4"))

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
        def serve(self, text):
            text = tf.strings.regex_replace(tf.strings.lower(text), "[^a-z ]", "")
            words = tf.compat.v1.string_split(text)
            dense = tf.sparse.to_dense(self.words.lookup(words), default_value=-1)
            mean = tf.reduce_mean(tf.nn.embedding_lookup(self.table, tf.maximum(dense, 0)), axis=1)
            return {
                "numbers": dense,
                "mean": mean,
                "label": self.labels.lookup(tf.minimum(tf.reduce_max(dense, axis=1), 3)),
                "joined": tf.strings.reduce_join(tf.sparse.to_dense(words), axis=-1, separator="-"),
                "length": tf.strings.length(text),
            }

    model = Model()
    tf.saved_model.save(model, str(tmp_path / "model"), signatures=model.serve)
    vocabulary.unlink()
    text = np.array([b"The cat, sat", b"dog", b"cat the mat!"], object)
    check(tf, tmp_path / "model", {"text": text})


def test_layers_of_keras(tf, tmp_path):
    keras = tf.keras
    inputs = keras.Input((8, 8, 3), name="image")
    h = keras.layers.Conv2D(4, 3, activation="relu", padding="same")(inputs)
    h = keras.layers.BatchNormalization()(h)
    h = keras.layers.MaxPooling2D()(h)
    h = keras.layers.DepthwiseConv2D(3, padding="same")(h)
    h = keras.layers.Reshape((16, 4))(h)
    h = keras.layers.LayerNormalization()(h)
    h = keras.layers.Bidirectional(keras.layers.LSTM(5, return_sequences=True))(h)
    h = keras.layers.GRU(6)(h)
    outputs = keras.layers.Dense(3, activation="softmax")(keras.layers.Dropout(0.5)(h))
    model = keras.Model(inputs, outputs)
    model.export(str(tmp_path), verbose=False)
    image = np.random.RandomState(0).rand(2, 8, 8, 3).astype("f4")
    check(tf, tmp_path, {"image": image})


def test_ragged_tensors(tf, tmp_path):
    class Model(tf.Module):
        def __init__(self):
            self.embedding = tf.Variable(np.random.RandomState(0).randn(50, 4).astype("f4"))

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
        def serve(self, text):
            words = tf.strings.split(text)
            ids = tf.strings.to_hash_bucket_fast(words, 50)
            vectors = tf.ragged.map_flat_values(tf.gather, self.embedding, ids)
            picked = tf.gather(words, tf.constant([1, 0, 1]))
            lengths = words.row_lengths()
            return {
                "words": words.to_tensor("?", shape=[None, 5]),
                "mean": tf.reduce_mean(vectors.to_tensor(), axis=1),
                "sparse": tf.sparse.to_dense(words.to_sparse(), "-"),
                "picked": picked.to_tensor(),
                "numbers": tf.ragged.range(lengths).to_tensor(-1),
            }

    model = Model()
    tf.saved_model.save(model, str(tmp_path), signatures=model.serve)
    check(tf, tmp_path, {"text": np.array([b"the cat sat", b"", b"on a very flat mat now"])})
    check(tf, tmp_path, {"text": np.array([b"x", b"y z"])})
