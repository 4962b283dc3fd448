// GroupByWindowDataset: elements are grouped by a key, and a function makes a dataset of each
// group.
#include <map>

#include "ops/datasets/nested.hpp"
#include "ops/datasets/window.hpp"

namespace hr::data {
namespace {

class GroupByWindow : public Transformed<GroupByWindow> {
 public:
  GroupByWindow(Spec s, DatasetRef in, Captured key, Nested reduce, Captured size)
      : Transformed(std::move(s), std::move(in)), key(std::move(key)), reduce(std::move(reduce)),
        size(std::move(size)) {}
  const Captured key;
  const Nested reduce;
  const Captured size;

  class Iterating;
};

class GroupByWindow::Iterating : public Over {
 public:
  Iterating(Pipeline& p, const GroupByWindow& g) : Over(p, g.input), of_(g) {}

  bool next(Element* element) override {
    for (;;) {
      pipeline_.poll();
      if (open_.stage) {
        if (open_.stage->next(element)) return true;
        open_.close();
        group_.clear();
      }
      if (ended_) {
        if (groups_.empty()) return false;
        const int64_t key = groups_.begin()->first;
        group_ = std::move(groups_.begin()->second);
        groups_.erase(groups_.begin());
        open(key);
        continue;
      }
      Element read;
      if (!input_->next(&read)) {
        ended_ = true;
        continue;
      }
      const int64_t key = number(of_.key, read, "`key_func` must return a scalar int64.");
      if (!sizes_.count(key)) {
        const int64_t size = number(of_.size, {int_tensor(ctx(), key)},
                                    "`window_size_func` must return a scalar int64.");
        if (size <= 0)
          invalid("Window size must be greater than zero, but got " + std::to_string(size) + ".");
        sizes_[key] = size;
      }
      std::vector<Element>& group = groups_[key];
      group.push_back(std::move(read));
      if (int64_t(group.size()) < sizes_[key]) continue;
      group_ = std::move(group);
      groups_.erase(key);
      open(key);
    }
  }

  void save(StateWriter& to) override {
    to.text("group by window");
    to.number(ended_);
    to.number(int64_t(sizes_.size()));
    for (const auto& [key, size] : sizes_) to.number(key), to.number(size);
    to.number(int64_t(groups_.size()));
    for (const auto& [key, group] : groups_) {
      to.number(key);
      save_group(to, group);
    }
    to.number(open_.stage != nullptr);
    if (open_.stage) {
      to.number(open_key_);
      save_group(to, group_);
      open_.stage->save(to);
    }
    input_->save(to);
  }

  void restore(StateReader& from) override {
    from.expect("group by window");
    ended_ = from.number() != 0;
    sizes_.clear();
    groups_.clear();
    open_.close();
    for (int64_t n = from.number(0, 1 << 30); n > 0; --n) {
      const int64_t key = from.number();
      sizes_[key] = from.number(1, INT64_MAX);
    }
    for (int64_t n = from.number(0, 1 << 30); n > 0; --n) {
      const int64_t key = from.number();
      groups_[key] = read_group(from);
    }
    if (from.number() != 0) {
      const int64_t key = from.number();
      group_ = read_group(from);
      open(key);
      open_.stage->restore(from);
    }
    input_->restore(from);
  }

 private:
  const GroupByWindow& of_;
  std::map<int64_t, int64_t> sizes_;
  std::map<int64_t, std::vector<Element>> groups_;
  std::vector<Element> group_;  // that is read now
  int64_t open_key_ = 0;
  OpenDataset open_;
  bool ended_ = false;

  int64_t number(const Captured& f, const Element& arguments, const char* wrong) {
    const Element results = f(pipeline_, arguments);
    return *read<int64_t>(scalar_result(results, HR_INT64, wrong));
  }
  void open(int64_t key) {
    open_key_ = key;
    open_.open(pipeline_, *this, of_.reduce,
               {int_tensor(ctx(), key), variant_of(ctx(), dataset_of(of_.input->spec, group_))}, 0);
  }
  static void save_group(StateWriter& to, const std::vector<Element>& group) {
    to.number(int64_t(group.size()));
    for (const Element& element : group) to.element(element);
  }
  std::vector<Element> read_group(StateReader& from) const {
    std::vector<Element> group;
    for (int64_t n = from.number(0, 1 << 30); n > 0; --n)
      group.push_back(from.element(of_.input->spec));
    return group;
  }
};

DatasetRef make(const Arguments& arguments) {
  DatasetRef input = arguments.dataset(0);
  Captured key = Captured::of(arguments, "key_func", 1, input->spec.types);
  Spec group;
  group.types = {HR_INT64, HR_VARIANT};
  Nested reduce = Nested::of(arguments, "reduce_func", 2, group);
  Captured size = Captured::of(arguments, "window_size_func", 3, {HR_INT64});
  check_results(key.function, {HR_INT64});
  check_results(size.function, {HR_INT64});
  return std::make_shared<GroupByWindow>(arguments.spec(), std::move(input), std::move(key),
                                         std::move(reduce), std::move(size));
}

}  // namespace

HR_KERNELS = {
    dataset_kernel<make>("GroupByWindowDataset"),
    dataset_kernel<make>("ExperimentalGroupByWindowDataset"),
};

}  // namespace hr::data
