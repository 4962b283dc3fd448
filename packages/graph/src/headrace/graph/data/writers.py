"""Writing a dataset to a file."""

from __future__ import annotations

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.data.dataset import Dataset
from headrace.graph.data.dataset_node import DatasetNode
from headrace.graph.data.element_specs import is_scalar_of, output_shapes, output_types
from headrace.graph.data.sources import optional_tensor
from headrace.graph.framework.op_registry import no_gradient
from headrace.graph.framework.operation import Operation
from headrace.graph.typing.aliases import TensorLike


class TFRecordWriter:
    """Writes the elements of datasets as TFRecord files.

    Args:
      filename: [] string.
      compression_type: "" (none), "ZLIB" or "GZIP"; a compressed file is held in memory until it is
        complete.

    >>> import headrace.graph as hr
    >>> words = hr.data.Dataset.from_tensor_slices(["one", "two"])
    >>> write = hr.data.experimental.TFRecordWriter("words.tfrecord").write(words)
    >>> element = hr.data.TFRecordDataset("words.tfrecord").make_one_shot_iterator().get_next()
    >>> with hr.Session() as session:
    ...     session.run(write)
    ...     print(session.run(element), session.run(element))
    b'one' b'two'
    """

    def __init__(self, filename: TensorLike, compression_type: TensorLike | None = None) -> None:
        string = as_dtype("string")
        self._filename = convert_to_tensor(filename, string, name="filename")
        self._compression_type = optional_tensor("compression_type", compression_type, "", string)

    def write(self, dataset: Dataset) -> Operation:
        """Returns an operation that writes a dataset, in place of an earlier file.

        Raises: TypeError for something else than a dataset of [] strings.
        """
        if not isinstance(dataset, DatasetNode):
            raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
        if not is_scalar_of(dataset.element_spec, as_dtype("string")):
            raise TypeError(
                "`dataset` must produce scalar `DT_STRING` tensors whereas it produces shape "
                f"{output_shapes(dataset.element_spec)} and types "
                f"{output_types(dataset.element_spec)}"
            )
        file = (self._filename, self._compression_type)
        return op("DatasetToTFRecord", dataset._variant_tensor, *file)


no_gradient("DatasetToTFRecord", "files have no gradient")
