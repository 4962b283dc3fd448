// Candidate samplers for losses over many classes: sampled classes and their expected counts.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "library/attributes.hpp"
#include "library/memory_needs.hpp"
#include "library/random/random_state.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "math/philox.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

enum class Kind { uniform, log_uniform, fixed_unigram, learned_unigram, all };

// A sampler lives in the node's state: the learned one counts what it has seen.
struct Sampler {
  RandomState random;
  Kind kind = Kind::uniform;
  int64_t range = 0, sampled = 0, num_true = 0;
  bool unique = false;
  std::mutex mutex;             // of the weights of the learned sampler
  std::vector<double> weights;  // unigram samplers; sums[i] = weights[0] + ... + weights[i]
  std::vector<double> sums;

  Sampler(uint64_t seed, uint64_t seed2) : random(seed, seed2) {}

  int64_t sample(SinglePhilox& single) const {
    switch (kind) {
      case Kind::uniform: {
        const uint64_t low = single(), high = single();
        return int64_t((low | high << 32) % uint64_t(range));
      }
      case Kind::log_uniform:
        return (int64_t(std::exp(single.uniform() * std::log1p(double(range)))) - 1) % range;
      default: {
        const double at = single.uniform() * sums.back();
        return std::min<int64_t>(range - 1,
                                 std::upper_bound(sums.begin(), sums.end(), at) - sums.begin());
      }
    }
  }

  double probability(int64_t value) const {
    if (value < 0 || value >= range) return 0;
    switch (kind) {
      case Kind::uniform: return 1.0 / double(range);
      case Kind::log_uniform:
        return std::log((double(value) + 2) / (double(value) + 1)) / std::log1p(double(range));
      default: return sums.back() > 0 ? weights[value] / sums.back() : 0;
    }
  }

  void add_up() {
    sums.resize(weights.size());
    double total = 0;
    for (size_t i = 0; i < weights.size(); ++i) sums[i] = total += weights[i];
  }
};

// How often a value was to be expected among the sampled, if it took `tries` to find them.
float expected(double p, int64_t sampled, int64_t tries) {
  if (tries == sampled) return float(p * double(sampled));
  return float(-std::expm1(double(tries) * std::log1p(-p)));
}

hr_code compute_all(Sampler& s, const hr_tensor* const* inputs, hr_tensor* const* outputs) {
  for (int64_t i = 0; i < s.sampled; ++i) {
    write<int64_t>(outputs[0])[i] = i;
    write<float>(outputs[2])[i] = 1;
  }
  std::fill_n(write<float>(outputs[1]), hr_elements(inputs[0]), 1.0f);
  return HR_OK;
}

hr_code compute_sample(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                       hr_tensor* const* outputs, void*) {
  Sampler& s = *static_cast<Sampler*>(state);
  const int64_t range = s.kind == Kind::all ? s.sampled : s.range;
  const int64_t* truth = read<int64_t>(inputs[0]);
  int64_t* out = write<int64_t>(outputs[0]);
  const int64_t n_true = hr_elements(inputs[0]);
  for (int64_t i = 0; i < n_true; ++i)
    if (truth[i] < 0 || truth[i] >= range)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "`true_candidate` out of range [0, %lld), received %lld", (long long)range,
                         (long long)truth[i]);
  if (s.kind == Kind::all) return compute_all(s, inputs, outputs);
  std::unique_lock<std::mutex> hold(s.mutex, std::defer_lock);
  if (s.kind == Kind::learned_unigram) hold.lock();
  SinglePhilox single(s.random.reserve(uint64_t(2048 * s.sampled + 3) / 4));
  int64_t tries = s.sampled;
  if (s.unique) {
    std::unordered_set<int64_t> seen;
    tries = 0;
    for (int64_t found = 0; found < s.sampled;) {
      if ((tries & 0xffff) == 0) poll(ctx);
      const int64_t value = s.sample(single);
      ++tries;
      if (seen.insert(value).second) out[found++] = value;
    }
  } else {
    for (int64_t i = 0; i < s.sampled; ++i) {
      if ((i & 0xffff) == 0) poll(ctx);
      out[i] = s.sample(single);
    }
  }
  for (int64_t i = 0; i < n_true; ++i)
    write<float>(outputs[1])[i] = expected(s.probability(truth[i]), s.sampled, tries);
  for (int64_t i = 0; i < s.sampled; ++i)
    write<float>(outputs[2])[i] = expected(s.probability(out[i]), s.sampled, tries);
  if (s.kind == Kind::learned_unigram) {
    for (int64_t i = 0; i < n_true; ++i) {
      if (truth[i] >= 0 && truth[i] < s.range) s.weights[truth[i]] += 1;
    }
    s.add_up();
  }
  return HR_OK;
}

// ---- making one ---------------------------------------------------------------------------------

// The last comma-separated field of each line of the file is a count.
hr_code read_vocabulary(hr_node* node, const std::string& path, int64_t shards, int64_t shard,
                        double distortion, std::vector<double>* weights) {
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (!file)
    return node->api->fail(node, HR_NOT_FOUND, "vocab_file %s cannot be opened", path.c_str());
  char line[65536];
  int64_t row = int64_t(weights->size());
  while (std::fgets(line, sizeof line, file)) {
    const char* comma = std::strrchr(line, ',');
    const double count = std::atof(comma ? comma + 1 : line);
    if (row++ % shards == shard) weights->push_back(std::pow(count, distortion));
  }
  std::fclose(file);
  return HR_OK;
}

hr_code read_unigrams(hr_node* node, Sampler* s) {
  const double distortion = double(hr_attr_float(node, "distortion", 1));
  const int64_t shards = hr_attr_int(node, "num_shards", 1), shard = hr_attr_int(node, "shard", 0);
  const int64_t reserved = hr_attr_int(node, "num_reserved_ids", 0);
  const int64_t own = reserved > shard ? (reserved - shard - 1) / shards + 1 : 0;
  if (own > s->range)
    return node->api->fail(node, HR_INVALID_ARGUMENT,
                           "num_reserved_ids is %lld, but range_max %lld", (long long)reserved,
                           (long long)s->range);
  need_memory(own, 2 * sizeof(double));
  s->weights.assign(size_t(own), 0.0);
  const auto file = attr_text(node, "vocab_file");
  const AttrList<float> unigrams = attr_floats(node, "unigrams");
  if (file.empty() == unigrams.empty())
    return node->api->fail(node, HR_INVALID_ARGUMENT, "give either vocab_file or unigrams");
  if (!file.empty()) {
    hr_code code = read_vocabulary(node, std::string(file), shards, shard, distortion, &s->weights);
    if (code != HR_OK) return code;
  }
  int64_t row = reserved;
  for (float count : unigrams) {
    if (row++ % shards == shard) s->weights.push_back(std::pow(double(count), distortion));
  }
  if (int64_t(s->weights.size()) != s->range)
    return node->api->fail(node, HR_INVALID_ARGUMENT,
                           "range_max is %lld, but there are %lld weights", (long long)s->range,
                           (long long)s->weights.size());
  s->add_up();
  return HR_OK;
}

template <Kind kind>
hr_code make_sampler(hr_node* node, void** state) {
  void* random = nullptr;
  hr_code code = make_random_state(node, &random);
  if (code != HR_OK) return code;
  auto s = std::make_unique<Sampler>(0, 0);
  s->random.take(*static_cast<RandomState*>(random));
  end_random_state(random);
  s->kind = kind;
  s->num_true = hr_attr_int(node, "num_true", 1);
  s->sampled = hr_attr_int(node, "num_sampled", 1);
  s->unique = hr_attr_bool(node, "unique", 0);
  s->range = kind == Kind::all ? s->sampled : hr_attr_int(node, "range_max", 1);
  if (kind == Kind::learned_unigram) {
    need_memory(s->range, 2 * sizeof(double));
    s->weights.assign(size_t(s->range), 1.0);
    s->add_up();
  }
  if (kind == Kind::fixed_unigram) code = read_unigrams(node, s.get());
  if (code == HR_OK && s->unique && s->sampled > s->range)
    code =
        node->api->fail(node, HR_INVALID_ARGUMENT, "cannot sample %lld of %lld without repetition",
                        (long long)s->sampled, (long long)s->range);
  if (code != HR_OK) return code;
  *state = s.release();
  return HR_OK;
}

void end_sampler(void* state) { delete static_cast<Sampler*>(state); }

hr_code prepare_sampler(void* state, hr_request* r) {
  const Sampler& s = *static_cast<Sampler*>(state);
  const hr_tensor* truth = r->inputs[0];
  if (truth->rank != 2 || truth->dims[1] != s.num_true)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "true_classes must be [batch, %lld]: true_classes is %s",
                           (long long)s.num_true, ShapeText(truth).text);
  return hr_shape_candidate_sampler(r);
}

// ---- accidental hits ----------------------------------------------------------------------------

hr_code compute_hits(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                     hr_tensor* const* outputs, void*) {
  const int64_t *truth = read<int64_t>(inputs[0]), *sampled = read<int64_t>(inputs[1]);
  const int64_t batch = inputs[0]->dims[0], num_true = inputs[0]->dims[1], n = inputs[1]->dims[0];
  std::unordered_map<int64_t, int64_t> where;  // of one that is sampled twice, the last
  for (int64_t i = 0; i < n; ++i) where[sampled[i]] = i;
  std::vector<int32_t> rows;
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < batch; ++i) {
    for (int64_t j = 0; j < num_true; ++j) {
      const auto found = where.find(truth[i * num_true + j]);
      if (found == where.end()) continue;
      rows.push_back(int32_t(i));
      ids.push_back(found->second);
    }
  }
  for (int i = 0; i < 3; ++i) {
    set_shape(outputs[i], {int64_t(ids.size())});
    hr_code code = ctx->api->allocate(ctx, outputs[i]);
    if (code != HR_OK) return code;
  }
  std::copy(rows.begin(), rows.end(), write<int32_t>(outputs[0]));
  std::copy(ids.begin(), ids.end(), write<int64_t>(outputs[1]));
  std::fill_n(write<float>(outputs[2]), ids.size(), -FLT_MAX);
  return HR_OK;
}

hr_code prepare_hits(void*, hr_request* r) {
  const int64_t num_true = hr_attr_int(r->node, "num_true", 1);
  if (r->inputs[0]->rank != 2 || r->inputs[0]->dims[1] != num_true || r->inputs[1]->rank != 1)
    return hr_request_fail(
        r, HR_INVALID_ARGUMENT,
        "true_classes must be [batch, %lld] and sampled_candidates a vector: %s and %s",
        (long long)num_true, ShapeText(r->inputs[0]).text, ShapeText(r->inputs[1]).text);
  r->shape_depends_on_data = 1;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("UniformCandidateSampler", nullptr, prepare_sampler, compute_sample)
        .with_state(make_sampler<Kind::uniform>, end_sampler),
    kernel("LogUniformCandidateSampler", nullptr, prepare_sampler, compute_sample)
        .with_state(make_sampler<Kind::log_uniform>, end_sampler),
    kernel("FixedUnigramCandidateSampler", nullptr, prepare_sampler, compute_sample)
        .with_state(make_sampler<Kind::fixed_unigram>, end_sampler),
    kernel("LearnedUnigramCandidateSampler", nullptr, prepare_sampler, compute_sample)
        .with_state(make_sampler<Kind::learned_unigram>, end_sampler),
    kernel("ThreadUnsafeUnigramCandidateSampler", nullptr, prepare_sampler, compute_sample)
        .with_state(make_sampler<Kind::learned_unigram>, end_sampler),
    kernel("AllCandidateSampler", nullptr, prepare_sampler, compute_sample)
        .with_state(make_sampler<Kind::all>, end_sampler),
    kernel("ComputeAccidentalHits", nullptr, prepare_hits, compute_hits).is(HR_KERNEL_DATA_SHAPE),
};

}  // namespace hr
