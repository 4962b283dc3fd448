"""Public names of networks: convolutions and pools, layers, losses and metrics.

public_names.py describes the format.
"""

from __future__ import annotations

from headrace.graph.api.public_rows import rows

_NETWORKS_BY_RANK = {
    **rows(
        "ops.convolution.transposed_convolution",
        "conv1d_transpose conv3d_transpose conv_transpose atrous_conv2d_transpose "
        "conv3d_backprop_filter",
        "nn",
    ),
    "nn.conv3d_backprop_filter_v2": "ops.convolution.transposed_convolution:conv3d_backprop_filter",
    **rows(
        "ops.convolution.depthwise",
        "depthwise_conv2d_native depthwise_conv2d_backprop_input depthwise_conv2d_backprop_filter "
        "depthwise_conv2d_native_backprop_input depthwise_conv2d_native_backprop_filter",
        "nn",
    ),
    **rows(
        "ops.pooling.window_pooling",
        "max_pool1d avg_pool1d max_pool2d max_pool_v2 avg_pool_v2 pool fractional_max_pool "
        "fractional_avg_pool dilation2d erosion2d",
        "nn",
    ),
    "nn.avg_pool2d": "ops.pooling.pooling:avg_pool",
    **rows("ops.arrays.space_batches", "space_to_batch with_space_to_batch", "nn"),
    **rows(
        "ops.arrays.space_batches", "space_to_batch batch_to_space required_space_to_batch_paddings"
    ),
    **rows("ops.arrays.arrays", "space_to_depth depth_to_space", "nn"),
    **rows("ops.activations", "softmax log_softmax softplus softsign", "math"),
    "math.in_top_k": "ops.losses",
    "math.zero_fraction": "ops.clipping",
    "math.invert_permutation": "ops.arrays.arrays",
}

_LAYERS = {
    "layers.Layer": "layers.layer",
    "layers.InputSpec": "layers.input_spec",
    **rows("layers.dense", "Dense Dropout Flatten dense dropout flatten", "layers"),
    **rows("layers.convolution", "Conv1D Conv2D Conv3D conv1d conv2d conv3d", "layers"),
    **rows(
        "layers.transposed_convolution",
        "Conv2DTranspose Conv3DTranspose conv2d_transpose conv3d_transpose",
        "layers",
    ),
    **rows(
        "layers.separable_convolution",
        "SeparableConv1D SeparableConv2D separable_conv1d separable_conv2d",
        "layers",
    ),
    **rows(
        "layers.pooling",
        "MaxPooling1D MaxPooling2D MaxPooling3D AveragePooling1D AveragePooling2D "
        "AveragePooling3D max_pooling1d max_pooling2d max_pooling3d average_pooling1d "
        "average_pooling2d average_pooling3d",
        "layers",
    ),
    **rows("layers.normalization", "BatchNormalization batch_normalization", "layers"),
}

_LOSSES = {
    **rows(
        "losses.losses",
        "Reduction add_loss get_losses get_regularization_losses get_regularization_loss "
        "get_total_loss compute_weighted_loss absolute_difference cosine_distance hinge_loss "
        "huber_loss log_loss mean_pairwise_squared_error mean_squared_error "
        "sigmoid_cross_entropy softmax_cross_entropy sparse_softmax_cross_entropy",
        "losses",
    ),
}

_METRICS = {
    **rows(
        "metrics.means",
        "mean mean_tensor accuracy mean_absolute_error mean_squared_error "
        "root_mean_squared_error mean_relative_error mean_cosine_distance percentage_below",
        "metrics",
    ),
    **rows(
        "metrics.counts",
        "true_positives true_negatives false_positives false_negatives precision recall",
        "metrics",
    ),
    **rows(
        "metrics.thresholds",
        "true_positives_at_thresholds true_negatives_at_thresholds false_positives_at_thresholds "
        "false_negatives_at_thresholds precision_at_thresholds recall_at_thresholds auc "
        "sensitivity_at_specificity specificity_at_sensitivity",
        "metrics",
    ),
    **rows(
        "metrics.ranks",
        "precision_at_k recall_at_k precision_at_top_k recall_at_top_k average_precision_at_k "
        "sparse_precision_at_k sparse_average_precision_at_k",
        "metrics",
    ),
    **rows("metrics.confusion", "mean_iou mean_per_class_accuracy", "metrics"),
    "confusion_matrix": "metrics.confusion",
    "math.confusion_matrix": "metrics.confusion",
}

_SAMPLERS = (
    "uniform_candidate_sampler log_uniform_candidate_sampler learned_unigram_candidate_sampler "
    "fixed_unigram_candidate_sampler all_candidate_sampler"
)
_EMBEDDINGS = {
    **rows(
        "ops.embedding",
        "embedding_lookup embedding_lookup_sparse safe_embedding_lookup_sparse",
        "nn",
    ),
    **rows(
        "ops.candidate_sampling.candidate_sampling", f"{_SAMPLERS} compute_accidental_hits", "nn"
    ),
    **rows("ops.candidate_sampling.candidate_sampling", _SAMPLERS, "random"),
    **rows("ops.candidate_sampling.sampled_losses", "nce_loss sampled_softmax_loss", "nn"),
}

_RECURRENT = {
    **rows("rnn_cells.cell", "RNNCell LSTMStateTuple", "nn.rnn_cell"),
    **rows("rnn_cells.basic", "BasicRNNCell GRUCell", "nn.rnn_cell"),
    **rows("rnn_cells.lstm", "BasicLSTMCell LSTMCell", "nn.rnn_cell"),
    **rows(
        "rnn_cells.wrappers",
        "MultiRNNCell DropoutWrapper ResidualWrapper DeviceWrapper",
        "nn.rnn_cell",
    ),
    **rows(
        "rnn_cells.static_rnn",
        "static_rnn static_bidirectional_rnn static_state_saving_rnn",
        "nn",
    ),
    **rows("rnn_cells.dynamic_rnn", "dynamic_rnn bidirectional_dynamic_rnn", "nn"),
    "nn.raw_rnn": "rnn_cells.raw_rnn",
}
_CTC = {
    **rows(
        "ops.ctc",
        "ctc_loss ctc_greedy_decoder ctc_beam_search_decoder ctc_beam_search_decoder_v2",
        "nn",
    ),
}
_IMAGE = {
    **rows(
        "ops.image.resize",
        "ResizeMethod resize_images resize_bilinear resize_bicubic resize_nearest_neighbor "
        "resize_area crop_and_resize extract_glimpse",
        "image",
    ),
    "image.resize": "ops.image.resize:resize_images",
    **rows("ops.image.hsv", "rgb_to_hsv hsv_to_rgb", "image"),
    **rows(
        "ops.image.geometry",
        "flip_left_right flip_up_down transpose transpose_image rot90 random_flip_left_right "
        "random_flip_up_down central_crop pad_to_bounding_box crop_to_bounding_box "
        "resize_image_with_crop_or_pad resize_with_crop_or_pad resize_image_with_pad",
        "image",
    ),
    "image.random_crop": "ops.random.random",
    **rows(
        "ops.image.colour",
        "convert_image_dtype adjust_brightness adjust_contrast adjust_gamma adjust_hue "
        "adjust_saturation adjust_jpeg_quality random_brightness random_contrast random_hue "
        "random_saturation random_jpeg_quality rgb_to_grayscale grayscale_to_rgb rgb_to_yuv "
        "yuv_to_rgb rgb_to_yiq yiq_to_rgb per_image_standardization",
        "image",
    ),
    **rows(
        "ops.image.codecs",
        "decode_jpeg decode_and_crop_jpeg decode_png decode_bmp decode_gif decode_image "
        "extract_jpeg_shape is_jpeg encode_jpeg encode_png",
        "image",
    ),
    **rows("ops.image.codecs", "decode_wav encode_wav", "audio"),
    **rows(
        "ops.image.codecs",
        "decode_jpeg decode_and_crop_jpeg decode_png decode_bmp decode_gif decode_image "
        "extract_jpeg_shape is_jpeg encode_jpeg",
        "io",
    ),
    **rows(
        "ops.image.boxes",
        "draw_bounding_boxes non_max_suppression non_max_suppression_with_scores "
        "non_max_suppression_padded non_max_suppression_overlaps combined_non_max_suppression "
        "sample_distorted_bounding_box",
        "image",
    ),
    **rows(
        "ops.image.quality",
        "psnr ssim ssim_multiscale total_variation image_gradients sobel_edges",
        "image",
    ),
}

NETWORKS = {
    **_IMAGE,
    **_CTC,
    **_RECURRENT,
    **_EMBEDDINGS,
    **_NETWORKS_BY_RANK,
    **_LAYERS,
    **_LOSSES,
    **_METRICS,
}
