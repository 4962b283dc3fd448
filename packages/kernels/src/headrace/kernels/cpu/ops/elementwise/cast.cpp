// Cast, and Bucketize, which maps each number to the index of its bucket.
#include <algorithm>
#include <cmath>
#include <vector>

#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/elements.hpp"
#include "processor/parallel.hpp"
#include "processor/simd.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

template <class To, class From> HR_INLINE To converted(From from) {
  if constexpr (is_complex<From>) {
    if constexpr (is_complex<To>)
      return To(typename To::value_type(from.real()), typename To::value_type(from.imag()));
    else if constexpr (is_bool<To>) return from != From(0);
    else return converted<To>(from.real());
  } else if constexpr (is_complex<To>) {
    return To(converted<typename To::value_type>(from), 0);
  } else {
    const Compute<From> x = from;
    if constexpr (is_bool<To>) {
      return x != 0;
    } else if constexpr (std::is_floating_point_v<Compute<From>> && is_integer<To>) {
      // By way of a signed integer, as processors do: out of range is no accident then.
      if constexpr (sizeof(To) < 4) return To(int32_t(x));
      else if constexpr (sizeof(To) == 4 && std::is_signed_v<To>) return To(int32_t(x));
      else if constexpr (sizeof(To) == 8 && !std::is_signed_v<To>)
        return x >= Compute<From>(18446744073709551616.0)  ? To(1) << 63
               : x >= Compute<From>(9223372036854775808.0) ? To(x)
                                                           : To(int64_t(x));
      else return To(int64_t(x));
    } else if constexpr (is_small_float<To> && std::is_same_v<From, double>) {
      return To(float(x));
    } else {
      return To(Compute<To>(x));
    }
  }
}

template <class To, class From> HR_INLINE void convert(const From* from, To* to, int64_t n) {
  HR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) to[i] = converted<To>(from[i]);
}
template <class To, class From>
HR_CLONES void convert_cloned(const From* from, To* to, int64_t n) {
  convert(from, to, n);
}

template <class To, class From> void loop(const void* from, void* to, int64_t n) {
  constexpr bool common = std::is_same_v<To, float> || std::is_same_v<From, float>;
  if constexpr (common) convert_cloned(static_cast<const From*>(from), static_cast<To*>(to), n);
  else convert(static_cast<const From*>(from), static_cast<To*>(to), n);
}

// The nearest narrower float that is no farther from zero.
template <class To, class From> HR_INLINE To truncated(From from) {
  if constexpr (std::is_same_v<To, bfloat16> && std::is_same_v<From, float>) {
    const uint32_t bits = bits_as<uint32_t>(from);
    To to;
    to.bits = uint16_t((bits >> 16) | ((bits & 0x7fffffffu) > 0x7f800000u ? 0x40u : 0u));
    return to;
  } else {
    const To near = converted<To>(from);
    if (!(std::abs(double(near)) > std::abs(double(from)))) return near;
    using Bits = std::conditional_t<sizeof(To) == 2, uint16_t, uint32_t>;
    return bits_as<To>(Bits(bits_as<Bits>(near) - 1));
  }
}

template <class To, class From>
HR_CLONES void truncate(const void* from, void* to, int64_t n) {
  HR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i)
    static_cast<To*>(to)[i] = truncated<To>(static_cast<const From*>(from)[i]);
}

struct CastPlan {
  void (*loop)(const void*, void*, int64_t);
  int64_t from_size, to_size;
};

hr_code compute_cast(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                     hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const CastPlan*>(plan_);
  const char* from = read<char>(in[0]);
  char* to = write<char>(out[0]);
  parallel_blocks(ctx, out[0]->bytes / p.to_size, 64, grain_of(p.from_size + p.to_size),
                  [&](int64_t begin, int64_t end) {
                    p.loop(from + begin * p.from_size, to + begin * p.to_size, end - begin);
                  });
  return HR_OK;
}

hr_code compute_same(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                     void*) {
  if (in[0]->data != out[0]->data)
    copy_elements(ctx, in[0]->dtype, hr_dtype_size(in[0]->dtype), out[0]->data, in[0]->data,
                  hr_elements(in[0]));
  return HR_OK;
}

using Loop = void (*)(const void*, void*, int64_t);

// Null: attribute Truncate makes no difference.
Loop truncating_loop(hr_dtype from, hr_dtype to) {
  return with_type(from, Types<float, double>{}, [&](auto f) -> Loop {
    return with_type(to, Types<half, bfloat16, float>{}, [](auto t) -> Loop {
      using From = typename decltype(f)::type;
      using To = typename decltype(t)::type;
      if constexpr (sizeof(To) < sizeof(From)) return truncate<To, From>;
      else return nullptr;
    });
  });
}

hr_code prepare_cast(void*, hr_request* r) {
  if (hr_code code = hr_shape_unchanged(r)) return code;
  const hr_dtype from = r->inputs[0]->dtype, to = r->outputs[0]->dtype;
  if (from == to) {
    r->compute = compute_same;
    return HR_OK;
  }
  Loop chosen = hr_attr_bool(r->node, "Truncate", 0) ? truncating_loop(from, to) : nullptr;
  if (!chosen)
    chosen = with_type(from, NumbersAndBool{}, [&](auto f) -> Loop {
      return with_type(to, NumbersAndBool{}, [](auto t) -> Loop {
        return loop<typename decltype(t)::type, typename decltype(f)::type>;
      });
    });
  if (!chosen) return hr_request_fail(r, HR_UNIMPLEMENTED, "no kernel for these dtypes");
  keep_plan(r, new CastPlan{chosen, hr_dtype_size(from), hr_dtype_size(to)});
  r->compute = compute_cast;
  return HR_OK;
}

// ---- Bucketize ---------------------------------------------------------------------------------

template <class T>
hr_code compute_bucketize(hr_ctx*, void*, void* plan, const hr_tensor* const* in,
                          hr_tensor* const* out, void*) {
  const auto& bounds = *static_cast<const std::vector<float>*>(plan);
  const int64_t n = hr_elements(in[0]);
  for (int64_t i = 0; i < n; ++i)
    write<int32_t>(out[0])[i] =
        int32_t(std::upper_bound(bounds.begin(), bounds.end(), read<T>(in[0])[i]) - bounds.begin());
  return HR_OK;
}

hr_code prepare_bucketize(void*, hr_request* r) {
  if (hr_code code = hr_shape_unchanged(r)) return code;
  const auto list = attr_floats(r->node, "boundaries");
  if (!std::is_sorted(list.begin(), list.end()))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "boundaries must be sorted");
  keep_plan(r, new std::vector<float>(list.begin(), list.end()));
  r->compute =
      with_type(r->inputs[0]->dtype, Join<WideFloats, Indices>{},
                [](auto t) -> hr_compute { return compute_bucketize<typename decltype(t)::type>; });
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("Cast", "SrcT=" HR_NUMBERS "|bool;DstT=" HR_NUMBERS "|bool", prepare_cast),
    kernel("Bucketize", "T=" HR_WIDE_FLOATS "|" HR_INDICES, prepare_bucketize),
};

}  // namespace hr
