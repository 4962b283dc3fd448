"""Pipelines that shuffle with a seed, for Headrace and TensorFlow 1.15.

TensorFlow's Python runs this file as a program, which prints their elements as JSON.
"""

import json
import sys


def pipelines(tf):
    """Returns: the pipelines by name."""
    D = tf.data.Dataset
    E = tf.data.experimental

    def same(x):
        return x

    def four(x):
        return D.range(x * 10, x * 10 + 4)

    def without_fusion(dataset):
        options = tf.data.Options()
        options.experimental_optimization.shuffle_and_repeat_fusion = False
        return dataset.with_options(options)

    files = D.range(3).shuffle(3).interleave(four, cycle_length=3)
    return {
        "shuffle": D.range(8).shuffle(8),
        "small buffer": D.range(8).shuffle(3, seed=3),
        "two": D.range(8).shuffle(8).shuffle(3),
        "repeat": D.range(6).shuffle(6).repeat(),
        "repeat with seed": D.range(6).shuffle(4, seed=2).repeat(3),
        "one order": D.range(6).shuffle(6, seed=2, reshuffle_each_iteration=False).repeat(3),
        "repeat behind no-ops": D.range(4).shuffle(4).take(-1).skip(0).prefetch(0).repeat(2),
        "repeat once": D.range(4).shuffle(4).repeat(1),
        "repeat of a map": D.range(4).shuffle(4).map(same).repeat(3),
        "repeat not fused": without_fusion(D.range(4).shuffle(4).repeat(3)),
        "repeat twice": D.range(4).shuffle(4).repeat(2).repeat(2),
        "repeat first": D.range(6).repeat(3).shuffle(4),
        "two of a map": D.range(4).shuffle(4).shuffle(4).map(same).repeat(4),
        "rounds of rounds": D.range(4).shuffle(4).map(same).repeat(2).map(same).repeat(2),
        "files": files.shuffle(5).repeat(2),
        "files of a map": files.shuffle(5).map(same).repeat(3),
        "in flat_map": D.range(3).flat_map(lambda x: four(x).shuffle(4, seed=1)).repeat(2),
        "two in flat_map": D.range(2)
        .flat_map(lambda x: four(x).shuffle(4, seed=1).shuffle(3, seed=2))
        .repeat(3),
        "repeat in flat_map": D.range(2).flat_map(lambda x: four(x).shuffle(4, seed=1).repeat(2)),
        "in interleave": D.range(3)
        .interleave(lambda x: four(x).shuffle(4, seed=1), cycle_length=2)
        .repeat(2),
        "in parallel interleave": D.range(4)
        .interleave(lambda x: four(x).shuffle(4, seed=1), cycle_length=2, num_parallel_calls=2)
        .repeat(2),
        "in groups": D.range(16)
        .apply(E.group_by_window(lambda x: x % 2, lambda k, d: d.shuffle(4, seed=1).batch(4), 4))
        .apply(E.unbatch()),
        "of windows": D.range(6)
        .shuffle(6)
        .window(3)
        .flat_map(lambda w: w.shuffle(3, seed=1))
        .repeat(2),
        "shuffle_and_repeat": D.range(6).apply(E.shuffle_and_repeat(6, 3)),
        "shuffle_and_repeat with seed": D.range(6).apply(E.shuffle_and_repeat(4, 3, seed=3)),
        "concatenated": D.range(3).shuffle(3).concatenate(D.range(10, 13).shuffle(3)).repeat(3),
        "prefetched": D.range(4).shuffle(4).prefetch(1).shuffle(3).prefetch(1).repeat(3),
        "cached": D.range(4).shuffle(4).cache().shuffle(4).map(same).repeat(3),
        "seed of a tensor": D.range(8).shuffle(8, seed=tf.constant(2**31 + 4, tf.int64)),
        "shuffle_and_repeat with a seed of a tensor": D.range(6).apply(
            E.shuffle_and_repeat(6, 2, seed=tf.constant(7, tf.int64))
        ),
        "random numbers with a seed of a tensor": E.RandomDataset(
            seed=tf.constant(7, tf.int64)
        ).take(4),
    }


def elements(tf, one_shot):
    """Returns: name -> the first 24 elements of each pipeline."""
    orders = {}
    for name in pipelines(tf):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(5)
            dataset = pipelines(tf)[name]
            if one_shot:
                iterator = tf.data.make_one_shot_iterator(dataset)
            else:
                iterator = tf.data.make_initializable_iterator(dataset)
                session.run(iterator.initializer)
            following = iterator.get_next()
            orders[name] = []
            try:
                while len(orders[name]) < 24:
                    orders[name].append(int(session.run(following)))
            except tf.errors.OutOfRangeError:
                pass
    return orders


if __name__ == "__main__":
    import tensorflow

    print(json.dumps(elements(tensorflow, sys.argv[1] == "one_shot")))
