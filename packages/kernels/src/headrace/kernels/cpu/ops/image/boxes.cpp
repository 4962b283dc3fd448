// Non-maximum suppression of bounding boxes, and DrawBoundingBoxes.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <queue>
#include <vector>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/via_float.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

float float_at(const hr_tensor* t, int64_t i) {
  if (t->dtype == HR_HALF) return float(read<half>(t)[i]);
  return read<float>(t)[i];
}

// ---- the best of overlapping boxes --------------------------------------------------------------

struct Suppression {
  int64_t most;
  float overlap, least_score, sigma;
};

struct Selected {
  std::vector<int32_t> boxes;
  std::vector<float> scores;
};

// Greedy by score; a box overlapped too much by a chosen one falls out; with a sigma each overlap,
// be it ever so large, only costs it score (Bodla et al. 2017; TensorFlow 2 does the same).
template <class Overlap>
Selected select(const hr_ctx* ctx, const Suppression& s, int64_t n, const hr_tensor* scores,
                Overlap&& overlap) {
  struct Candidate {
    int32_t box;
    float score;
    size_t compared;  // with so many of the chosen
    bool operator<(const Candidate& o) const {
      return score < o.score || (score == o.score && box > o.box);
    }
  };
  std::priority_queue<Candidate> queue;
  for (int32_t i = 0; i < n; ++i) {
    if (float_at(scores, i) > s.least_score) queue.push({i, float_at(scores, i), 0});
  }
  const bool soft = s.sigma > 0;
  const float scale = soft ? -0.5f / s.sigma : 0.0f;
  Selected chosen;
  while (int64_t(chosen.boxes.size()) < s.most && !queue.empty()) {
    poll(ctx);
    Candidate next = queue.top();
    queue.pop();
    const float before = next.score;
    bool out = false;
    for (size_t j = chosen.boxes.size(); j-- > next.compared;) {
      const float o = overlap(next.box, chosen.boxes[j]);
      if (soft) {
        next.score *= std::exp(scale * o * o);
      } else if (o > s.overlap) {
        out = true;
        break;
      } else {  // NaN and infinite overlaps, which only a caller's matrix has
        next.score *= o <= s.overlap ? std::exp(scale * o * o) : 0.0f;
      }
      if (next.score <= s.least_score) break;
    }
    next.compared = chosen.boxes.size();
    if (out) continue;
    if (next.score == before) {
      chosen.boxes.push_back(next.box);
      chosen.scores.push_back(next.score);
    } else if (next.score > s.least_score) {
      queue.push(next);
    }
  }
  return chosen;
}

// Intersection over union; corners may come in any order.
float overlap_of(const hr_tensor* boxes, int64_t i, int64_t j) {
  float a[4], b[4];
  for (int k = 0; k < 4; ++k) a[k] = float_at(boxes, 4 * i + k), b[k] = float_at(boxes, 4 * j + k);
  if (a[0] > a[2]) std::swap(a[0], a[2]);
  if (a[1] > a[3]) std::swap(a[1], a[3]);
  if (b[0] > b[2]) std::swap(b[0], b[2]);
  if (b[1] > b[3]) std::swap(b[1], b[3]);
  const float area_a = (a[2] - a[0]) * (a[3] - a[1]), area_b = (b[2] - b[0]) * (b[3] - b[1]);
  if (area_a <= 0 || area_b <= 0) return 0;
  const float height = std::max(0.0f, std::min(a[2], b[2]) - std::max(a[0], b[0]));
  const float width = std::max(0.0f, std::min(a[3], b[3]) - std::max(a[1], b[1]));
  return height * width / (area_a + area_b - height * width);
}

struct Plan {
  int version;  // 0: with given overlaps
  bool pad;
  float overlap;
};

hr_code compute_selection(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                          hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const hr_tensor *boxes = inputs[0], *scores = inputs[1];
  const int64_t n = scores->dims[0], most = *read<int32_t>(inputs[2]);
  if (most < 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "max_output_size must not be negative: it is %lld",
                       (long long)most);
  Suppression s{most, p.overlap, -FLT_MAX, 0};
  if (p.version != 1) s.overlap = float_at(inputs[3], 0);
  if (p.version >= 3 || p.version == 0) s.least_score = float_at(inputs[4], 0);
  if (p.version == 5) s.sigma = float_at(inputs[5], 0);
  if (!(s.sigma >= 0))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "soft_nms_sigma_val must be >= 0: it is %g",
                       double(s.sigma));
  if (p.version && !(s.overlap >= 0 && s.overlap <= 1))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "iou_threshold must be in [0, 1]: it is %g",
                       double(s.overlap));
  const Selected chosen =
      p.version
          ? select(ctx, s, n, scores, [&](int64_t i, int64_t j) { return overlap_of(boxes, i, j); })
          : select(ctx, s, n, scores,
                   [&](int64_t i, int64_t j) { return read<float>(boxes)[i * n + j]; });
  const int64_t count = int64_t(chosen.boxes.size()), length = p.pad ? most : count;
  set_shape(outputs[0], {length});
  hr_code code = ctx->api->allocate(ctx, outputs[0]);
  if (code != HR_OK) return code;
  int32_t* to = write<int32_t>(outputs[0]);
  std::fill_n(to, length, 0);
  std::copy(chosen.boxes.begin(), chosen.boxes.end(), to);
  if (p.version == 5) {
    set_shape(outputs[1], {length});
    code = ctx->api->allocate(ctx, outputs[1]);
    if (code != HR_OK) return code;
    for (int64_t i = 0; i < length; ++i) {
      const float score = i < count ? chosen.scores[i] : 0.0f;
      if (outputs[1]->dtype == HR_HALF) write<half>(outputs[1])[i] = half(score);
      else write<float>(outputs[1])[i] = score;
    }
  }
  if (p.version >= 4) {
    hr_tensor* valid = outputs[p.version == 5 ? 2 : 1];
    set_shape(valid, {});
    code = ctx->api->allocate(ctx, valid);
    if (code != HR_OK) return code;
    *write<int32_t>(valid) = int32_t(count);
  }
  return HR_OK;
}

template <int version>
hr_code prepare_selection(void*, hr_request* r) {
  const hr_tensor *boxes = r->inputs[0], *scores = r->inputs[1];
  const int64_t width = version && boxes->rank == 2 ? 4 : boxes->rank == 2 ? boxes->dims[0] : -1;
  if (boxes->rank != 2 || scores->rank != 1 || boxes->dims[0] != scores->dims[0] ||
      boxes->dims[1] != width)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "boxes and scores do not fit: boxes is %s, scores is %s",
                           ShapeText(boxes).text, ShapeText(scores).text);
  for (int i = 2; i < r->node->n_inputs; ++i) {
    if (hr_elements(r->inputs[i]) != 1)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "input %d must be a scalar: it is %s", i,
                             ShapeText(r->inputs[i]).text);
  }
  keep_plan(r, new Plan{version, hr_attr_bool(r->node, "pad_to_max_output_size", 0) != 0,
                        hr_attr_float(r->node, "iou_threshold", 0.5f)});
  r->compute = compute_selection;
  r->shape_depends_on_data = 1;
  return HR_OK;
}

// ---- drawing ------------------------------------------------------------------------------------

constexpr float kColours[10][4] = {
    {1, 1, 0, 1},       {0, 0, 1, 1},    {1, 0, 0, 1},    {0, 1, 0, 1}, {0.5f, 0, 0.5f, 1},
    {0.5f, 0.5f, 0, 1}, {0.5f, 0, 0, 1}, {0, 0, 0.5f, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}};

hr_code compute_drawing(hr_ctx*, void*, void*, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void*) {
  const hr_tensor *images = inputs[0], *boxes = inputs[1];
  const int64_t height = images->dims[1], width = images->dims[2], depth = images->dims[3];
  float* y = write<float>(outputs[0]);
  if (outputs[0]->data != images->data) std::copy_n(read<float>(images), hr_elements(images), y);
  const bool with_colours = outputs[0] && inputs[2] && inputs[2]->dims[0] > 0;
  for (int64_t n = 0; n < images->dims[0]; ++n, y += height * width * depth) {
    for (int64_t b = 0; b < boxes->dims[1]; ++b) {
      const float* box = read<float>(boxes) + (n * boxes->dims[1] + b) * 4;
      const int64_t top = int64_t(box[0] * float(height - 1)),
                    left = int64_t(box[1] * float(width - 1));
      const int64_t bottom = int64_t(box[2] * float(height - 1)),
                    right = int64_t(box[3] * float(width - 1));
      if (top > bottom || left > right || top >= height || bottom < 0 || left >= width || right < 0)
        continue;
      float colour[4];
      for (int64_t k = 0; k < std::min<int64_t>(4, depth); ++k)
        colour[k] = with_colours
                        ? read<float>(inputs[2])[b % inputs[2]->dims[0] * inputs[2]->dims[1] + k]
                        : kColours[b % 10][k];
      if (depth == 1 && !with_colours) colour[0] = 1;
      auto paint = [&](int64_t i, int64_t j) {
        std::copy_n(colour, std::min<int64_t>(4, depth), y + (i * width + j) * depth);
      };
      for (int64_t j = std::max<int64_t>(0, left); j <= std::min(width - 1, right); ++j) {
        if (top >= 0) paint(top, j);
        if (bottom < height) paint(bottom, j);
      }
      for (int64_t i = std::max<int64_t>(0, top); i <= std::min(height - 1, bottom); ++i) {
        if (left >= 0) paint(i, left);
        if (right < width) paint(i, right);
      }
    }
  }
  return HR_OK;
}

hr_code compute_plain_drawing(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                              hr_tensor* const* outputs, void* workspace) {
  const hr_tensor* padded[3] = {inputs[0], inputs[1], nullptr};
  return compute_drawing(ctx, state, plan, padded, outputs, workspace);
}

hr_code prepare_drawing(void*, hr_request* r) {
  const hr_tensor *x = r->inputs[0], *boxes = r->inputs[1];
  if (x->rank != 4 || boxes->rank != 3 || boxes->dims[0] != x->dims[0] || boxes->dims[2] != 4 ||
      (x->dims[3] != 1 && x->dims[3] != 3 && x->dims[3] != 4) ||
      (r->node->n_inputs > 2 && r->inputs[2]->rank != 2))
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "images must be [batch, height, width, 1, 3 or 4] and boxes [batch, n, "
                           "4]: images is %s, boxes is %s",
                           ShapeText(x).text, ShapeText(boxes).text);
  if (r->node->n_inputs > 2 && r->inputs[2]->dims[1] < x->dims[3])
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "colors must have equal or more channels than the image provided: %s",
                           ShapeText(r->inputs[2]).text);
  r->compute = r->node->n_inputs > 2 ? compute_drawing : compute_plain_drawing;
  return hr_shape_unchanged(r);
}

}  // namespace

HR_KERNELS = {
    kernel("NonMaxSuppression", nullptr, prepare_selection<1>).is(HR_KERNEL_DATA_SHAPE),
    kernel("NonMaxSuppressionV2", nullptr, prepare_selection<2>).is(HR_KERNEL_DATA_SHAPE),
    kernel("NonMaxSuppressionV3", nullptr, prepare_selection<3>).is(HR_KERNEL_DATA_SHAPE),
    kernel("NonMaxSuppressionV4", nullptr, prepare_selection<4>).is(HR_KERNEL_DATA_SHAPE),
    kernel("NonMaxSuppressionV5", nullptr, prepare_selection<5>).is(HR_KERNEL_DATA_SHAPE),
    kernel("NonMaxSuppressionWithOverlaps", nullptr, prepare_selection<0>).is(HR_KERNEL_DATA_SHAPE),
    kernel("DrawBoundingBoxes", nullptr, widened<prepare_drawing>).reuses(0),
    kernel("DrawBoundingBoxesV2", nullptr, widened<prepare_drawing>).reuses(0),
};

}  // namespace hr
