import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "peer: needs TensorFlow; run by -m peer")


def pytest_collection_modifyitems(config, items):
    if config.option.markexpr:
        return
    peer = [item for item in items if item.get_closest_marker("peer")]
    if peer:
        config.hook.pytest_deselected(items=peer)
        items[:] = [item for item in items if item not in peer]


@pytest.fixture
def tf():
    """TensorFlow itself, quiet and without a GPU."""
    import os

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    import tensorflow

    return tensorflow
