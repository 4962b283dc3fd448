"""What is rejected when the graph is built, and what is built for unknown shapes."""

from __future__ import annotations

from typing import Any

import pytest
from calls_judged import ACCEPTED, ACCEPTED_BY_1, REJECTED

import headrace.graph as hr


@pytest.mark.parametrize("name", REJECTED)
def test_a_wrong_call_is_rejected_when_the_graph_is_built(name: str) -> None:
    call, kind, words = REJECTED[name]
    with pytest.raises(kind) as caught:
        call(hr)
    assert words in str(caught.value)


@pytest.mark.parametrize("name", [*ACCEPTED, *ACCEPTED_BY_1])
def test_a_call_is_built(name: str) -> None:
    (ACCEPTED | ACCEPTED_BY_1)[name](hr)


@pytest.fixture(scope="module")
def tf() -> Any:
    import os

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    tensorflow = pytest.importorskip("tensorflow")
    tensorflow.compat.v1.disable_v2_behavior()
    return tensorflow.compat.v1


def _needs_keras(name: str) -> None:
    if name.startswith("layers"):
        pytest.importorskip("tf_keras")  # TensorFlow has its layers from there


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REJECTED)
def test_tensorflow_rejects_the_same(name: str, tf: Any) -> None:
    _needs_keras(name)
    call, kind, _ = REJECTED[name]
    with tf.Graph().as_default(), pytest.raises(kind):
        call(tf)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ACCEPTED)
def test_tensorflow_builds_the_same(name: str, tf: Any) -> None:
    _needs_keras(name)
    with tf.Graph().as_default():
        theirs = ACCEPTED[name](tf)
    with hr.Graph().as_default():
        ours = ACCEPTED[name](hr)
    assert (ours is None) == (theirs is None)
    if ours is not None:
        assert ours.dtype.name == theirs.dtype.name
        assert str(ours.get_shape()) == str(theirs.get_shape())
