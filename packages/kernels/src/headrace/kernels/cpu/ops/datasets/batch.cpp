// BatchDataset, and the batching of elements for others.
#include "ops/datasets/batch.hpp"

#include "ops/datasets/stages.hpp"

namespace hr::data {

Element stacked(hr_ctx* ctx, const std::vector<Element>& rows) {
  Element batch;
  const size_t n_components = rows[0].size();
  for (size_t c = 0; c < n_components; ++c) {
    const hr_tensor* first = rows[0][c].get();
    if (first->rank == HR_MAX_RANK) invalid("a batch would have more than 8 dimensions");
    int64_t dims[HR_MAX_RANK] = {int64_t(rows.size())};
    std::copy(first->dims, first->dims + first->rank, dims + 1);
    for (size_t i = 1; i < rows.size(); ++i)
      if (rows[i].size() != n_components || !same_shape(first, rows[i][c].get()) ||
          rows[i][c].dtype() != first->dtype)
        invalid("Cannot batch tensors with different shapes in component " + std::to_string(c) +
                ". First element had shape " + shape_text(first) + " and element " +
                std::to_string(i) + " had shape " + shape_text(rows[i][c].get()) + ".");
    Tensor made = new_tensor(ctx, first->dtype, first->rank + 1, dims);
    for (size_t i = 0; i < rows.size(); ++i) copy_to_row(ctx, rows[i][c], made.get(), int64_t(i));
    batch.push_back(std::move(made));
  }
  return batch;
}

int64_t batch_size_of(const Arguments& arguments, int32_t argument) {
  const int64_t size = arguments.integer(argument, "batch_size");
  if (size <= 0) invalid("Batch size must be greater than zero.");
  return size;
}

bool Rows::collect(Pipeline& pipeline, Stage& input, int64_t size, bool drop_remainder) {
  while (!ended_ && int64_t(rows.size()) < size) {
    pipeline.poll();
    Element row;
    try {
      if (input.next(&row)) rows.push_back(std::move(row));
      else ended_ = true;
    } catch (const Failure& failure) {
      // A cancelled step takes nothing: the next one gets the rows.
      if (failure.code != HR_CANCELLED) rows.clear();
      throw;
    }
  }
  if (rows.empty() || (drop_remainder && int64_t(rows.size()) < size)) {
    rows.clear();
    return false;
  }
  return true;
}

void Rows::save(StateWriter& to) const {
  to.number(ended_);
  to.number(int64_t(rows.size()));
  for (const Element& row : rows) to.element(row);
}

void Rows::restore(StateReader& from, const Spec& row) {
  ended_ = from.number(0, 1) != 0;
  rows.clear();
  for (int64_t n = from.number(0, 1 << 30); n > 0; --n) rows.push_back(from.element(row));
}

namespace {

class Batch : public Transformed<Batch> {
 public:
  Batch(Spec s, DatasetRef in, int64_t size, bool drop)
      : Transformed(std::move(s), std::move(in)), size(size), drop(drop) {}
  int64_t cardinality() const override { return batches_of(input->cardinality(), size, drop); }
  const int64_t size;
  const bool drop;

  struct Iterating : Over {
    Iterating(Pipeline& p, const Batch& b) : Over(p, b.input), batch(b) {}
    bool ready(int64_t n) override { return input_->ready(times(n, batch.size)); }
    bool next(Element* element) override {
      if (!rows_.collect(pipeline_, *input_, batch.size, batch.drop)) return false;
      const std::vector<Element> rows = std::exchange(rows_.rows, {});
      *element = stacked(ctx(), rows);
      return true;
    }
    void save(StateWriter& to) override {
      to.text("batch");
      rows_.save(to);
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.expect("batch");
      rows_.restore(from, batch.input->spec);
      input_->restore(from);
    }
    const Batch& batch;
    Rows rows_;
  };
};

DatasetRef make_batch(const Arguments& arguments) {
  return std::make_shared<Batch>(arguments.spec_over(0), arguments.dataset(0),
                                 batch_size_of(arguments, 1), false);
}

DatasetRef make_batch_v2(const Arguments& arguments) {
  return std::make_shared<Batch>(arguments.spec_over(0), arguments.dataset(0),
                                 batch_size_of(arguments, 1),
                                 arguments.boolean(2, "drop_remainder"));
}

}  // namespace

HR_KERNELS = {
    dataset_kernel<make_batch>("BatchDataset"),
    dataset_kernel<make_batch_v2>("BatchDatasetV2"),
};

}  // namespace hr::data
