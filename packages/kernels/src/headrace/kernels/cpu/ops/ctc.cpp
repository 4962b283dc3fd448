// Connectionist temporal classification (Graves et al. 2006): the loss and the greedy decoder.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/elements.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_sum(double a, double b) {
  if (a == kNever) return b;
  if (b == kNever) return a;
  return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
}

struct CtcPlan {
  bool collapse, merge, ignore_longer;
};

// One sequence: log y [time, classes], labels; gradient by the logits where wanted.
class Sequence {
 public:
  Sequence(std::vector<double> log_y, int64_t time, int64_t classes, std::vector<int64_t> labels,
           bool merge)
      : log_y_(std::move(log_y)), time_(time), classes_(classes), merge_(merge) {
    const int64_t blank = classes - 1;
    for (const int64_t label : labels) {
      path_.push_back(blank);
      path_.push_back(label);
    }
    path_.push_back(blank);
  }

  double loss(double* gradient) const {
    const size_t n = path_.size();
    std::vector<double> alpha(n * size_t(time_), kNever), beta(n * size_t(time_), kNever);
    const auto a = [&](size_t u, int64_t t) -> double& { return alpha[size_t(t) * n + u]; };
    const auto b = [&](size_t u, int64_t t) -> double& { return beta[size_t(t) * n + u]; };
    a(0, 0) = y(path_[0], 0);
    if (n > 1) a(1, 0) = y(path_[1], 0);
    for (int64_t t = 1; t < time_; ++t)
      for (size_t u = 0; u < n; ++u) {
        double sum = kNever;
        if (stays(u)) sum = a(u, t - 1);
        if (u > 0) sum = log_sum(sum, a(u - 1, t - 1));
        if (u > 1 && skips(u - 2, u)) sum = log_sum(sum, a(u - 2, t - 1));
        a(u, t) = sum + y(path_[u], t);
      }
    b(n - 1, time_ - 1) = 0;
    if (n > 1) b(n - 2, time_ - 1) = 0;
    for (int64_t t = time_ - 2; t >= 0; --t)
      for (size_t u = 0; u < n; ++u) {
        double sum = kNever;
        if (stays(u)) sum = b(u, t + 1) + y(path_[u], t + 1);
        if (u + 1 < n) sum = log_sum(sum, b(u + 1, t + 1) + y(path_[u + 1], t + 1));
        if (u + 2 < n && skips(u, u + 2))
          sum = log_sum(sum, b(u + 2, t + 1) + y(path_[u + 2], t + 1));
        b(u, t) = sum;
      }
    double total = kNever;
    for (size_t u = 0; u < n; ++u) total = log_sum(total, a(u, 0) + b(u, 0));
    if (total == kNever) return -total;  // no path at all; the gradient stays 0
    std::vector<double> by_class(static_cast<size_t>(classes_));
    for (int64_t t = 0; t < time_; ++t) {
      std::fill(by_class.begin(), by_class.end(), kNever);
      for (size_t u = 0; u < n; ++u) {
        double& sum = by_class[size_t(path_[u])];
        sum = log_sum(sum, a(u, t) + b(u, t));
      }
      for (int64_t c = 0; c < classes_; ++c)
        gradient[t * classes_ + c] = std::exp(y(c, t)) - std::exp(by_class[size_t(c)] - total);
    }
    return -total;
  }

 private:
  double y(int64_t label, int64_t t) const { return log_y_[size_t(t * classes_ + label)]; }
  bool is_blank(size_t u) const { return u % 2 == 0; }
  bool stays(size_t u) const { return merge_ || is_blank(u); }
  // Whether the blank between two labels may be left out.
  bool skips(size_t from, size_t to) const {
    return !is_blank(to) && !(merge_ && path_[from] == path_[to]);
  }

  std::vector<double> log_y_;
  int64_t time_, classes_;
  bool merge_;
  std::vector<int64_t> path_;
};

template <class T>
hr_code compute_ctc(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                    hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const CtcPlan*>(plan_);
  const int64_t steps = in[0]->dims[0], batch = in[0]->dims[1], classes = in[0]->dims[2];
  const int32_t* lengths = read<int32_t>(in[3]);
  std::vector<std::vector<int64_t>> labels(static_cast<size_t>(batch));
  for (int64_t i = 0, n = in[1]->dims[0]; i < n; ++i) {
    const int64_t b = read<int64_t>(in[1])[2 * i], label = read<int32_t>(in[2])[i];
    if (b < 0 || b >= batch)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "labels_indices[%lld,0] = %lld is not in [0, %lld)", (long long)i,
                         (long long)b, (long long)batch);
    if (label < 0 || label >= classes - 1)
      return hr_ctx_fail(
          ctx, HR_INVALID_ARGUMENT,
          "labels_values[%lld] = %lld is not in [0, %lld), the last class being blank",
          (long long)i, (long long)label, (long long)(classes - 1));
    auto& sequence = labels[size_t(b)];
    if (!(p.collapse && !sequence.empty() && sequence.back() == label)) sequence.push_back(label);
  }
  std::memset(out[1]->data, 0, size_t(out[1]->bytes));
  for (int64_t b = 0; b < batch; ++b) {
    const auto& l = labels[size_t(b)];
    int64_t needed = int64_t(l.size());
    for (size_t i = 1; p.merge && i < l.size(); ++i) needed += l[i] == l[i - 1];
    if (lengths[b] < 0 || lengths[b] > steps)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "sequence_length[%lld] = %d is not in [0, %lld]",
                         (long long)b, int(lengths[b]), (long long)steps);
    if (needed > lengths[b] && !p.ignore_longer)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "Not enough time for target transition sequence (required: %lld, "
                         "available: %d) in batch %lld: set ignore_longer_outputs_than_inputs to "
                         "leave such sequences out",
                         (long long)needed, int(lengths[b]), (long long)b);
  }
  parallel_ranges(ctx, batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const auto& l = labels[size_t(b)];
      const int64_t time = lengths[b];
      int64_t needed = int64_t(l.size());
      for (size_t i = 1; p.merge && i < l.size(); ++i) needed += l[i] == l[i - 1];
      write<T>(out[0])[b] = T(0);
      if (time == 0 || needed > time) continue;
      std::vector<double> log_y(size_t(time * classes)), gradient(size_t(time * classes), 0);
      for (int64_t t = 0; t < time; ++t) {
        poll(ctx);
        const T* x = read<T>(in[0]) + (t * batch + b) * classes;
        const double high = *std::max_element(x, x + classes);
        double sum = 0;
        for (int64_t c = 0; c < classes; ++c) sum += std::exp(double(x[c]) - high);
        for (int64_t c = 0; c < classes; ++c)
          log_y[size_t(t * classes + c)] = double(x[c]) - high - std::log(sum);
      }
      const Sequence sequence(std::move(log_y), time, classes, l, p.merge);
      write<T>(out[0])[b] = T(sequence.loss(gradient.data()));
      for (int64_t t = 0; t < time; ++t)
        for (int64_t c = 0; c < classes; ++c)
          write<T>(out[1])[(t * batch + b) * classes + c] = T(gradient[size_t(t * classes + c)]);
    }
  });
  return HR_OK;
}

hr_code prepare_ctc(void*, hr_request* r) {
  HR_APPLY_RULE(ctc_loss, r);
  const hr_tensor *x = r->inputs[0], *indices = r->inputs[1];
  if (indices->rank != 2 || indices->dims[1] != 2 ||
      hr_elements(r->inputs[2]) != indices->dims[0] || hr_elements(r->inputs[3]) != x->dims[1] ||
      x->dims[2] < 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "inputs %s, labels_indices %s, labels_values %s and sequence_length %s "
                           "do not fit",
                           (const char*)ShapeText(x), (const char*)ShapeText(indices),
                           (const char*)ShapeText(r->inputs[2]),
                           (const char*)ShapeText(r->inputs[3]));
  keep_plan(r, new CtcPlan{hr_attr_bool(r->node, "preprocess_collapse_repeated", 0) != 0,
                           hr_attr_bool(r->node, "ctc_merge_repeated", 1) != 0,
                           hr_attr_bool(r->node, "ignore_longer_outputs_than_inputs", 0) != 0});
  r->compute = x->dtype == HR_FLOAT ? compute_ctc<float> : compute_ctc<double>;
  return HR_OK;
}

// ---- greedy decoding ----------------------------------------------------------------------------

struct GreedyPlan {
  bool merge;
  int64_t blank;
};

template <class T>
hr_code compute_greedy(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const GreedyPlan*>(plan_);
  const int64_t steps = in[0]->dims[0], batch = in[0]->dims[1], classes = in[0]->dims[2];
  std::vector<std::vector<int64_t>> decoded(static_cast<size_t>(batch));
  set_shape(out[3], {batch, 1});
  if (hr_code code = ctx->api->allocate(ctx, out[3])) return code;
  int64_t total = 0, longest = 0;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t length = read<int32_t>(in[1])[b];
    if (length < 0 || length > steps)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "sequence_length[%lld] = %lld is not in [0, %lld]", (long long)b,
                         (long long)length, (long long)steps);
    double sum = 0;
    int64_t before = -1;
    for (int64_t t = 0; t < length; ++t) {
      const T* x = read<T>(in[0]) + (t * batch + b) * classes;
      const int64_t best = std::max_element(x, x + classes) - x;
      sum -= double(x[best]);
      if (best != p.blank && !(p.merge && best == before)) decoded[size_t(b)].push_back(best);
      before = best;
    }
    write<T>(out[3])[b] = T(sum);
    total += int64_t(decoded[size_t(b)].size());
    longest = std::max(longest, int64_t(decoded[size_t(b)].size()));
  }
  set_shape(out[0], {total, 2});
  set_shape(out[1], {total});
  set_shape(out[2], {2});
  for (int k = 0; k < 3; ++k)
    if (hr_code code = ctx->api->allocate(ctx, out[k])) return code;
  int64_t at = 0;
  for (int64_t b = 0; b < batch; ++b)
    for (size_t i = 0; i < decoded[size_t(b)].size(); ++i, ++at) {
      write<int64_t>(out[0])[2 * at] = b;
      write<int64_t>(out[0])[2 * at + 1] = int64_t(i);
      write<int64_t>(out[1])[at] = decoded[size_t(b)][i];
    }
  write<int64_t>(out[2])[0] = batch;
  write<int64_t>(out[2])[1] = longest;
  return HR_OK;
}

hr_code prepare_greedy(void*, hr_request* r) {
  HR_APPLY_DATA_RULE(ctc_decoder, r);
  const hr_tensor* x = r->inputs[0];
  if (hr_elements(r->inputs[1]) != x->dims[1] || x->dims[2] < 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "inputs %s and sequence_length %s do not fit",
                           (const char*)ShapeText(x), (const char*)ShapeText(r->inputs[1]));
  const int64_t attribute = hr_attr_int(r->node, "blank_index", -1);
  const int64_t blank = axis_of(attribute, x->dims[2]);
  if (blank < 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "blank_index %lld is out of range for %lld classes",
                           (long long)attribute, (long long)x->dims[2]);
  keep_plan(r, new GreedyPlan{hr_attr_bool(r->node, "merge_repeated", 0) != 0, blank});
  r->shape_depends_on_data = 1;
  r->compute = x->dtype == HR_FLOAT ? compute_greedy<float> : compute_greedy<double>;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("CTCLoss", "T=" HR_WIDE_FLOATS, prepare_ctc),
    kernel("CTCGreedyDecoder", "T=" HR_WIDE_FLOATS, prepare_greedy).is(HR_KERNEL_DATA_SHAPE),
};

}  // namespace hr
