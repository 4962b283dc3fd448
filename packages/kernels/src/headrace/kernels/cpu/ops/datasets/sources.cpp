// Datasets of tensors: TensorDataset, TensorSliceDataset, SparseTensorSliceDataset, RangeDataset.
#include <algorithm>
#include <utility>

#include "loops/elements.hpp"
#include "ops/datasets/dataset.hpp"

namespace hr::data {
namespace {

// A stage whose position is a number.
class Counted : public Stage {
 public:
  using Stage::Stage;
  bool ready(int64_t) override { return true; }
  void save(StateWriter& to) override {
    to.text("source");
    to.number(at_);
  }
  void restore(StateReader& from) override {
    from.expect("source");
    at_ = from.position();
  }

 protected:
  int64_t at_ = 0;
};

// ---- whole tensors ------------------------------------------------------------------------------

class Whole : public Dataset {
 public:
  Whole(Spec s, Element components) : Dataset(std::move(s)), components_(std::move(components)) {}
  std::unique_ptr<Stage> iterate(Pipeline& pipeline) const override {
    return std::make_unique<Iterating>(pipeline, components_);
  }

  int64_t cardinality() const override { return 1; }

 private:
  const Element components_;

  struct Iterating : Counted {
    Iterating(Pipeline& p, const Element& c) : Counted(p), components(c) {}
    bool next(Element* element) override {
      if (at_ > 0) return false;
      ++at_;
      *element = components;
      return true;
    }
    const Element& components;
  };
};

DatasetRef make_whole(const Arguments& arguments) {
  return std::make_shared<Whole>(arguments.spec("Toutput_types"), arguments.list(0));
}

// ---- slices -------------------------------------------------------------------------------------

class Slices : public Dataset {
 public:
  Slices(Spec s, Element components) : Dataset(std::move(s)), components_(std::move(components)) {}
  std::unique_ptr<Stage> iterate(Pipeline& pipeline) const override {
    return std::make_unique<Iterating>(pipeline, components_);
  }

  int64_t cardinality() const override { return components_[0].get()->dims[0]; }

 private:
  const Element components_;

  struct Iterating : Counted {
    Iterating(Pipeline& p, const Element& c) : Counted(p), components(c) {}
    bool next(Element* element) override {
      if (at_ < 0 || at_ >= components[0].get()->dims[0]) return false;
      element->clear();
      for (const Tensor& t : components) element->push_back(row_of(t, at_));
      ++at_;
      return true;
    }
    const Element& components;
  };
};

DatasetRef make_slices(const Arguments& arguments) {
  Element components = arguments.list(0);
  if (components.empty()) invalid("TensorSliceDataset has no components");
  for (const Tensor& t : components) {
    if (t.get()->rank < 1) invalid("All components must be at least 1-dimensional");
    if (t.get()->dims[0] != components[0].get()->dims[0])
      invalid("All components must have the same size in the 0th dimension: " +
              shape_text(components[0].get()) + " and " + shape_text(t.get()));
  }
  return std::make_shared<Slices>(arguments.spec("Toutput_types"), std::move(components));
}

// ---- slices of a sparse tensor ------------------------------------------------------------------

class SparseSlices : public Dataset {
 public:
  SparseSlices(Spec s, Element parts) : Dataset(std::move(s)), parts_(std::move(parts)) {}
  std::unique_ptr<Stage> iterate(Pipeline& pipeline) const override {
    return std::make_unique<Iterating>(pipeline, parts_);
  }

  int64_t cardinality() const override { return read<int64_t>(parts_[2].get())[0]; }

 private:
  const Element parts_;  // indices, values, dense_shape

  struct Iterating : Counted {
    Iterating(Pipeline& p, const Element& parts) : Counted(p), parts(parts) {}

    bool next(Element* element) override {
      const hr_tensor *indices = parts[0].get(), *values = parts[1].get();
      const int64_t n = indices->dims[0], rank = indices->dims[1];
      const int64_t* rows = read<int64_t>(indices);
      if (at_ < 0 || at_ >= read<int64_t>(parts[2].get())[0]) return false;
      // The rows are in order.
      const auto row_at = [&](int64_t i) { return rows[i * rank]; };
      int64_t begin = 0, end = n;
      for (int64_t low = 0, high = n; low < high;) {
        const int64_t middle = (low + high) / 2;
        if (row_at(middle) < at_) low = begin = middle + 1;
        else high = begin = middle;
      }
      for (end = begin; end < n && row_at(end) == at_;) ++end;
      Tensor found = new_tensor(ctx(), HR_INT64, {end - begin, rank - 1});
      for (int64_t i = begin; i < end; ++i)
        std::copy_n(rows + i * rank + 1, rank - 1,
                    write<int64_t>(found.get()) + (i - begin) * (rank - 1));
      Tensor of = new_tensor(ctx(), values->dtype, {end - begin});
      const int64_t size = hr_dtype_size(values->dtype);
      copy_elements(ctx(), values->dtype, size, of.get()->data,
                    static_cast<const char*>(values->data) + begin * size, end - begin);
      Tensor shape = new_tensor(ctx(), HR_INT64, {rank - 1});
      std::copy_n(read<int64_t>(parts[2].get()) + 1, rank - 1, write<int64_t>(shape.get()));
      element->clear();
      element->push_back(std::move(found));
      element->push_back(std::move(of));
      element->push_back(std::move(shape));
      ++at_;
      return true;
    }
    const Element& parts;
  };
};

DatasetRef make_sparse_slices(const Arguments& arguments) {
  const hr_tensor *indices = arguments.tensor(0), *values = arguments.tensor(1),
                  *shape = arguments.tensor(2);
  if (indices->rank != 2)
    invalid("Input indices should be a matrix but received shape " + shape_text(indices));
  if (values->rank != 1)
    invalid("Input values should be a vector but received shape " + shape_text(values));
  if (shape->rank != 1)
    invalid("Input shape should be a vector but received shape " + shape_text(shape));
  const int64_t n = indices->dims[0], rank = indices->dims[1];
  if (values->dims[0] != n)
    invalid("Number of values must match first dimension of indices. Got " +
            std::to_string(values->dims[0]) + " values, indices shape: " + shape_text(indices));
  if (shape->dims[0] != rank || rank < 1)
    invalid("Number of dimensions must match second dimension of indices. Got " +
            std::to_string(shape->dims[0]) + " dimensions, indices shape: " + shape_text(indices));
  int64_t before = -1;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t* at = read<int64_t>(indices) + i * rank;
    for (int64_t k = 0; k < rank; ++k)
      if (at[k] < 0 || at[k] >= read<int64_t>(shape)[k])
        invalid("indices[" + std::to_string(i) + "] is out of bounds: need 0 <= index < " +
                shape_text(int32_t(std::min<int64_t>(rank, 8)), read<int64_t>(shape)));
    if (at[0] < before)
      throw Failure{HR_UNIMPLEMENTED,
                    "The SparseTensor must be ordered in the batch dimension; handling "
                    "arbitrarily ordered input is not currently supported."};
    before = at[0];
  }
  Spec spec;
  spec.types = {HR_INT64, values->dtype, HR_INT64};
  spec.shapes = {Shape{2, {-1, rank - 1}}, Shape{1, {-1}}, Shape{1, {rank - 1}}};
  Element parts;
  for (int i = 0; i < 3; ++i) parts.push_back(kept(arguments.ctx, arguments.tensor(i)));
  return std::make_shared<SparseSlices>(std::move(spec), std::move(parts));
}

// ---- numbers ------------------------------------------------------------------------------------

class Range : public Dataset {
 public:
  Range(Spec s, int64_t start, int64_t stop, int64_t step)
      : Dataset(std::move(s)), start_(start), step_(step) {
    // The distance of two int64 fits into uint64.
    if (step > 0 ? start < stop : start > stop) {
      const uint64_t distance =
          step > 0 ? uint64_t(stop) - uint64_t(start) : uint64_t(start) - uint64_t(stop);
      const uint64_t stride = step > 0 ? uint64_t(step) : 0 - uint64_t(step);
      n_ = (distance - 1) / stride + 1;
    }
  }
  std::unique_ptr<Stage> iterate(Pipeline& pipeline) const override {
    return std::make_unique<Iterating>(pipeline, *this);
  }

  int64_t cardinality() const override { return int64_t(std::min<uint64_t>(n_, INT64_MAX)); }

 private:
  const int64_t start_, step_;
  uint64_t n_ = 0;

  struct Iterating : Counted {
    Iterating(Pipeline& p, const Range& r) : Counted(p), range(r) {}
    bool next(Element* element) override {
      if (uint64_t(at_) >= range.n_) return false;
      const hr_dtype dtype = range.spec.types.empty() ? HR_INT64 : range.spec.types[0];
      const uint64_t value = uint64_t(range.start_) + uint64_t(at_) * uint64_t(range.step_);
      Tensor made = new_tensor(ctx(), dtype, {});
      if (dtype == HR_INT32) *write<int32_t>(made.get()) = int32_t(int64_t(value));
      else *write<int64_t>(made.get()) = int64_t(value);
      element->clear();
      element->push_back(std::move(made));
      ++at_;
      return true;
    }
    const Range& range;
  };
};

DatasetRef make_range(const Arguments& arguments) {
  Spec spec = arguments.spec();
  const int64_t step = arguments.integer(2, "step");
  if (step == 0) invalid("step must be a non-zero integer.");
  if (spec.types.size() != 1 || (spec.types[0] != HR_INT64 && spec.types[0] != HR_INT32))
    invalid("a range has one component of int64 or int32");
  return std::make_shared<Range>(std::move(spec), arguments.integer(0, "start"),
                                 arguments.integer(1, "stop"), step);
}

}  // namespace

HR_KERNELS = {
    dataset_kernel<make_whole>("TensorDataset"),
    dataset_kernel<make_slices>("TensorSliceDataset"),
    dataset_kernel<make_sparse_slices>("SparseTensorSliceDataset"),
    dataset_kernel<make_range>("RangeDataset"),
};

}  // namespace hr::data
