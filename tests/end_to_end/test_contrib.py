"""`contrib` runs: layers compute what hr.layers do, training and evaluation save and restore."""

from __future__ import annotations

import json

import numpy as np
import pytest

import headrace.graph as hr

layers, framework, training = hr.contrib.layers, hr.contrib.framework, hr.contrib.training


@pytest.fixture(autouse=True)
def graph():
    with hr.Graph().as_default() as fresh:
        yield fresh


def ran(*fetches, feed_dict=None):
    with hr.Session() as session:
        session.run([hr.global_variables_initializer(), hr.local_variables_initializer()])
        return session.run(list(fetches), feed_dict)


_X = np.random.default_rng(5).standard_normal((6, 5, 4, 3)).astype(np.float32)


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_layers_compute_what_those_of_hr_layers_do() -> None:
    start = hr.random_normal_initializer(seed=3)
    images, rows = hr.constant(_X), hr.constant(_X[:, 0, 0])
    with framework.arg_scope(
        [layers.conv2d, layers.fully_connected, layers.separable_conv2d, layers.conv2d_transpose],
        weights_initializer=start,
        activation_fn=None,
    ):
        ours = [
            layers.conv2d(images, 4, 3, stride=2),
            layers.fully_connected(rows, 7),
            layers.conv2d_transpose(images, 4, 3, 2),
            layers.separable_conv2d(images, 4, 3),
            layers.max_pool2d(images, 2),
            layers.flatten(images),
        ]
    others = [
        hr.layers.conv2d(images, 4, 3, 2, "same", kernel_initializer=start),
        hr.layers.dense(rows, 7, kernel_initializer=start),
        hr.layers.conv2d_transpose(images, 4, 3, 2, "same", kernel_initializer=start),
        hr.layers.separable_conv2d(
            images, 4, 3, padding="same", depthwise_initializer=start, pointwise_initializer=start
        ),
        hr.layers.max_pooling2d(images, 2, 2),
        hr.layers.flatten(images),
    ]
    found = ran(*ours, *others)
    for mine, other in zip(found[: len(ours)], found[len(ours) :]):
        same(mine, other)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("collections", [None, hr.GraphKeys.UPDATE_OPS, "mine"])
def test_batch_norm_normalises_and_moves_its_averages(fused, collections) -> None:
    is_training = hr.placeholder(hr.bool, [])
    y = layers.batch_norm(
        hr.constant(_X), 0.9, is_training=is_training, fused=fused, updates_collections=collections
    )
    updates = hr.get_collection(collections) if collections else []
    mean, variance = (hr.get_collection(hr.GraphKeys.MODEL_VARIABLES)[i] for i in (1, 2))
    axes = (0, 1, 2)
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        found, *_ = session.run([y, *updates], {is_training: True})
        same(found, (_X - _X.mean(axes)) / np.sqrt(_X.var(axes) + 0.001))
        count = _X[..., 0].size
        same(session.run(mean), 0.1 * _X.mean(axes))
        # FusedBatchNorm averages the unbiased variance
        unbiased = _X.var(axes) * (count / (count - 1) if fused else 1.0)
        same(session.run(variance), 0.9 + 0.1 * unbiased)
        before = session.run([mean, variance])
        found, *_ = session.run([y, *updates], {is_training: False})
        same(found, (_X - before[0]) / np.sqrt(before[1] + 0.001))
        same(before, session.run([mean, variance]))


def test_batch_weights_weigh_the_examples() -> None:
    with pytest.raises(ValueError, match="not compatible|incompatible"):
        layers.batch_norm(hr.constant(_X), batch_weights=hr.zeros([5]), scope="wrong")
    weights = np.array([1, 0, 0, 2, 0, 1], np.float32)
    y = layers.batch_norm(hr.constant(_X), batch_weights=weights, data_format="NHWC")
    chosen = np.concatenate([_X[[0]], _X[[3]], _X[[3]], _X[[5]]])
    axes = (0, 1, 2)
    same(ran(y)[0], (_X - chosen.mean(axes)) / np.sqrt(chosen.var(axes) + 0.001))


def test_norms_normalise_their_axes() -> None:
    x = hr.constant(_X)
    wide = np.concatenate([_X, 2 * _X + 1], -1)
    found = ran(
        layers.layer_norm(x),
        layers.instance_norm(x),
        layers.group_norm(hr.constant(wide), 2),
        layers.group_norm(hr.constant(wide), 2, mean_close_to_zero=True),
        layers.layer_norm(x, begin_norm_axis=-1, activation_fn=hr.nn.relu),
    )

    def normal(a, axes, epsilon):
        mean, variance = a.mean(axes, keepdims=True), a.var(axes, keepdims=True)
        return (a - mean) / np.sqrt(variance + epsilon)

    same(found[0], normal(_X, (1, 2, 3), 1e-12))
    same(found[1], normal(_X, (1, 2), 1e-6))
    groups = normal(wide.reshape(6, 5, 4, 2, 3), (1, 2, 4), 1e-6).reshape(wide.shape)
    same(found[2], groups)
    same(found[3], groups)
    same(found[4], np.maximum(normal(_X, (3,), 1e-12), 0))


_CORNER = np.zeros((1, 3, 4, 1), np.float32)
_CORNER[0, 0, 3] = 1e4


def test_layers_without_weights_compute_their_formula() -> None:
    x = _X[:, 0, 0]
    ids = np.array([[1, 2, 0], [3, 3, 1]])
    table = np.arange(20, dtype=np.float32).reshape(5, 4)
    factor = hr.constant(_X[0, 0])
    names = [
        layers.unit_norm(hr.constant(x), 1),
        layers.maxout(hr.constant(_X), 1),
        layers.softmax(hr.constant(_X[:, 0])),
        layers.poincare_normalize(hr.constant(x * 10)),
        layers.sequence_to_images(layers.images_to_sequence(hr.constant(_X)), 5),
        layers.embedding_lookup_unique(hr.constant(table), ids),
        hr.sparse_tensor_to_dense(layers.dense_to_sparse(hr.constant(ids))),
        hr.gradients(layers.scale_gradient(factor, 0.25) * 3.0, [factor])[0],
        layers.spatial_softmax(hr.constant(_CORNER)),
    ]
    found = ran(*names)
    same(found[0], x / np.sqrt((x**2).sum(1, keepdims=True) + 1e-7))
    same(found[1], _X.max(-1, keepdims=True))
    e = np.exp(_X[:, 0])
    same(found[2], e / e.sum(-1, keepdims=True))
    assert np.linalg.norm(found[3], axis=1).max() < 1
    same(found[4], _X)
    same(found[5], table[ids])
    assert found[6].tolist() == ids.tolist()
    same(found[7], np.full((4, 3), 0.75))
    same(found[8], [[-1.0, 1.0]])


def test_encoders_average_embeddings() -> None:
    ids = hr.constant([[1, 2, 0], [3, 0, 0]])
    start = hr.constant_initializer(np.arange(20.0).reshape(5, 4))
    sparse, dense, each = ran(
        layers.bow_encoder(ids, 5, 4, initializer=start),
        layers.bow_encoder(ids, 5, 4, sparse_lookup=False, initializer=start),
        layers.embed_sequence(ids, 5, 4, initializer=start),
    )
    table = np.arange(20.0).reshape(5, 4)
    same(sparse, [(table[1] + table[2]) / 2, table[3]])
    same(dense, table[[[1, 2, 0], [3, 0, 0]]].mean(1))
    same(each, table[[[1, 2, 0], [3, 0, 0]]])


def test_regularizers_and_initializers_compute_their_formula() -> None:
    v = hr.get_variable("v", initializer=[1.0, -2.0, 3.0])
    found = ran(
        layers.l1_regularizer(0.5)(v),
        layers.l2_regularizer(0.5)(v),
        layers.l1_l2_regularizer(0.5, 0.25)(v),
        layers.variance_scaling_initializer(seed=1)([3, 3, 20, 10]),
        layers.xavier_initializer(seed=1)([100, 50]),
        layers.xavier_initializer()([]),
        layers.variance_scaling_initializer(uniform=True)(hr.TensorShape([])),
    )
    same(found[:3], [3.0, 3.5, 4.75])
    assert found[3].std() == pytest.approx(np.sqrt(2.0 / 180), rel=0.05)
    assert found[4].std() == pytest.approx(np.sqrt(2.0 / 150), rel=0.05)
    assert np.abs(found[4]).max() <= np.sqrt(6.0 / 150)
    assert np.abs(found[5]) <= np.sqrt(3.0) and np.abs(found[6]) <= np.sqrt(6.0)  # fans of 1


def test_a_loss_is_minimised_with_clipping() -> None:
    v = hr.get_variable("v", initializer=[3.0, 4.0])
    step = hr.train.create_global_step()
    train = layers.optimize_loss(
        hr.reduce_sum(hr.square(v)) / 2.0, step, 1.0, "SGD", clip_gradients=1.0
    )
    adaptive = layers.adaptive_clipping_fn(global_step=step)([(hr.constant([3.0, 4.0]), v)])
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        session.run(train)
        same(session.run(v), [2.4, 3.2])  # one step of length 1
        assert session.run(step) == 1
        assert np.isfinite(session.run(adaptive[0][0])).all()


def test_values_and_checkpoints_are_assigned(tmp_path) -> None:
    v = hr.get_variable("a/v", initializer=[1.0, 2.0])
    w = hr.get_variable("w", [4, 2], initializer=hr.ones_initializer(),
                        partitioner=hr.fixed_size_partitioner(2))  # fmt: skip
    operation, feeds = framework.assign_from_values({"a/v": [5.0, 6.0]})
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        session.run(operation, feeds)
        path = hr.train.Saver().save(session, str(tmp_path / "model"))
        session.run(hr.global_variables_initializer())
        operation, feeds = framework.assign_from_checkpoint(path, [v, *w])
        session.run(operation, feeds)
        same(session.run(v), [5, 6])
        session.run(v.assign([0.0, 0.0]))
        framework.assign_from_checkpoint_fn(path, {"a/v": v, "none": w}, ignore_missing_vars=True)(
            session
        )
        same(session.run(v), [5, 6])
        for parts in ([v, *w], {"a/v": v, "w": list(w)}):
            session.run([part.assign(hr.zeros_like(part)) for part in w])
            framework.assign_from_checkpoint_fn(path, parts, ignore_missing_vars=True)(session)
            same(session.run(hr.convert_to_tensor(w)), np.ones([4, 2]))
        framework.assign_from_values_fn({"a/v": [7.0, 8.0]})(session)
        same(session.run(v), [7, 8])
    with pytest.raises(ValueError, match=r"Checkpoint is missing variable \[b\]"):
        framework.assign_from_checkpoint(path, {"b": v})
    assert framework.assign_from_checkpoint(path, {"b": v}, ignore_missing_vars=True)[1] == {}
    with pytest.raises(ValueError, match="var_list cannot be empty"):
        framework.assign_from_checkpoint_fn(path, [])
    assert framework.assign_from_checkpoint_fn(path, {"b": v}, ignore_missing_vars=True) is None


def test_a_program_trains_and_evaluates_its_checkpoints(tmp_path) -> None:
    v = hr.get_variable("v", initializer=[3.0, 4.0])
    loss = hr.reduce_sum(hr.square(v))
    hr.summary.scalar("loss", loss)
    train_op = training.create_train_op(loss, hr.train.GradientDescentOptimizer(0.1))
    folder = str(tmp_path)
    last = training.train(train_op, folder, hooks=[hr.train.StopAtStepHook(num_steps=5)])
    assert last < 25.0 and framework.list_variables(folder) == [("global_step", []), ("v", [2])]
    path = training.wait_for_new_checkpoint(folder)
    assert path == hr.train.latest_checkpoint(folder)
    assert training.wait_for_new_checkpoint(folder, path, 0.01, timeout=0.02) is None
    with hr.Graph().as_default():
        w = hr.get_variable("v", [2])
        hr.train.create_global_step()
        hr.summary.scalar("value", w[0])
        counted = hr.get_variable("n", [], initializer=hr.zeros_initializer(),
                                  collections=[hr.GraphKeys.LOCAL_VARIABLES])  # fmt: skip
        hooks = [training.StopAfterNEvalsHook(3, log_progress=False),
                 training.SummaryAtEndHook(str(tmp_path / "eval"))]  # fmt: skip
        found = training.evaluate_once(
            path, eval_ops=counted.assign_add(1.0), final_ops={"v": w, "n": counted}, hooks=hooks
        )
        assert found["n"] == 3
        same(found["v"], framework.load_variable(folder, "v"))
        step = training.get_or_create_eval_step()
        assert step is training.get_or_create_eval_step() and step in hr.local_variables()
    with hr.Graph().as_default():
        w = hr.get_variable("v", [2])
        found = training.evaluate_repeatedly(
            folder, final_ops=w, eval_interval_secs=0, max_number_of_evaluations=1
        )
        same(found, framework.load_variable(folder, "v"))
    assert [p for p in (tmp_path / "eval").iterdir() if "tfevents" in p.name]
    with pytest.raises(ValueError, match="One of log_dir or summary_writer"):
        training.SummaryAtEndHook()


def test_a_timeline_has_the_nodes_of_a_traced_step() -> None:
    from headrace.graph.client.device_list import list_local_devices
    from headrace.graph.python.client import device_lib, timeline

    x = hr.placeholder(hr.float32, [20, 20])
    y = hr.matmul(x, x)
    metadata = hr.RunMetadata()
    with hr.Session() as session:
        session.run(y, {x: np.eye(20)}, hr.RunOptions(trace_level=3), metadata)
    trace = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format(show_memory=True)
    assert "MatMul" in {event["name"] for event in json.loads(trace)["traceEvents"]}
    assert device_lib.list_local_devices is list_local_devices
    assert [device.device_type for device in list_local_devices()][0] == "CPU"
