"""Load an exported model of the digits and classify the digits of the first fold.

python examples/digits_predict.py digits_out/fold1/export --data WHEEL_OR_CSV
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from digits_data import add_source, folds_of, read_source

import headrace.graph as hr

SHADES = " .:-=+*#%@"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="folder of a SavedModel")
    add_source(parser)
    parser.add_argument("--show", type=int, default=1, help="number of digits to draw")
    parser.add_argument("--at-least", type=float, default=0.0, help="fail below this accuracy")
    options = parser.parse_args()
    images, labels = read_source(options)
    test = folds_of(labels) == 0
    images, labels = images[test], labels[test]
    predictions, probabilities = predict(options.model, images)
    for image, digit, row in list(zip(images, predictions, probabilities, strict=True))[
        : options.show
    ]:
        print(picture(image[..., 0]))
        print(f"the model takes this for a {digit} ({row[digit]:.0%})")
    accuracy = float(np.mean(predictions == labels))
    print(
        f"in a new process: {accuracy:.2%} of {len(labels)} held-out digits, from {options.model}"
    )
    return 0 if accuracy >= options.at_least else 1


def predict(folder: Path, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns: predictions [n] int64, probabilities [n, 10] float."""
    with hr.Graph().as_default(), hr.Session() as session:
        loaded = hr.saved_model.loader.load(
            session, [hr.saved_model.tag_constants.SERVING], str(folder)
        )
        signature = loaded.signature_def["serving_default"]
        names = [signature.outputs[key].name for key in ("predictions", "probabilities")]
        fed = signature.inputs["images"].name
        pieces = [images[i : i + 512] for i in range(0, len(images), 512)]
        rows = [session.run(names, {fed: piece}) for piece in pieces]
    return np.concatenate([row[0] for row in rows]), np.concatenate([row[1] for row in rows])


def picture(image: np.ndarray) -> str:
    """Returns: [height, width] of 0 to 1 as lines of letters, two to a pixel."""
    shades = np.array(list(SHADES))[np.clip(image * len(SHADES), 0, len(SHADES) - 1).astype(int)]
    return "\n".join("".join(letter * 2 for letter in line) for line in shades)


if __name__ == "__main__":
    sys.exit(main())
