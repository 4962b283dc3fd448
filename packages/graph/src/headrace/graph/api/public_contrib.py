"""Public names of `contrib` and of the tutorials' data.

public_names.py describes the format; contrib_aliases.py has the names of `contrib` that are other
names of public objects.
"""

from __future__ import annotations

from headrace.graph.api.public_rows import rows

_FRAMEWORK = {
    **rows(
        "contrib.framework.arg_scope",
        "add_arg_scope arg_scope arg_scoped_arguments current_arg_scope has_arg_scope",
        "contrib.framework",
    ),
    **rows(
        "contrib.framework.variables",
        "VariableDeviceChooser add_model_variable assert_or_get_global_step filter_variables "
        "get_local_variables get_model_variables get_trainable_variables get_unique_variable "
        "get_variable_full_name get_variables get_variables_by_name get_variables_by_suffix "
        "get_variables_to_restore global_variable local_variable model_variable variable",
        "contrib.framework",
    ),
    **rows(
        "contrib.framework.checkpoints",
        "assign_from_checkpoint assign_from_checkpoint_fn assign_from_values assign_from_values_fn",
        "contrib.framework",
    ),
    **rows(
        "contrib.framework.tensors",
        "assert_scalar_int get_graph_from_inputs get_name_scope get_placeholders reduce_sum_n "
        "remove_squeezable_dimensions smart_case smart_cond smart_constant_value with_same_shape "
        "with_shape",
        "contrib.framework",
    ),
    **rows(
        "platform.deprecation",
        "deprecated deprecated_args deprecated_arg_values",
        "contrib.framework",
    ),
}

_LAYERS = {
    **rows(
        "contrib.layers.dense",
        "elu fully_connected legacy_fully_connected legacy_linear legacy_relu linear relu relu6",
        "contrib.layers",
    ),
    **rows(
        "contrib.layers.convolution",
        "conv1d conv2d conv2d_in_plane conv3d convolution convolution1d convolution2d "
        "convolution2d_in_plane convolution3d",
        "contrib.layers",
    ),
    **rows(
        "contrib.layers.transposed_convolution",
        "conv2d_transpose conv3d_transpose convolution2d_transpose convolution3d_transpose",
        "contrib.layers",
    ),
    **rows(
        "contrib.layers.separable_convolution",
        "separable_conv2d separable_convolution2d",
        "contrib.layers",
    ),
    **rows(
        "contrib.layers.pooling",
        "avg_pool2d avg_pool3d max_pool2d max_pool3d pool",
        "contrib.layers",
    ),
    "contrib.layers.batch_norm": "contrib.layers.batch_normalization",
    **rows(
        "contrib.layers.normalization",
        "bias_add group_norm instance_norm layer_norm",
        "contrib.layers",
    ),
    **rows(
        "contrib.layers.shapes",
        "dense_to_sparse dropout flatten images_to_sequence maxout one_hot_encoding "
        "poincare_normalize scale_gradient sequence_to_images softmax spatial_softmax unit_norm",
        "contrib.layers",
    ),
    **rows("contrib.layers.repetition", "repeat stack", "contrib.layers"),
    **rows(
        "contrib.layers.encoders",
        "bow_encoder embed_sequence embedding_lookup_unique",
        "contrib.layers",
    ),
    **rows(
        "contrib.layers.regularizers",
        "apply_regularization l1_l2_regularizer l1_regularizer l2_regularizer sum_regularizer",
        "contrib.layers",
    ),
    **rows(
        "contrib.layers.initial_values",
        "variance_scaling_initializer xavier_initializer xavier_initializer_conv2d",
        "contrib.layers",
    ),
    **rows(
        "contrib.layers.optimizers",
        "OPTIMIZER_CLS_NAMES OPTIMIZER_SUMMARIES adaptive_clipping_fn optimize_loss",
        "contrib.layers",
    ),
    **rows(
        "contrib.layers.summaries",
        "summarize_activation summarize_activations summarize_biases summarize_collection "
        "summarize_tensor summarize_tensors summarize_variables summarize_weights",
        "contrib.layers",
    ),
    **rows(
        "contrib.layers.named_outputs",
        "append_tensor_alias channel_dimension collect_named_outputs convert_collection_to_dict "
        "first_dimension gather_tensors_aliases get_tensor_aliases get_variable_collections "
        "last_dimension n_positive_integers two_element_tuple",
        "contrib.layers.utils",
    ),
}

_TRAINING = {
    **rows("contrib.training.hparam", "HParams parse_values", "contrib.training"),
    **rows(
        "contrib.training.training",
        "add_gradients_summaries clip_gradient_norms clip_gradient_norms_fn create_train_op "
        "multiply_gradients train",
        "contrib.training",
    ),
    **rows(
        "contrib.training.evaluation",
        "StopAfterNEvalsHook SummaryAtEndHook evaluate_once evaluate_repeatedly "
        "get_or_create_eval_step wait_for_new_checkpoint",
        "contrib.training",
    ),
    **rows(
        "cluster.ps_strategies",
        "RandomStrategy GreedyLoadBalancingStrategy byte_size_load_fn",
        "contrib.training",
    ),
}

_RECURRENT = {
    **rows(
        "rnn_cells.block_cells",
        "LSTMBlockCell LSTMBlockFusedCell GRUBlockCell GRUBlockCellV2",
        "contrib.rnn",
    ),
    "contrib.rnn.AttentionCellWrapper": "rnn_cells.attention",
    "contrib.rnn.LayerNormBasicLSTMCell": "rnn_cells.layer_norm_lstm",
    "contrib.rnn.LayerRNNCell": "rnn_cells.cell",
    "contrib.rnn.NASCell": "rnn_cells.nas",
    "contrib.rnn.UGRNNCell": "rnn_cells.ugrnn",
    **rows(
        "rnn_cells.projections",
        "EmbeddingWrapper HighwayWrapper InputProjectionWrapper OutputProjectionWrapper",
        "contrib.rnn",
    ),
    **rows(
        "rnn_cells.fused_rnn",
        "FusedRNNCell FusedRNNCellAdaptor TimeReversedFusedRNN",
        "contrib.rnn",
    ),
    **rows(
        "rnn_cells.stacked_rnn",
        "stack_bidirectional_dynamic_rnn stack_bidirectional_rnn",
        "contrib.rnn",
    ),
}

_SEQUENCES = {
    **rows("contrib.seq2seq.decoder", "Decoder dynamic_decode", "contrib.seq2seq"),
    **rows(
        "contrib.seq2seq.sampling",
        "CustomHelper GreedyEmbeddingHelper Helper InferenceHelper SampleEmbeddingHelper "
        "TrainingHelper",
        "contrib.seq2seq",
    ),
    **rows(
        "contrib.seq2seq.scheduled_sampling",
        "ScheduledEmbeddingTrainingHelper ScheduledOutputTrainingHelper",
        "contrib.seq2seq",
    ),
    **rows("contrib.seq2seq.basic_decoder", "BasicDecoder BasicDecoderOutput", "contrib.seq2seq"),
    **rows(
        "contrib.seq2seq.attention",
        "AttentionMechanism BahdanauAttention LuongAttention hardmax",
        "contrib.seq2seq",
    ),
    **rows(
        "contrib.seq2seq.monotonic_attention",
        "BahdanauMonotonicAttention LuongMonotonicAttention monotonic_attention safe_cumprod",
        "contrib.seq2seq",
    ),
    **rows(
        "contrib.seq2seq.attention_wrapper",
        "AttentionWrapper AttentionWrapperState",
        "contrib.seq2seq",
    ),
    **rows(
        "contrib.seq2seq.beam_search",
        "BeamSearchDecoder BeamSearchDecoderOutput BeamSearchDecoderState "
        "FinalBeamSearchDecoderOutput tile_batch",
        "contrib.seq2seq",
    ),
    **rows("contrib.seq2seq.beam_paths", "gather_tree gather_tree_from_array", "contrib.seq2seq"),
    "contrib.seq2seq.sequence_loss": "contrib.seq2seq.sequence_loss",
    **rows(
        "contrib.legacy_seq2seq",
        "basic_rnn_seq2seq embedding_rnn_decoder model_with_buckets rnn_decoder sequence_loss "
        "sequence_loss_by_example tied_rnn_seq2seq",
        "contrib.legacy_seq2seq",
    ),
}

_TUTORIALS = rows(
    "tutorials.mnist_data",
    "DataSet extract_images extract_labels load_mnist read_data_sets",
    "examples.tutorials.mnist.input_data",
)

CONTRIB: dict[str, str] = {
    **_FRAMEWORK,
    **_LAYERS,
    **_TRAINING,
    **_RECURRENT,
    **_SEQUENCES,
    **rows(
        "contrib.crf",
        "crf_binary_score crf_decode crf_log_likelihood crf_log_norm crf_sequence_score "
        "crf_unary_score viterbi_decode",
        "contrib.crf",
    ),
    **rows(
        "contrib.factorization.kmeans",
        "COSINE_DISTANCE KMeans SQUARED_EUCLIDEAN_DISTANCE",
        "contrib.factorization",
    ),
    **rows(
        "contrib.factorization.initial_centers",
        "KMEANS_PLUS_PLUS_INIT RANDOM_INIT",
        "contrib.factorization",
    ),
    "contrib.learn.ModeKeys": "contrib.model_modes",
    **rows(
        "contrib.model_analyzer",
        "analyze_ops analyze_vars tensor_description",
        "contrib.slim.model_analyzer",
    ),
    **rows(
        "contrib.vocabulary",
        "ByteProcessor CategoricalVocabulary VocabularyProcessor",
        "contrib.learn.preprocessing",
    ),
    **_TUTORIALS,
}
