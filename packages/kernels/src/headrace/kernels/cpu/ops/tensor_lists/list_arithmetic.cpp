// Adds items that are numbers or lists.
#include "library/dtype_names.hpp"
#include "library/shapes.hpp"
#include "library/tensor_lists/tensor_list.hpp"
#include "math/arithmetic.hpp"
#include "table/element_types.hpp"

namespace hr {

hr_code add_to_tensor(hr_ctx* ctx, const hr_tensor& item, hr_tensor* sum) {
  if (sum->dtype == HR_VARIANT) {
    const hr_tensor* const both[2] = {sum, &item};
    return add_lists(ctx, 2, both, sum);
  }
  const hr_code code = with_type(sum->dtype, Numbers{}, [&](auto t) -> hr_code {
    using T = typename decltype(t)::type;
    const T* from = read<T>(&item);
    T* to = write<T>(sum);
    for (int64_t i = 0, n = hr_elements(sum); i < n; ++i)
      to[i] = T(plus(Compute<T>(to[i]), Compute<T>(from[i])));
    return HR_CANCELLED;  // any code: with_type returns 0 for other dtypes
  });
  return code ? HR_OK
              : hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Trying to add unsupported dtype: %s",
                            dtype_name(sum->dtype));
}

}  // namespace hr
