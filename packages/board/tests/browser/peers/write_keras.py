"""Trains small models with the TensorBoard callback of Keras: python write_keras.py FOLDER.

The callback writes all that it can: graphs, histograms, weights as images, embeddings, a profile,
batches and epochs. Prints what Keras itself recorded, as JSON. Runs where Keras is, so it imports
nothing of ours.
"""

from __future__ import annotations

import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

EPOCHS = 4
WORDS = 12


def main(folder: str) -> None:
    keras.utils.set_random_seed(1)
    recorded = {"images": train_images(os.path.join(folder, "images"))}
    recorded["words"] = train_words(os.path.join(folder, "words"))
    print(json.dumps(recorded))


def train_images(folder: str) -> dict[str, list[float]]:
    """A convolution, with everything that the callback writes by batch and by epoch."""
    model = keras.Sequential(
        [
            keras.Input([8, 8, 1]),
            keras.layers.Conv2D(4, 3, activation="relu", name="conv"),
            keras.layers.Flatten(name="flatten"),
            keras.layers.Dense(2, activation="softmax", name="head"),
        ],
        name="small",
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    random = np.random.default_rng(1)
    images = random.random([64, 8, 8, 1], np.float32)
    labels = (images.mean((1, 2, 3)) > 0.5).astype(np.int32)
    board = keras.callbacks.TensorBoard(
        folder,
        histogram_freq=1,
        write_graph=True,
        write_images=True,
        write_steps_per_second=True,
        update_freq=2,
        profile_batch=(3, 4),
    )
    fit = model.fit(
        images,
        labels,
        batch_size=16,
        epochs=EPOCHS,
        validation_data=(images[:16], labels[:16]),
        callbacks=[board],
        verbose=0,
    )
    with tf.summary.create_file_writer(os.path.join(folder, "train")).as_default():
        for epoch in range(EPOCHS):
            tf.summary.scalar("learning rate", 0.1 / (epoch + 1), epoch)
    return fit.history


def train_words(folder: str) -> dict[str, list[float]]:
    """An embedding whose checkpoints the projector shows."""
    model = keras.Sequential(
        [
            keras.Input([5], dtype="int32"),
            keras.layers.Embedding(WORDS, 3, name="embedding"),
            keras.layers.GlobalAveragePooling1D(name="mean"),
            keras.layers.Dense(1, name="score"),
        ],
        name="words",
    )
    model.compile("sgd", "mse")
    random = np.random.default_rng(2)
    words = random.integers(0, WORDS, [40, 5])
    os.makedirs(os.path.join(folder, "train"), exist_ok=True)
    with open(os.path.join(folder, "metadata.tsv"), "w") as file:
        file.writelines(f"word {i}\n" for i in range(WORDS))
    board = keras.callbacks.TensorBoard(
        folder, embeddings_freq=1, embeddings_metadata="metadata.tsv", update_freq="epoch"
    )
    scores = words.mean(1).astype(np.float32)
    fit = model.fit(words, scores, epochs=EPOCHS, callbacks=[board], verbose=0)
    return fit.history


if __name__ == "__main__":
    main(sys.argv[1])
