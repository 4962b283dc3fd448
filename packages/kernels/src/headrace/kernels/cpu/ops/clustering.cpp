// Clustering: the nearest centers of points (NearestNeighbors), and points that become centers, by
// k-means++ (Arthur and Vassilvitskii 2007) and k-MC2 (Bachem et al. 2016). Seeds give the points
// that TensorFlow chooses.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "library/memory_needs.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "math/philox.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> floats(int64_t n, float value) {
  need_memory(n, sizeof(float));
  return std::vector<float>(size_t(n), value);
}

float half_squared_norm(const float* x, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return 0.5f * sum;
}

// Centers column by column, so that the products of a point with all of them vectorise.
struct Centers {
  int64_t n, width;
  std::vector<float> columns, half_norms;

  Centers(const float* rows, int64_t n, int64_t width)
      : n(n), width(width), columns(floats(n * width, 0)), half_norms(floats(n, 0)) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < width; ++j) columns[j * n + i] = rows[i * width + j];
      half_norms[i] = half_squared_norm(rows + i * width, width);
    }
  }

  // out[n]: half of the squared distances, less the same term for all centers.
  void compare(const float* point, float* out) const {
    std::copy(half_norms.begin(), half_norms.end(), out);
    for (int64_t j = 0; j < width; ++j) {
      const float x = point[j];
      const float* column = columns.data() + j * n;
      for (int64_t i = 0; i < n; ++i) out[i] -= x * column[i];
    }
  }
};

hr_code compute_nearest(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  const int64_t rows = in[0]->dims[0], width = in[0]->dims[1], k = out[0]->dims[1];
  if (rows == 0) return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Expected points.rows() > 0.");
  if (k == 0) return HR_OK;
  const Centers centers(read<float>(in[1]), in[1]->dims[0], width);
  const float* points = read<float>(in[0]);
  int64_t* indices = write<int64_t>(out[0]);
  float* distances = write<float>(out[1]);
  parallel_ranges(ctx, rows, grain_of(centers.n * width), [&](int64_t begin, int64_t end) {
    std::vector<float> compared = floats(centers.n, 0);
    std::vector<int64_t> order;
    for (int64_t row = begin; row < end; ++row) {
      poll_at(ctx, row);
      const float* point = points + row * width;
      centers.compare(point, compared.data());
      const float norm = half_squared_norm(point, width);
      order.resize(size_t(centers.n));
      for (int64_t i = 0; i < centers.n; ++i) order[i] = i;
      // NaN comes last, so that this is an order whatever the points hold.
      std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
        const float x = compared[a], y = compared[b];
        const bool odd_x = std::isnan(x), odd_y = std::isnan(y);
        if (odd_x != odd_y) return odd_y;
        if (!odd_x && x != y) return x < y;
        return a < b;
      });
      for (int64_t i = 0; i < k; ++i) {
        indices[row * k + i] = order[i];
        distances[row * k + i] = 2.0f * (norm + compared[order[i]]);
      }
    }
  });
  return HR_OK;
}

// Chooses rows of a matrix, each with a probability proportional to its squared distance from the
// rows chosen before it.
class Chooser {
 public:
  Chooser(hr_ctx* ctx, const float* points, int64_t rows, int64_t width, uint64_t seed)
      : ctx_(ctx), points_(points), rows_(rows), width_(width), random_(Philox(seed, 0)),
        half_norms_(floats(rows, 0)), nearest_(floats(rows, kInfinity)), sums_(floats(rows, 0)),
        chosen_(size_t(rows), false) {
    for (int64_t i = 0; i < rows; ++i) half_norms_[i] = half_squared_norm(row(i), width);
  }

  const float* row(int64_t i) const { return points_ + i * width_; }

  // The best of 1 + retries candidates: the one that leaves the least sum of distances.
  int64_t choose(int64_t retries) {
    float total = 0;
    for (int64_t i = 0; i < rows_; ++i) sums_[i] = total += nearest_[i];
    std::vector<float> best = nearest_, tried = nearest_;
    float least = kInfinity;
    int64_t index = 0;
    bool found = false;
    for (int64_t left = 1 + retries; left > 0; --left) {
      poll(ctx_);
      const int64_t candidate = draw();
      const float sum = with(candidate, tried.data());
      // The first one counts even if its sum is not finite.
      if (found && !(sum < least)) continue;
      found = true;
      least = sum;
      index = candidate;
      best.swap(tried);
    }
    nearest_.swap(best);
    chosen_[index] = true;
    ++n_chosen_;
    return index;
  }

 private:
  int64_t any() {
    const uint64_t low = random_(), high = random_();
    return int64_t((low | high << 32) % uint64_t(rows_));
  }

  int64_t draw() {
    if (n_chosen_ == 0) return any();
    const float total = sums_.back();
    for (int64_t tries = 0;; ++tries) {
      int64_t index;
      if (!(total > 0) || std::isinf(total) || tries >= kMostDraws) {
        index = any();
        // Rows that are equal to chosen ones have no weight: take the next one that is free.
        if (tries >= kMostDraws)
          while (chosen_[index]) index = (index + 1) % rows_;
      } else {
        index = std::upper_bound(sums_.begin(), sums_.end(), unit_float(random_()) * total) -
                sums_.begin();
        index = std::min(index, rows_ - 1);
      }
      if (!chosen_[index]) return index;
    }
  }

  // out: the distances to the nearest row, with one more row chosen. Returns: their sum.
  float with(int64_t index, float* out) const {
    const float* other = row(index);
    float sum = 0;
    for (int64_t i = 0; i < rows_; ++i) {
      float product = 0;
      for (int64_t j = 0; j < width_; ++j) product += row(i)[j] * other[j];
      const float distance = half_norms_[i] - product + half_norms_[index];
      sum += out[i] = std::min(nearest_[i], distance);
    }
    return sum;
  }

  static constexpr int64_t kMostDraws = 1 << 16;

  hr_ctx* ctx_;
  const float* points_;
  int64_t rows_, width_;
  SinglePhilox random_;
  std::vector<float> half_norms_, nearest_, sums_;
  std::vector<bool> chosen_;
  int64_t n_chosen_ = 0;
};

hr_code compute_plus_plus(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                          hr_tensor* const* out, void*) {
  const int64_t rows = in[0]->dims[0], width = in[0]->dims[1];
  const int64_t n = *read<int64_t>(in[1]), seed = *read<int64_t>(in[2]);
  int64_t retries = *read<int64_t>(in[3]);
  if (rows == 0) return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Expected points.rows() > 0.");
  if (n == 0) return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Expected num_to_sample > 0.");
  if (n > rows)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Expected num_to_sample <= points.rows(). %lld vs %lld.", (long long)n,
                       (long long)rows);
  if (retries < 0) retries = 2 + int64_t(std::log(double(n)));
  if (retries == INT64_MAX) --retries;
  Chooser chooser(ctx, read<float>(in[0]), rows, width, uint64_t(seed));
  float* samples = write<float>(out[0]);
  for (int64_t i = 0; i < n; ++i)
    std::copy_n(chooser.row(chooser.choose(retries)), width, samples + i * width);
  return HR_OK;
}

hr_code compute_chain(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                      void*) {
  const int64_t n = in[0]->dims[0];
  if (n == 0) return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Expected distances_tensor.size() > 0.");
  const float* distances = read<float>(in[0]);
  SinglePhilox random(Philox(uint64_t(*read<int64_t>(in[1])), 0));
  int64_t at = 0;
  for (int64_t i = 1; i < n; ++i) {
    poll_at(ctx, i);
    if (distances[i] > unit_float(random()) * distances[at]) at = i;
  }
  *write<int64_t>(out[0]) = at;
  return HR_OK;
}

hr_code prepare_nearest(void*, hr_request* r) {
  HR_APPLY_RULE(nearest_neighbors, r);
  return HR_OK;
}

hr_code prepare_plus_plus(void*, hr_request* r) {
  HR_APPLY_RULE(sampled_points, r);
  return HR_OK;
}

hr_code prepare_chain(void*, hr_request* r) {
  HR_APPLY_RULE(chosen_point, r);
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("NearestNeighbors", nullptr, prepare_nearest, compute_nearest).constant(2),
    kernel("KmeansPlusPlusInitialization", nullptr, prepare_plus_plus, compute_plus_plus)
        .constant(1),
    kernel("KMC2ChainInitialization", nullptr, prepare_chain, compute_chain),
};

}  // namespace hr
