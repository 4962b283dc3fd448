"""examples/service_flask.py: a frozen network behind Flask and waitress."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SIDE, CLASSES = 32, 10


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("service") / "network.pb"
    size = ["--side", str(SIDE), "--filters", "8", "--classes", str(CLASSES)]
    result = subprocess.run(
        [sys.executable, str(EXAMPLES / "service_model.py"), str(path), *size],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    server = subprocess.Popen(
        [sys.executable, str(EXAMPLES / "service_flask.py"), str(path), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait(20)
        server.stdout.close()


def _post(address: str, body: bytes, kind: str) -> tuple[int, Any]:
    request = urllib.request.Request(f"{address}/predict", body, {"Content-Type": kind})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _images(count: int, seed: int) -> np.ndarray:
    return np.random.RandomState(seed).rand(count, SIDE, SIDE, 3).astype(np.float32)


def test_model_endpoint_lists_inputs_and_outputs(address: str) -> None:
    with urllib.request.urlopen(f"{address}/model", timeout=60) as response:
        assert json.load(response) == {
            "inputs": {"images": ["float32", [None, SIDE, SIDE, 3]]},
            "outputs": {"probabilities": ["float32", None]},
        }


def test_bytes_and_json_get_the_same_reply(address: str) -> None:
    images = _images(3, 0)
    status, found = _post(address, _npy(images), "application/octet-stream")
    assert status == 200 and len(found["classes"]) == 3
    assert all(1 / CLASSES <= p <= 1 for p in found["probabilities"])
    as_json = json.dumps({"images": images.tolist()}).encode()
    assert _post(address, as_json, "application/json") == (200, found)


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (_npy(np.zeros([2, SIDE, 5, 3], np.float32)), "npy", "which has shape [?, 32, 32, 3]"),
        (_npy(np.zeros([2, SIDE, SIDE, 3], np.complex64)), "npy", "which has dtype float"),
        (_npy(np.zeros([0, SIDE, SIDE, 3], np.float32)), "npy", "1 to 32 images, got 0"),
        (_npy(np.zeros([33, SIDE, SIDE, 3], np.float32)), "npy", "1 to 32 images, got 33"),
        (_npy(np.float32(1)), "npy", "holds no array"),
        (_npy(np.array([{}], object)), "npy", "holds no images"),
        (b"", "npy", "holds no images"),
        (b'{"pictures": 1}', "json", 'a field "images"'),
        (b'{"images": [[1], [1, 2]]}', "json", "holds no images"),
    ],
)
def test_bad_request_gets_status_400_and_the_reason(
    address: str, body: bytes, kind: str, words: str
) -> None:
    full = {"npy": "application/octet-stream", "json": "application/json"}[kind]
    status, found = _post(address, body, full)
    assert status == 400 and words in found["error"]


def test_concurrent_clients_get_their_own_replies(address: str) -> None:
    batches = [_npy(_images(1 + i % 3, i)) for i in range(8)]
    kind = "application/octet-stream"
    alone = [_post(address, batch, kind) for batch in batches]
    wrong = []

    def work(number: int) -> None:
        for i in range(10):
            at = (number + i) % 8
            status, found = _post(address, batches[at], kind)
            same = np.allclose(found["probabilities"], alone[at][1]["probabilities"], 1e-4)
            if status != 200 or found["classes"] != alone[at][1]["classes"] or not same:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
