"""Train a convolutional network on handwritten digits, with cross-validation.

    python examples/digits.py --data WHEEL_OR_CSV            # the first fold
    python examples/digits.py --data WHEEL_OR_CSV --folds 5  # all five, and their mean
    python examples/digits.py --mnist FOLDER                 # MNIST's IDX files
    python examples/digits.py --data WHEEL_OR_CSV --device gpu

`pip install -r examples/requirements.txt` installs what it needs besides the packages.
Ctrl-C stops it; the same command continues from there.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from digits_data import FOLDS, add_source, folds_of, read_source, source_arguments
from digits_training import Examples, Settings, train_fold
from resumable import Stopped, add_device

PROMISED_FIRST_FOLD = 0.975
PROMISED_MEAN = 0.985
EPOCHS, EPOCHS_OF_MNIST = 60, 6


def main() -> int:
    options = parsed()
    images, labels = read_source(options)
    held_out = folds_of(labels)
    start = time.monotonic()
    reached = []
    for fold in range(options.folds):
        folder = options.out / f"fold{fold + 1}"
        if options.fresh:
            shutil.rmtree(folder, ignore_errors=True)
        test = held_out == fold
        examples = Examples(images[~test], labels[~test], images[test], labels[test])
        content = hashlib.sha256(images.tobytes() + labels.tobytes()).hexdigest()[:16]
        epochs = options.epochs or (EPOCHS_OF_MNIST if options.mnist else EPOCHS)
        settings = Settings(f"{content}, fold {fold + 1}", epochs, options.seed)
        try:
            title = f"fold {fold + 1}"
            reached.append(train_fold(examples, settings, folder, title, options.device))
        except Stopped as stopped:
            print(f"digits: {stopped}. The same command continues from there.", file=sys.stderr)
            return 130
        except ValueError as error:
            print(f"digits: {error}", file=sys.stderr)
            return 2
        print(f"fold {fold + 1}: {reached[-1]:.2%} of {test.sum()} held-out digits", flush=True)
    mean = float(np.mean(reached))
    print(f"mean {mean:.2%} over {options.folds} fold(s) in {time.monotonic() - start:.0f} s")
    if predict_elsewhere(options, reached[0]) != 0:
        print("digits: the exported model is less accurate in a new process", file=sys.stderr)
        return 1
    required = PROMISED_FIRST_FOLD if options.folds == 1 else PROMISED_MEAN
    if mean < required:
        print(f"digits: {mean:.2%} is below the promised {required:.1%}", file=sys.stderr)
        return 1
    return 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_source(parser)
    parser.add_argument("--folds", type=int, choices=(1, FOLDS), default=1)
    parser.add_argument("--epochs", type=int, help=f"{EPOCHS} ({EPOCHS_OF_MNIST} of MNIST)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--out", type=Path, default=Path("digits_out"), help="folder of checkpoints, log, models"
    )
    parser.add_argument("--fresh", action="store_true", help="start again, whatever is in --out")
    add_device(parser)
    return parser.parse_args()


def predict_elsewhere(options: argparse.Namespace, accuracy: float) -> int:
    """Evaluates the first fold's exported model in a new process. Returns: its exit status."""
    script = Path(__file__).with_name("digits_predict.py")
    command = [sys.executable, str(script), str(options.out / "fold1" / "export")]
    command += [*source_arguments(options), "--at-least", repr(accuracy)]
    return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main())
