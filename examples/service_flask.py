"""Serve a frozen graph over HTTP: Flask on waitress, eight threads, one graph for all of them.

python examples/service_model.py resnet50.pb
python examples/service_flask.py resnet50.pb --port 8080
curl localhost:8080/model
curl --data-binary @batch.npy -H "Content-Type: application/octet-stream" localhost:8080/predict

A request brings images as the bytes of a .npy file, or as JSON {"images": [[...]]}. The process
imports headrace.runtime and not headrace.graph.
"""

from __future__ import annotations

import argparse
import io
from typing import Any

import numpy as np
import waitress
from flask import Flask, Response, jsonify, request

from headrace.formats import errors
from headrace.runtime import LoadedGraph, load_graph

LARGEST_BATCH = 32
LARGEST_BODY = 64 << 20
TIMEOUT_S = 10.0


def create_app(model: LoadedGraph) -> Flask:
    """Returns: the web application of a graph from `images` to `probabilities`."""
    app = Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = LARGEST_BODY

    @app.get("/model")
    def describe() -> Response:
        specs = {"inputs": model.inputs, "outputs": model.outputs}
        return jsonify(
            {
                side: {name: [spec.dtype.name, spec.shape] for name, spec in found.items()}
                for side, found in specs.items()
            }
        )

    @app.post("/predict")
    def predict() -> Response:
        probabilities = model({"images": images_of_request()}, TIMEOUT_S)["probabilities"]
        best = probabilities.argmax(axis=1)
        return jsonify(
            classes=best.tolist(), probabilities=probabilities[range(len(best)), best].tolist()
        )

    @app.errorhandler(errors.InvalidArgumentError)
    def wrong_request(error: errors.OpError) -> tuple[Response, int]:
        return jsonify(error=error.message), 400

    @app.errorhandler(errors.DeadlineExceededError)
    def too_late(error: errors.OpError) -> tuple[Response, int]:
        return jsonify(error=f"not done within {TIMEOUT_S} s; try again"), 503

    return app


def images_of_request() -> np.ndarray:
    """Returns: the images of the current request; the graph checks their shape and dtype.

    Raises: InvalidArgumentError for a body without images, or with too many.
    """
    try:
        if request.mimetype == "application/json":
            images = np.asarray(_images_field(request.get_json()), np.float32)
        else:
            images = np.load(io.BytesIO(request.get_data()), allow_pickle=False)
    except (ValueError, TypeError, EOFError) as error:
        raise errors.InvalidArgumentError(
            None, None, f"the body holds no images: {error}"
        ) from None
    if not isinstance(images, np.ndarray) or images.ndim == 0:
        raise errors.InvalidArgumentError(None, None, "the body holds no array")
    if not 1 <= len(images) <= LARGEST_BATCH:
        raise errors.InvalidArgumentError(
            None, None, f"a batch has 1 to {LARGEST_BATCH} images, got {len(images)}"
        )
    return images


def _images_field(body: Any) -> Any:
    if not isinstance(body, dict) or "images" not in body:
        raise ValueError('expected a JSON object with a field "images"')
    return body["images"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", help="GraphDef file with `images` and `probabilities`")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080, help="0: any that is free")
    parser.add_argument("--threads", type=int, default=8)
    options = parser.parse_args()
    with load_graph(options.graph, ["images"], ["probabilities"]) as model:
        server = waitress.create_server(
            create_app(model), host=options.host, port=options.port, threads=options.threads
        )
        print(f"http://{options.host}:{server.effective_port}", flush=True)
        server.run()


if __name__ == "__main__":
    main()
