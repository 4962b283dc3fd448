// PaddedBatchDataset.
#include <algorithm>

#include "library/dtype_names.hpp"
#include "loops/elements.hpp"
#include "ops/datasets/batch.hpp"
#include "ops/datasets/stages.hpp"

namespace hr::data {
namespace {

class PaddedBatch : public Transformed<PaddedBatch> {
 public:
  PaddedBatch(Spec s, DatasetRef in, int64_t size, bool drop, std::vector<Shape> shapes,
              Element values)
      : Transformed(std::move(s), std::move(in)), size(size), drop(drop), shapes(std::move(shapes)),
        values(std::move(values)) {}
  int64_t cardinality() const override { return batches_of(input->cardinality(), size, drop); }
  const int64_t size;
  const bool drop;
  const std::vector<Shape> shapes;  // of a row, by component
  const Element values;

  class Iterating;
};

class PaddedBatch::Iterating : public Over {
 public:
  Iterating(Pipeline& p, const PaddedBatch& b) : Over(p, b.input), batch_(b) {}
  bool ready(int64_t n) override { return input_->ready(times(n, batch_.size)); }
  bool next(Element* element) override {
    if (!rows_.collect(pipeline_, *input_, batch_.size, batch_.drop)) return false;
    const std::vector<Element> rows = std::exchange(rows_.rows, {});
    element->clear();
    for (size_t c = 0; c < batch_.shapes.size(); ++c) element->push_back(padded(rows, c));
    return true;
  }
  void save(StateWriter& to) override {
    to.text("padded batch");
    rows_.save(to);
    input_->save(to);
  }
  void restore(StateReader& from) override {
    from.expect("padded batch");
    rows_.restore(from, batch_.input->spec);
    input_->restore(from);
  }

 private:
  const PaddedBatch& batch_;
  Rows rows_;

  Tensor padded(const std::vector<Element>& rows, size_t c) {
    const Shape& shape = batch_.shapes[c];
    const int32_t rank = shape.rank;
    int64_t dims[HR_MAX_RANK] = {int64_t(rows.size())};
    bool same = true;
    for (int32_t k = 0; k < rank; ++k) dims[k + 1] = std::max<int64_t>(0, shape.dims[size_t(k)]);
    for (const Element& row : rows) {
      const hr_tensor* t = row.at(c).get();
      if (t->rank != rank)
        invalid(
            "All elements in a batch must have the same rank as the padded shape for "
            "component" +
            std::to_string(c) + ": expected rank " + std::to_string(rank) +
            " but got element with rank " + std::to_string(t->rank));
      for (int32_t k = 0; k < rank; ++k) {
        const int64_t most = shape.dims[size_t(k)];
        if (most >= 0 && t->dims[k] > most)
          throw Failure{HR_DATA_LOSS, "Attempted to pad to a smaller size than the input element."};
        if (most < 0) dims[k + 1] = std::max(dims[k + 1], t->dims[k]);
      }
    }
    Tensor made = new_tensor(ctx(), batch_.values[c].dtype(), rank + 1, dims);
    for (const Element& row : rows)
      same = same && std::equal(dims + 1, dims + 1 + rank, row[c].get()->dims);
    if (!same)
      fill_elements(ctx(), made.dtype(), made.get()->data, batch_.values[c].get()->data,
                    made.size());
    for (size_t i = 0; i < rows.size(); ++i) copy_corner(rows[i][c].get(), made.get(), int64_t(i));
    return made;
  }

  // Copies a tensor into the first corner of row i.
  void copy_corner(const hr_tensor* from, hr_tensor* to, int64_t i) {
    const int32_t rank = from->rank;
    const int64_t size = hr_dtype_size(to->dtype);
    const int64_t inner = rank ? from->dims[rank - 1] : 1;
    const int64_t n = hr_elements(from);
    if (n == 0) return;
    int64_t strides[HR_MAX_RANK], stride = 1;
    for (int32_t k = rank - 1; k >= 0; --k) strides[k] = stride, stride *= to->dims[k + 1];
    char* row = static_cast<char*>(to->data) + i * stride * size;
    int64_t at[HR_MAX_RANK] = {};
    for (int64_t done = 0; done < n; done += inner) {
      int64_t offset = 0;
      for (int32_t k = 0; k + 1 < rank; ++k) offset += at[k] * strides[k];
      copy_elements(ctx(), to->dtype, size, row + offset * size,
                    static_cast<const char*>(from->data) + done * size, inner);
      for (int32_t k = rank - 2; k >= 0 && ++at[k] == from->dims[k]; --k) at[k] = 0;
    }
  }
};

DatasetRef make(const Arguments& arguments, bool drop) {
  DatasetRef input = arguments.dataset(0);
  const int64_t size = batch_size_of(arguments, 1);
  std::vector<Shape> shapes;
  int32_t first = 0, count = 0;
  arguments.node->api->input_range(arguments.node, 2, &first, &count);
  const size_t n = input->spec.types.size();
  if (size_t(count) != n)
    invalid("Number of padded shapes (" + std::to_string(count) +
            ") must match the number of components in the input dataset's elements (" +
            std::to_string(n) + ")");
  for (int32_t i = first; i < first + count; ++i) {
    const hr_tensor* t = arguments.input(i);
    if (t->rank != 1) invalid("All padded shapes must be vectors");
    if (t->dims[0] >= HR_MAX_RANK) invalid("a batch would have more than 8 dimensions");
    Shape shape;
    shape.rank = int32_t(t->dims[0]);
    for (int64_t k = 0; k < t->dims[0]; ++k) shape.dims.push_back(int_at(t, k));
    shapes.push_back(std::move(shape));
  }
  Element values = arguments.list(3);
  if (values.size() != n)
    invalid("Number of padding values (" + std::to_string(values.size()) +
            ") must match the number of components in the input dataset's elements (" +
            std::to_string(n) + ")");
  for (size_t i = 0; i < n; ++i) {
    if (values[i].get()->rank != 0) invalid("All padding values must be scalars");
    if (values[i].dtype() != input->spec.types[i])
      invalid("Mismatched type between padding value " + std::to_string(i) +
              " and input dataset's component " + std::to_string(i) + ": " +
              dtype_name(values[i].dtype()) + " vs. " + dtype_name(input->spec.types[i]));
  }
  Spec spec = arguments.spec("Toutput_types");
  return std::make_shared<PaddedBatch>(std::move(spec), std::move(input), size, drop,
                                       std::move(shapes), std::move(values));
}

DatasetRef make_first(const Arguments& arguments) { return make(arguments, false); }
DatasetRef make_second(const Arguments& arguments) {
  return make(arguments, arguments.boolean(4, "drop_remainder"));
}

}  // namespace

HR_KERNELS = {
    dataset_kernel<make_first>("PaddedBatchDataset"),
    dataset_kernel<make_second>("PaddedBatchDatasetV2"),
};

}  // namespace hr::data
