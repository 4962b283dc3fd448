"""Names of `hr.contrib` that are other names of public objects; aliases.py describes the format."""

from __future__ import annotations

_CELLS = "nn.rnn_cell.*"
_LAYERS = (
    "avg_pool2d avg_pool3d batch_norm bias_add conv1d conv2d conv3d conv2d_in_plane "
    "conv2d_transpose conv3d_transpose convolution convolution1d convolution2d "
    "convolution2d_in_plane convolution2d_transpose convolution3d convolution3d_transpose "
    "dense_to_sparse dropout elu flatten fully_connected group_norm images_to_sequence "
    "instance_norm layer_norm linear max_pool2d max_pool3d maxout one_hot_encoding pool relu relu6 "
    "repeat scale_gradient separable_conv2d separable_convolution2d sequence_to_images softmax "
    "spatial_softmax stack unit_norm bow_encoder embed_sequence embedding_lookup_unique "
    "apply_regularization l1_l2_regularizer l1_regularizer l2_regularizer sum_regularizer "
    "xavier_initializer xavier_initializer_conv2d variance_scaling_initializer optimize_loss "
    "summarize_activation summarize_activations summarize_collection summarize_tensor "
    "summarize_tensors"
)
_SLIM = " ".join(f"contrib.layers.{name}" for name in _LAYERS.split())
_MODEL_VARIABLES = (
    "add_arg_scope arg_scope arg_scoped_arguments has_arg_scope current_arg_scope "
    "add_model_variable assign_from_checkpoint assign_from_checkpoint_fn assign_from_values "
    "assign_from_values_fn filter_variables get_local_variables get_model_variables "
    "get_trainable_variables get_unique_variable get_variable_full_name get_variables "
    "get_variables_by_name get_variables_by_suffix get_variables_to_restore global_variable "
    "local_variable model_variable variable VariableDeviceChooser"
)

CONTRIB_ALIASES = {
    "contrib.framework": "assert_same_float_dtype assert_scalar "
    "convert_to_tensor_or_sparse_tensor is_numeric_tensor is_non_decreasing "
    "is_strictly_increasing is_tensor argsort sort py_func TensorSpec nest "
    "train.assert_global_step train.create_global_step train.get_global_step "
    "train.get_or_create_global_step train.load_checkpoint train.list_variables "
    "train.load_variable train.init_from_checkpoint "
    "prepend_name_scope=@framework.import_scope:prepend_name_scope "
    "strip_name_scope=@framework.import_scope:strip_name_scope",
    "contrib.layers": "nn.safe_embedding_lookup_sparse",
    "contrib.training": "train.checkpoints_iterator",
    "contrib.rnn": f"{_CELLS} nn.static_rnn nn.static_bidirectional_rnn nn.static_state_saving_rnn",
    "contrib.losses": "losses.absolute_difference losses.add_loss losses.compute_weighted_loss "
    "losses.cosine_distance losses.get_losses losses.get_regularization_losses "
    "losses.get_total_loss losses.hinge_loss losses.log_loss losses.mean_pairwise_squared_error "
    "losses.mean_squared_error losses.sigmoid_cross_entropy losses.softmax_cross_entropy "
    "losses.sparse_softmax_cross_entropy",
    "contrib.metrics": "confusion_matrix",
    "contrib.data": "data.experimental.*",
    "contrib.lookup": "lookup.*",
    "contrib.slim": f"{_SLIM} "
    + " ".join(f"contrib.framework.{name}" for name in _MODEL_VARIABLES.split())
    + " train.create_global_step train.get_global_step train.get_or_create_global_step",
    "contrib.slim.losses": "losses.*",
    "contrib.slim.utils": "contrib.layers.utils.*",
    "contrib.util": "make_tensor_proto make_ndarray constant_value=get_static_value",
    # modules inside of contrib that programs import
    "contrib.framework.python.ops": "contrib.framework.arg_scope contrib.framework.add_arg_scope",
    "contrib.framework.python.ops.variables": " ".join(
        f"contrib.framework.{name}" for name in _MODEL_VARIABLES.split()[5:]
    ),
    "contrib.layers.python.layers": _SLIM,
    "contrib.layers.python.layers.layers": _SLIM,
    "contrib.layers.python.layers.initializers": "contrib.layers.xavier_initializer "
    "contrib.layers.xavier_initializer_conv2d contrib.layers.variance_scaling_initializer",
    "contrib.layers.python.layers.regularizers": "contrib.layers.l1_regularizer "
    "contrib.layers.l2_regularizer contrib.layers.l1_l2_regularizer "
    "contrib.layers.sum_regularizer contrib.layers.apply_regularization",
    "contrib.layers.python.layers.utils": "contrib.layers.utils.*",
    "contrib.rnn.python.ops.core_rnn_cell": _CELLS,
    "contrib.rnn.python.ops.rnn_cell": f"{_CELLS} contrib.rnn.*",
    "contrib.seq2seq.python.ops.attention_wrapper": "contrib.seq2seq.*",
    "contrib.seq2seq.python.ops.basic_decoder": "contrib.seq2seq.*",
    "contrib.seq2seq.python.ops.beam_search_decoder": "contrib.seq2seq.*",
    "contrib.seq2seq.python.ops.beam_search_ops": "contrib.seq2seq.gather_tree",
    "contrib.seq2seq.python.ops.decoder": "contrib.seq2seq.*",
    "contrib.seq2seq.python.ops.helper": "contrib.seq2seq.*",
    "contrib.seq2seq.python.ops.loss": "contrib.seq2seq.sequence_loss",
    "contrib.training.python.training.hparam": "contrib.training.HParams "
    "contrib.training.parse_values",
}
