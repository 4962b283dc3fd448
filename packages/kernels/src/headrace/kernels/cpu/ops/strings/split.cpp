// StringSplit and StringSplitV2: the words of strings, as a sparse tensor.
#include <algorithm>
#include <string_view>
#include <vector>

#include "library/shapes.hpp"
#include "library/text.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

using Words = std::vector<std::string_view>;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Each byte of `letters` ends a word; without any, each byte is one.
void split_at_letters(std::string_view text, std::string_view letters, bool skip_empty,
                      Words* words) {
  if (text.empty()) return;
  if (letters.empty()) {
    for (size_t i = 0; i < text.size(); ++i) words->push_back(text.substr(i, 1));
    return;
  }
  for (size_t begin = 0;;) {
    const size_t end = std::min(text.find_first_of(letters, begin), text.size());
    if (end > begin || !skip_empty) words->push_back(text.substr(begin, end - begin));
    if (end == text.size()) return;
    begin = end + 1;
  }
}

// As Python's str.split: at most `most` times, negative: everywhere.
void split_at_spaces(std::string_view text, int64_t most, Words* words) {
  size_t at = 0;
  const auto skip = [&](bool spaces) {
    while (at < text.size() && is_space(text[at]) == spaces) ++at;
  };
  for (int64_t count = 0;; ++count) {
    skip(true);
    if (at == text.size()) return;
    if (count == most) {
      words->push_back(text.substr(at));
      return;
    }
    const size_t begin = at;
    skip(false);
    words->push_back(text.substr(begin, at - begin));
  }
}

void split_at_separator(std::string_view text, std::string_view separator, int64_t most,
                        Words* words) {
  for (int64_t count = 0;; ++count) {
    const size_t end = count == most ? std::string_view::npos : text.find(separator);
    words->push_back(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + separator.size());
  }
}

template <class Split>
hr_code give_words(hr_ctx* ctx, const hr_tensor* in, hr_tensor* const* out, Split&& split) {
  const int64_t rows = hr_elements(in);
  Words words;
  std::vector<int64_t> counts(static_cast<size_t>(rows), 0);
  int64_t longest = 0;
  for (int64_t i = 0; i < rows; ++i) {
    poll_at(ctx, i);
    const size_t before = words.size();
    split(text_at(in, i), &words);
    counts[size_t(i)] = int64_t(words.size() - before);
    longest = std::max(longest, counts[size_t(i)]);
  }
  const auto n = int64_t(words.size());
  set_shape(out[0], {n, 2});
  set_shape(out[1], {n});
  set_shape(out[2], {2});
  for (int k = 0; k < 3; ++k)
    if (hr_code code = ctx->api->allocate(ctx, out[k])) return code;
  int64_t* indices = write<int64_t>(out[0]);
  int64_t at = 0;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < counts[size_t(i)]; ++k, ++at) {
      poll_at(ctx, at);
      *indices++ = i;
      *indices++ = k;
      if (hr_code code = set_text(ctx, out[1], at, words[size_t(at)])) return code;
    }
  write<int64_t>(out[2])[0] = rows;
  write<int64_t>(out[2])[1] = longest;
  return HR_OK;
}

hr_code compute_split(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                      hr_tensor* const* out, void*) {
  const bool skip = hr_attr_bool(static_cast<const hr_node*>(state), "skip_empty", 1) != 0;
  const std::string_view letters = text_at(in[1], 0);
  return give_words(ctx, in[0], out, [&](std::string_view text, Words* words) {
    split_at_letters(text, letters, skip, words);
  });
}

hr_code compute_split_v2(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                         hr_tensor* const* out, void*) {
  const int64_t most = hr_attr_int(static_cast<const hr_node*>(state), "maxsplit", -1);
  const std::string_view separator = text_at(in[1], 0);
  return give_words(ctx, in[0], out, [&](std::string_view text, Words* words) {
    if (separator.empty()) split_at_spaces(text, most, words);
    else split_at_separator(text, separator, most, words);
  });
}

hr_code create_with_node(hr_node* node, void** state) {
  *state = node;
  return HR_OK;
}

hr_code prepare(void*, hr_request* r) {
  if (r->inputs[0]->rank != 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "input must be a vector, got shape: %s",
                           (const char*)ShapeText(r->inputs[0]));
  if (r->inputs[1]->rank != 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "%s must be a scalar, got shape: %s",
                           std::string_view(r->node->op) == "StringSplit" ? "delimiter" : "sep",
                           (const char*)ShapeText(r->inputs[1]));
  r->shape_depends_on_data = 1;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("StringSplit", nullptr, prepare, compute_split)
        .with_state(create_with_node, [](void*) {}),
    kernel("StringSplitV2", nullptr, prepare, compute_split_v2)
        .with_state(create_with_node, [](void*) {}),
};

}  // namespace hr
