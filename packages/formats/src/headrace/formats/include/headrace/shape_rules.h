/* Shape inference for complete input shapes, one function per rule:
 *
 *   hr_code hr_shape_matmul(hr_request* r);
 *
 * reads the shapes (and known values) of r->inputs and the attributes of r->node, and sets rank and
 * dims of r->outputs. If it needs a value that is unknown, it sets r->shape_depends_on_data and
 * returns HR_OK. A catalogue line names its rule. headrace.graph.shape_rules implements the same
 * rules in Python, for partially known shapes, with the same error messages.
 */
#ifndef HEADRACE_SHAPE_RULES_H
#define HEADRACE_SHAPE_RULES_H

#include "shape_rules/algebra.h"
#include "shape_rules/arrays.h"
#include "shape_rules/clustering.h"
#include "shape_rules/elementwise.h"
#include "shape_rules/gather.h"
#include "shape_rules/given.h"
#include "shape_rules/image.h"
#include "shape_rules/joining.h"
#include "shape_rules/linalg.h"
#include "shape_rules/matmul.h"
#include "shape_rules/normalization.h"
#include "shape_rules/random.h"
#include "shape_rules/recurrent.h"
#include "shape_rules/reduction.h"
#include "shape_rules/scatter.h"
#include "shape_rules/segment.h"
#include "shape_rules/slicing.h"
#include "shape_rules/sparse.h"
#include "shape_rules/state.h"
#include "shape_rules/windows.h"

typedef struct hr_named_shape_rule {
  const char* name;
  hr_shape_fn rule;
} hr_named_shape_rule;

/* Returns the rule of a name, or null. */
static inline hr_shape_fn hr_shape_rule_by_name(const char* name) {
  /* Sorted by name, for the binary search below. */
  static const hr_named_shape_rule rules[] = {
      {"arg_reduce", hr_shape_arg_reduce},
      {"as_input_1", hr_shape_as_input_1},
      {"as_input_2", hr_shape_as_input_2},
      {"as_input_3", hr_shape_as_input_3},
      {"assign", hr_shape_assign},
      {"assign_update", hr_shape_assign_update},
      {"attr_output_shapes", hr_shape_unknown},
      {"attr_shape", hr_shape_attr_shape},
      {"audio_spectrogram", hr_shape_unknown},
      {"batch_matmul", hr_shape_batch_matmul},
      {"batch_norm_global_grad", hr_shape_batch_norm_global_grad},
      {"batch_to_space", hr_shape_batch_to_space},
      {"batch_to_space_nd", hr_shape_batch_to_space_nd},
      {"bias_add", hr_shape_bias_add},
      {"bias_add_grad", hr_shape_bias_add_grad},
      {"bincount", hr_shape_bincount},
      {"bitcast", hr_shape_bitcast},
      {"block_lstm", hr_shape_block_lstm},
      {"block_lstm_grad", hr_shape_block_lstm_grad},
      {"boosted_trees_bucketize", hr_shape_unknown},
      {"broadcast", hr_shape_broadcast},
      {"broadcast_args", hr_shape_broadcast_args},
      {"broadcast_gradient_args", hr_shape_broadcast_gradient_args},
      {"broadcast_to", hr_shape_broadcast_to},
      {"candidate_sampler", hr_shape_candidate_sampler},
      {"chosen_point", hr_shape_chosen_point},
      {"clip_by_value", hr_shape_clip_by_value},
      {"colours", hr_shape_unknown},
      {"combined_non_max_suppression", hr_shape_combined_non_max_suppression},
      {"concat", hr_shape_concat},
      {"concat_offset", hr_shape_concat_offset},
      {"concat_v2", hr_shape_concat_v2},
      {"const", hr_shape_const},
      {"conv2d", hr_shape_conv2d},
      {"conv3d", hr_shape_conv3d},
      {"crop_and_resize", hr_shape_crop_and_resize},
      {"ctc_decoder", hr_shape_ctc_decoder},
      {"ctc_loss", hr_shape_ctc_loss},
      {"decode_csv", hr_shape_decode_csv},
      {"decode_gif", hr_shape_unknown},
      {"decode_image", hr_shape_unknown},
      {"decode_raw", hr_shape_unknown},
      {"decode_wav", hr_shape_unknown},
      {"dense_and_sparse_set", hr_shape_unknown},
      {"dense_bincount", hr_shape_dense_bincount},
      {"dense_sets", hr_shape_unknown},
      {"depth_to_space", hr_shape_depth_to_space},
      {"depthwise_conv2d", hr_shape_depthwise_conv2d},
      {"determinant", hr_shape_determinant},
      {"diag", hr_shape_diag},
      {"diag_part", hr_shape_diag_part},
      {"dilation2d", hr_shape_dilation2d},
      {"dynamic_partition", hr_shape_dynamic_partition},
      {"dynamic_stitch", hr_shape_dynamic_stitch},
      {"each_unchanged", hr_shape_each_unchanged},
      {"edit_distance", hr_shape_unknown},
      {"einsum", hr_shape_einsum},
      {"encode_png", hr_shape_encode_png},
      {"ensure_shape", hr_shape_ensure_shape},
      {"expand_dims", hr_shape_expand_dims},
      {"extract_image_patches", hr_shape_extract_image_patches},
      {"extract_jpeg_shape", hr_shape_extract_jpeg_shape},
      {"extract_volume_patches", hr_shape_extract_volume_patches},
      {"fractional_pool", hr_shape_fractional_pool},
      {"fused_batch_norm", hr_shape_fused_batch_norm},
      {"fused_batch_norm_grad", hr_shape_fused_batch_norm_grad},
      {"gather", hr_shape_gather},
      {"gather_nd", hr_shape_gather_nd},
      {"gather_tree", hr_shape_gather_tree},
      {"gather_v2", hr_shape_gather_v2},
      {"gru_cell_grad", hr_shape_gru_cell_grad},
      {"histogram_fixed_width", hr_shape_histogram_fixed_width},
      {"in_top_k", hr_shape_in_top_k},
      {"irfft", hr_shape_irfft},
      {"linspace", hr_shape_linspace},
      {"list_diff", hr_shape_list_diff},
      {"lstm_cell_grad", hr_shape_lstm_cell_grad},
      {"lu", hr_shape_lu},
      {"matmul", hr_shape_matmul},
      {"matrix", hr_shape_matrix},
      {"matrix_3", hr_shape_unknown},
      {"matrix_diag", hr_shape_matrix_diag},
      {"matrix_diag_part", hr_shape_matrix_diag_part},
      {"matrix_diag_part_v2", hr_shape_matrix_diag_part_v2},
      {"matrix_diag_v2", hr_shape_matrix_diag_v2},
      {"matrix_solve", hr_shape_matrix_solve},
      {"matrix_solve_ls", hr_shape_matrix_solve_ls},
      {"merge", hr_shape_merge},
      {"merge_flow", hr_shape_unknown},
      {"merge_or_scalar", hr_shape_merge_or_scalar},
      {"mfcc", hr_shape_unknown},
      {"multinomial", hr_shape_multinomial},
      {"nearest_neighbors", hr_shape_nearest_neighbors},
      {"no_output", hr_shape_no_output},
      {"non_max_suppression", hr_shape_non_max_suppression},
      {"nth_element", hr_shape_nth_element},
      {"one_hot", hr_shape_one_hot},
      {"pack", hr_shape_pack},
      {"pad", hr_shape_pad},
      {"pad_grad", hr_shape_pad_grad},
      {"parse_example", hr_shape_unknown},
      {"placeholder_with_default", hr_shape_placeholder_with_default},
      {"pool2d", hr_shape_pool2d},
      {"pool2d_v2", hr_shape_pool2d_v2},
      {"pool3d", hr_shape_pool3d},
      {"qr", hr_shape_qr},
      {"ragged_gather", hr_shape_unknown},
      {"ragged_range", hr_shape_unknown},
      {"ragged_to_sparse", hr_shape_unknown},
      {"ragged_to_tensor", hr_shape_unknown},
      {"random_crop", hr_shape_random_crop},
      {"random_gamma", hr_shape_random_gamma},
      {"range", hr_shape_range},
      {"read_variable", hr_shape_unknown},
      {"read_variables", hr_shape_unknown},
      {"recurrent_cell", hr_shape_recurrent_cell},
      {"reduce", hr_shape_reduce},
      {"ref_handle", hr_shape_ref_handle},
      {"ref_select", hr_shape_unknown},
      {"reshape", hr_shape_reshape},
      {"resize", hr_shape_resize},
      {"resize_by_input_2", hr_shape_resize_by_input_2},
      {"resource_gather", hr_shape_unknown},
      {"resource_gather_nd", hr_shape_unknown},
      {"reverse_sequence", hr_shape_unknown},
      {"reverse_v2", hr_shape_unknown},
      {"rfft", hr_shape_rfft},
      {"sample_distorted_bounding_box", hr_shape_sample_distorted_bounding_box},
      {"sampled_points", hr_shape_sampled_points},
      {"scalar", hr_shape_scalar},
      {"scatter", hr_shape_scatter},
      {"scatter_nd", hr_shape_scatter_nd},
      {"segment", hr_shape_segment},
      {"select", hr_shape_select},
      {"self_adjoint_eig", hr_shape_self_adjoint_eig},
      {"self_adjoint_eig_v2", hr_shape_self_adjoint_eig_v2},
      {"shape", hr_shape_shape},
      {"shape_from_input_0", hr_shape_shape_from_input_0},
      {"shape_from_input_1", hr_shape_shape_from_input_1},
      {"shape_from_input_3", hr_shape_shape_from_input_3},
      {"shape_n", hr_shape_shape_n},
      {"slice", hr_shape_slice},
      {"softmax", hr_shape_softmax},
      {"softmax_cross_entropy", hr_shape_softmax_cross_entropy},
      {"space_to_batch", hr_shape_space_to_batch},
      {"space_to_batch_nd", hr_shape_space_to_batch_nd},
      {"space_to_depth", hr_shape_space_to_depth},
      {"sparse_add_grad", hr_shape_sparse_add_grad},
      {"sparse_binary", hr_shape_unknown},
      {"sparse_concat", hr_shape_sparse_concat},
      {"sparse_dense_matmul", hr_shape_sparse_dense_matmul},
      {"sparse_fill_empty_rows", hr_shape_sparse_fill_empty_rows},
      {"sparse_fill_empty_rows_grad", hr_shape_sparse_fill_empty_rows_grad},
      {"sparse_matrix", hr_shape_unknown},
      {"sparse_part", hr_shape_unknown},
      {"sparse_reduce", hr_shape_unknown},
      {"sparse_reshape", hr_shape_sparse_reshape},
      {"sparse_segment", hr_shape_sparse_segment},
      {"sparse_segment_counted", hr_shape_sparse_segment_counted},
      {"sparse_segment_grad", hr_shape_sparse_segment_grad},
      {"sparse_segment_grad_v2", hr_shape_sparse_segment_grad_v2},
      {"sparse_slice_grad", hr_shape_unknown},
      {"sparse_softmax_cross_entropy", hr_shape_sparse_softmax_cross_entropy},
      {"sparse_split", hr_shape_unknown},
      {"sparse_triplet", hr_shape_unknown},
      {"split", hr_shape_split},
      {"split_v", hr_shape_split_v},
      {"square", hr_shape_square},
      {"squeeze", hr_shape_squeeze},
      {"strided_slice", hr_shape_strided_slice},
      {"string_split", hr_shape_unknown},
      {"svd", hr_shape_svd},
      {"switch", hr_shape_switch},
      {"tensor_array", hr_shape_tensor_array},
      {"tensor_array_concat", hr_shape_unknown},
      {"tensor_array_gather", hr_shape_unknown},
      {"tensor_array_read", hr_shape_unknown},
      {"tensor_list_element_shape", hr_shape_unknown},
      {"tensor_list_gather", hr_shape_unknown},
      {"tensor_list_item", hr_shape_unknown},
      {"tensor_list_pop", hr_shape_unknown},
      {"tensor_list_stack", hr_shape_unknown},
      {"tensor_scatter", hr_shape_tensor_scatter},
      {"tile", hr_shape_tile},
      {"tile_grad", hr_shape_tile_grad},
      {"top_k", hr_shape_top_k},
      {"top_k_v2", hr_shape_top_k_v2},
      {"transpose", hr_shape_transpose},
      {"unchanged", hr_shape_unchanged},
      {"unique", hr_shape_unique},
      {"unknown", hr_shape_unknown},
      {"unpack", hr_shape_unpack},
      {"unravel_index", hr_shape_unravel_index},
      {"unsorted_segment", hr_shape_unsorted_segment},
      {"variable_shape", hr_shape_unknown},
      {"vector_3", hr_shape_vector_3},
      {"vector_unchanged", hr_shape_vector_unchanged},
      {"vectors", hr_shape_unknown},
      {"where", hr_shape_where},
  };
  size_t low = 0, high = sizeof rules / sizeof rules[0];
  while (low < high) {
    size_t middle = (low + high) / 2;
    int order = strcmp(name, rules[middle].name);
    if (order == 0) return rules[middle].rule;
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return NULL;
}

#endif
