"""Train a convolutional network on real handwritten digits, held out fold by fold.

    python examples/digits.py --data WHEEL_OR_CSV            # the first fold
    python examples/digits.py --data WHEEL_OR_CSV --folds 5  # all five, and their mean
    python examples/digits.py --mnist FOLDER                 # MNIST's IDX files
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from digits_data import FOLDS, folds_of, read_digits, read_mnist, shifted
from digits_model import build_model
from tqdm import tqdm

import headrace.graph as hr

PROMISED_FIRST_FOLD = 0.975
PROMISED_MEAN = 0.985
BATCH = 64


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, help="scikit-learn's wheel, or digits.csv(.gz)")
    source.add_argument("--mnist", type=Path, help="folder of MNIST's IDX files")
    parser.add_argument("--folds", type=int, choices=(1, FOLDS), default=1)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    images, labels = read_mnist(options.mnist) if options.mnist else read_digits(options.data)
    held_out = folds_of(labels)
    start = time.monotonic()
    reached = []
    for fold in range(options.folds):
        test = held_out == fold
        sets = (images[~test], labels[~test], images[test], labels[test])
        reached.append(train_fold(*sets, options.epochs, options.seed, f"fold {fold + 1}"))
        print(f"fold {fold + 1}: {reached[-1]:.2%} of {test.sum()} held-out digits", flush=True)
    mean = float(np.mean(reached))
    print(f"mean {mean:.2%} over {options.folds} fold(s) in {time.monotonic() - start:.0f} s")
    wanted = PROMISED_FIRST_FOLD if options.folds == 1 else PROMISED_MEAN
    if mean < wanted:
        print(f"digits: {mean:.2%} is below the promised {wanted:.1%}", file=sys.stderr)
        return 1
    return 0


def train_fold(
    images: np.ndarray,
    labels: np.ndarray,
    test_images: np.ndarray,
    test_labels: np.ndarray,
    epochs: int,
    seed: int,
    title: str,
) -> float:
    """Returns: the accuracy on the test images after training on the others."""
    with hr.Graph().as_default():
        hr.set_random_seed(seed)
        model = build_model(images.shape[1])
        rng = np.random.RandomState(seed)
        per_epoch = len(images) // BATCH
        steps = epochs * per_epoch
        with hr.Session() as session, tqdm(total=steps, desc=title, unit="step") as bar:
            session.run(hr.global_variables_initializer())
            for step in range(steps):
                if step % per_epoch == 0:
                    order = rng.permutation(len(images))
                at = order[step % per_epoch * BATCH :][:BATCH]
                feed = {
                    model.images: shifted(images[at], rng),
                    model.labels: labels[at],
                    model.keep: 0.5,
                    # down to nothing along half a cosine
                    model.rate: 1e-3 * (1 + np.cos(np.pi * step / steps)),
                }
                _, loss = session.run([model.train, model.loss], feed)
                bar.update()
                if step % 20 == 0:
                    bar.set_postfix(loss=f"{loss:.4f}")
            test = {model.images: test_images, model.labels: test_labels}
            return float(session.run(model.accuracy, test))


if __name__ == "__main__":
    sys.exit(main())
