"""Make a network of ResNet50's shape and write it as one frozen GraphDef.

python examples/service_model.py resnet50.pb                          # 25.6 million weights
python examples/service_model.py small.pb --filters 8 --side 64       # for a try

The weights are random: the network has the speed of a trained one, not its accuracy.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import headrace.graph as hr

INPUT, OUTPUT = "images", "probabilities"
BLOCKS = (3, 4, 6, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path, help="file to write")
    parser.add_argument("--side", type=int, default=224, help="pixels, height and width")
    parser.add_argument("--filters", type=int, default=64, help="of the first layer")
    parser.add_argument("--classes", type=int, default=1000)
    options = parser.parse_args()
    graph_def = frozen(options.side, options.filters, options.classes)
    options.path.write_bytes(graph_def.SerializeToString())
    print(f"{options.path}: {len(graph_def.node)} nodes, {options.path.stat().st_size:,} bytes")


def frozen(side: int, filters: int, classes: int) -> hr.GraphDef:
    """The network with constants in the place of its variables."""
    with hr.Graph().as_default() as graph:
        hr.set_random_seed(1)
        images = hr.placeholder(hr.float32, [None, side, side, 3], name=INPUT)
        hr.nn.softmax(logits(images, filters, classes), name=OUTPUT)
        with hr.Session() as session:
            session.run(hr.global_variables_initializer())
            return hr.graph_util.convert_variables_to_constants(
                session, graph.as_graph_def(), [OUTPUT]
            )


def logits(images: hr.Tensor, filters: int, classes: int) -> hr.Tensor:
    """ResNet50 (He et al. 2015, table 1): images [n, side, side, 3] to [n, classes]."""
    x = hr.nn.relu(_normal(_convolution(images, filters, 7, strides=2)))
    x = hr.layers.max_pooling2d(x, 3, 2, padding="same")
    for stage, blocks in enumerate(BLOCKS):
        for block in range(blocks):
            x = _bottleneck(x, filters << stage, 2 if stage and not block else 1)
    return hr.layers.dense(hr.reduce_mean(x, [1, 2]), classes)


def _bottleneck(x: hr.Tensor, filters: int, strides: int) -> hr.Tensor:
    y = hr.nn.relu(_normal(_convolution(x, filters, 1)))
    y = hr.nn.relu(_normal(_convolution(y, filters, 3, strides)))
    y = _normal(_convolution(y, 4 * filters, 1))
    if x.shape[3] != 4 * filters:
        x = _normal(_convolution(x, 4 * filters, 1, strides))
    return hr.nn.relu(x + y)


def _convolution(x: hr.Tensor, filters: int, size: int, strides: int = 1) -> hr.Tensor:
    return hr.layers.conv2d(x, filters, size, strides, padding="same", use_bias=False)


def _normal(x: hr.Tensor) -> hr.Tensor:
    return hr.layers.batch_normalization(x, training=False)


if __name__ == "__main__":
    main()
