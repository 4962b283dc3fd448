"""The service of examples/service_flask.py over TensorFlow, for tools/benchmarks/service.py."""

from __future__ import annotations

import io
import sys

import numpy as np
import tensorflow as tf
import waitress
from flask import Flask, Response, jsonify, request


def main() -> None:
    path, threads = sys.argv[1], int(sys.argv[2])
    message = tf.compat.v1.GraphDef()
    with open(path, "rb") as file:
        message.ParseFromString(file.read())
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(message, name="")
    session = tf.compat.v1.Session(graph=graph)
    run = session.make_callable("probabilities:0", ["images:0"])
    app = Flask(__name__)

    @app.post("/predict")
    def predict() -> Response:
        probabilities = run(np.load(io.BytesIO(request.get_data()), allow_pickle=False))
        best = probabilities.argmax(axis=1)
        return jsonify(
            classes=best.tolist(), probabilities=probabilities[range(len(best)), best].tolist()
        )

    server = waitress.create_server(app, host="127.0.0.1", port=0, threads=threads)
    print(f"http://127.0.0.1:{server.effective_port}", flush=True)
    server.run()


if __name__ == "__main__":
    main()
