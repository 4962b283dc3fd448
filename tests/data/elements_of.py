"""The elements of datasets, and their form in elements.json.

With TensorFlow 1.15, `PYTHONPATH=packages/graph/tests python tests/data/elements_of.py PATH` writes
that file.
"""

import json
import sys


def parts(element):
    """Returns the tensors of an element, those of sparse tensors included."""
    if isinstance(element, dict):
        return [t for key in sorted(element) for t in parts(element[key])]
    if isinstance(element, (tuple, list)) and not hasattr(element, "dense_shape"):
        return [t for value in element for t in parts(value)]
    if hasattr(element, "dense_shape"):
        return [element.indices, element.values, element.dense_shape]
    return [element]


def elements(m, dataset, one_shot=False, most=200):
    """Returns the elements of a dataset, each as a list of nested lists."""
    if one_shot:
        iterator = m.data.make_one_shot_iterator(dataset)
    else:
        iterator = m.data.make_initializable_iterator(dataset)
    tensors = parts(iterator.get_next())
    found = []
    with m.Session() as session:
        session.run(m.global_variables_initializer())
        if not one_shot:
            session.run(iterator.initializer)
        while len(found) < most:
            try:
                found.append([plain(value) for value in session.run(tensors)])
            except m.errors.OutOfRangeError:
                break
    return found


def plain(value):
    """Returns an array as nested lists, bytes as text."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value.decode() if isinstance(value, bytes) else value


if __name__ == "__main__":
    import tensorflow as tf
    from data_programs import PROGRAMS

    rows = {}
    for program in PROGRAMS:
        with tf.Graph().as_default():
            rows[program.__name__] = elements(tf, program(tf))
    with open(sys.argv[1], "w") as file:
        file.write("{\n" + ",\n".join([f'"{k}": {json.dumps(rows[k])}' for k in rows]) + "\n}\n")
