"""Embeddings of sequences of ids."""

from __future__ import annotations

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.contrib.framework.variables import model_variable
from headrace.graph.contrib.layers.shapes import dense_to_sparse
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.embedding import embedding_lookup, safe_embedding_lookup_sparse
from headrace.graph.ops.gather import gather
from headrace.graph.ops.reduction import reduce_mean
from headrace.graph.typing.aliases import Initializer, Regularizer, TensorLike
from headrace.graph.variables.variable_scope import VariableScope, variable_scope


def bow_encoder(
    ids: TensorLike | SparseTensor,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Initializer | None = None,
    regularizer: Regularizer | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
    reuse: bool | None = None,
) -> Tensor:
    """Returns the mean embedding of each sequence of ids.

    Args:
      ids: [batch, length] int32 or int64, dense or sparse.
      vocab_size: number of ids.
      embed_dim: size of an embedding.
      sparse_lookup: treat ids of 0 as padding, which does not count.
      initializer, regularizer, trainable: of the embeddings, as in get_variable.
      scope: variable scope.
      reuse: reuse the variables of the scope.
    Returns: [batch, embed_dim].
    Raises: ValueError without sizes; TypeError for sparse ids without sparse_lookup.
    """
    if not vocab_size or not embed_dim:
        raise ValueError("Must specify vocab size and embedding dimension")
    values = [ids.values] if isinstance(ids, SparseTensor) else [ids]
    with variable_scope(scope, "bow_encoder", values, reuse=reuse):
        embeddings = model_variable(
            "embeddings",
            shape=[vocab_size, embed_dim],
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if sparse_lookup:
            sparse = ids if isinstance(ids, SparseTensor) else dense_to_sparse(ids)
            return safe_embedding_lookup_sparse([embeddings], sparse, combiner="mean", default_id=0)
        if isinstance(ids, SparseTensor):
            raise TypeError(f"ids are expected to be dense Tensor, got: {ids}")
        result: Tensor = reduce_mean(embedding_lookup(embeddings, ids), axis=1)
        return result


def embed_sequence(
    ids: TensorLike,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Initializer | None = None,
    regularizer: Regularizer | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
    reuse: bool | None = None,
) -> Tensor:
    """Returns the embedding of each id.

    Args:
      ids: [batch, length] int32 or int64.
      vocab_size, embed_dim: as in bow_encoder; not needed if the scope is reused.
      unique: look each id up once.
      the others: as in bow_encoder.
    Returns: [batch, length, embed_dim].
    Raises: ValueError without sizes unless the scope is reused.
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            "Must specify vocab size and embedding dimension when not reusing. "
            f"Got vocab_size={vocab_size} and embed_dim={embed_dim}"
        )
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        known = vocab_size is not None and embed_dim is not None
        embeddings = model_variable(
            "embeddings",
            shape=[vocab_size, embed_dim] if known else None,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        look_up = embedding_lookup_unique if unique else embedding_lookup
        return look_up(embeddings, ids)


def embedding_lookup_unique(
    params: TensorLike,
    ids: TensorLike,
    partition_strategy: str = "mod",
    name: str | None = None,
) -> Tensor:
    """Same as embedding_lookup, but looks each id up once.

    Args: as in embedding_lookup. Returns: [..., rest of a row].
    """
    with name_scope(name, "EmbeddingLookupUnique", [ids]):
        all_ids = convert_to_tensor(ids)
        once, index = op("Unique", op("Reshape", all_ids, [-1]))
        rows = gather(embedding_lookup(params, once, partition_strategy), index)
        row_shape = op("Slice", op("Shape", rows), [1], [-1])
        result: Tensor = op("Reshape", rows, op("ConcatV2", [op("Shape", all_ids), row_shape], 0))
        result.set_shape(all_ids.get_shape().concatenate(rows.get_shape()[1:]))
        return result
