#include "ops/datasets/state.hpp"

#include <cstring>
#include <utility>

#include "library/text.hpp"
#include "loops/elements.hpp"
#include "ops/datasets/dataset.hpp"

namespace hr::data {
namespace {
[[noreturn]] void damaged() {
  throw Failure{HR_DATA_LOSS, "the saved state of the iterator is malformed"};
}
}  // namespace

void StateWriter::number(int64_t value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes_.append(raw, sizeof value);
}

void StateWriter::text(std::string_view value) {
  number(int64_t(value.size()));
  bytes_.append(value);
}

void StateWriter::tensor(const Tensor& value) {
  const hr_tensor* t = value.get();
  if (!is_plain(t->dtype) && t->dtype != HR_STRING)
    throw Failure{HR_UNIMPLEMENTED,
                  "the iterator holds elements of variants or resources, which cannot be saved"};
  number(t->dtype);
  number(t->rank);
  for (int32_t i = 0; i < t->rank; ++i) number(t->dims[i]);
  if (t->dtype == HR_STRING) {
    for (int64_t i = 0; i < value.size(); ++i) text(text_at(t, i));
  } else {
    text({static_cast<const char*>(t->data), size_t(value.size() * hr_dtype_size(t->dtype))});
  }
}

void StateWriter::element(const Element& value) {
  number(int64_t(value.size()));
  for (const Tensor& t : value) tensor(t);
}

void StateWriter::element_unless(bool none, const Element& value) {
  if (none) number(0);
  else element(value);
}

int64_t StateReader::number() {
  int64_t value;
  if (left_.size() < sizeof value) damaged();
  std::memcpy(&value, left_.data(), sizeof value);
  left_.remove_prefix(sizeof value);
  return value;
}

int64_t StateReader::number(int64_t low, int64_t high) {
  const int64_t value = number();
  if (value < low || value > high) damaged();
  return value;
}

std::string_view StateReader::text() {
  const int64_t size = number(0, int64_t(left_.size()));
  if (size > int64_t(left_.size())) damaged();
  const std::string_view found = left_.substr(0, size_t(size));
  left_.remove_prefix(size_t(size));
  return found;
}

Tensor StateReader::tensor() {
  const auto dtype = hr_dtype(number(HR_FLOAT, HR_FLOAT8_E4M3FN));
  const int64_t size = hr_dtype_size(dtype);
  if (size == 0 || dtype == HR_RESOURCE || dtype == HR_VARIANT) damaged();
  int64_t dims[HR_MAX_RANK], n = 1;
  const auto rank = int32_t(number(0, HR_MAX_RANK));
  bool empty = false;
  for (int32_t i = 0; i < rank; ++i) {
    dims[i] = number(0, INT64_MAX);
    empty |= dims[i] == 0;
    if (!empty && __builtin_mul_overflow(n, dims[i], &n)) damaged();
  }
  if (empty) n = 0;
  // Each value takes at least a byte.
  if (n > int64_t(left_.size())) damaged();
  Tensor made = new_tensor(ctx_, dtype, rank, dims);
  if (dtype == HR_STRING) {
    for (int64_t i = 0; i < n; ++i) check(set_text(ctx_, made.get(), i, text()));
    return made;
  }
  const std::string_view raw = text();
  if (int64_t(raw.size()) != n * size) damaged();
  if (n) std::memcpy(made.get()->data, raw.data(), raw.size());
  return made;
}

Element StateReader::element(const Spec& spec) {
  const int64_t n = number(0, int64_t(left_.size()));
  Element value;
  for (int64_t i = 0; i < n; ++i) value.push_back(tensor());
  try {
    check_element(spec, value);
  } catch (const Failure& failure) {
    invalid("the saved state of the iterator has other elements than its dataset: " + failure.text);
  }
  return value;
}

Element StateReader::element_unless(bool none, const Spec& spec) {
  if (!none) return element(spec);
  if (number() != 0) damaged();
  return {};
}

void StateReader::expect(std::string_view tag) {
  const std::string found(text());
  if (found != tag)
    invalid("the state was saved by another pipeline: it has '" + found + "' where this has '" +
            std::string(tag) + "'");
}

namespace {
const hr_variant_type position_type = {
    sizeof(hr_variant_type), "tensorflow::IteratorStateVariant",
    [](const void* value) -> void* {
      return new std::string(*static_cast<const std::string*>(value));
    },
    [](void* value) { delete static_cast<std::string*>(value); }};
}  // namespace

const std::string* saved_position(const hr_tensor* variant) {
  const auto* held = static_cast<const hr_variant*>(variant->data);
  if (variant->dtype != HR_VARIANT || variant->rank != 0 || held->type != &position_type)
    return nullptr;
  return static_cast<const std::string*>(held->value);
}

void set_saved_position(const hr_tensor* variant, std::string position) {
  *static_cast<hr_variant*>(variant->data) = {&position_type, new std::string(std::move(position))};
}

}  // namespace hr::data
