// SqlDataset: the rows of a query.
#include <algorithm>

#include "ops/datasets/dataset.hpp"
#include "ops/datasets/sqlite.hpp"

namespace hr::data {
namespace {

class Sql : public Dataset {
 public:
  Sql(Spec s, std::string file, std::string query)
      : Dataset(std::move(s)), file(std::move(file)), query(std::move(query)) {}
  std::unique_ptr<Stage> iterate(Pipeline& pipeline) const override {
    return std::make_unique<Iterating>(pipeline, *this);
  }
  const std::string file, query;

 private:
  struct Iterating : Stage {
    Iterating(Pipeline& p, const Sql& s) : Stage(p), sql(s) {}
    bool next(Element* element) override {
      if (ended_) return false;
      if (!rows_) open();
      if (!rows_->next()) {
        rows_.reset();
        ended_ = true;
        return false;
      }
      ++at_;
      element->clear();
      for (size_t i = 0; i < sql.spec.types.size(); ++i)
        element->push_back(rows_->value(ctx(), int(i), sql.spec.types[i]));
      return true;
    }
    void save(StateWriter& to) override {
      to.text("sql");
      to.number(ended_);
      to.number(at_);
    }
    void restore(StateReader& from) override {
      from.expect("sql");
      ended_ = from.number(0, 1) != 0;
      at_ = 0;
      rows_.reset();
      const int64_t n = from.number(0, INT64_MAX);
      if (ended_ || n == 0) return;
      // A query has no position but the number of its rows that were read.
      for (open(); at_ < n; ++at_) {
        pipeline_.poll();
        if (!rows_->next())
          throw Failure{HR_OUT_OF_RANGE, "the query has fewer rows than the saved position"};
      }
    }

   private:
    const Sql& sql;
    std::unique_ptr<SqliteQuery> rows_;
    int64_t at_ = 0;
    bool ended_ = false;

    void open() {
      rows_ = std::make_unique<SqliteQuery>(sql.file, sql.query);
      const int columns = rows_->columns();
      const size_t expected = sql.spec.types.size();
      if (size_t(columns) == expected) return;
      rows_.reset();
      invalid("The number of columns in query (" + std::to_string(columns) +
              ") must match the number of elements in output_types (" + std::to_string(expected) +
              ").");
    }
  };
};

DatasetRef make(const Arguments& arguments) {
  const std::string driver = arguments.text(0, "driver_name");
  Spec spec = arguments.spec();
  for (const hr_dtype type : spec.types) switch (type) {
      case HR_STRING:
      case HR_INT8:
      case HR_INT16:
      case HR_INT32:
      case HR_INT64:
      case HR_UINT8:
      case HR_UINT16:
      case HR_BOOL:
      case HR_DOUBLE: break;
      default:
        invalid(
            "Each element of `output_types_` must be one of: DT_STRING, DT_INT8, DT_INT16, "
            "DT_INT32, DT_INT64, DT_UINT8, DT_UINT16, DT_BOOL, DT_DOUBLE ");
    }
  for (const Shape& shape : spec.shapes)
    if (shape.rank != 0) invalid("Each element of `output_shapes_` must be a scalar.");
  if (driver != "sqlite")
    invalid("The database type, " + driver + ", is not supported by SqlDataset. The set of " +
            "supported databases is: {'sqlite'}.");
  return std::make_shared<Sql>(std::move(spec), arguments.text(1, "data_source_name"),
                               arguments.text(2, "query"));
}

}  // namespace

HR_KERNELS = {
    dataset_kernel<make>("SqlDataset"),
    dataset_kernel<make>("ExperimentalSqlDataset"),
};

}  // namespace hr::data
