// SPDX-License-Identifier: Apache-2.0
// Makes rows from a caller's cos and sin: checks all elements, then converts them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "rotary/rotations.hpp"
#include "rotation/frequencies/frequency_checks.hpp"
#include "rotation/frequencies/phase_steps.hpp"
#include "rotation/rows/cos_sin_checks.hpp"
#include "rotation/rows/rotations_access.hpp"
#include "tensor/element_values.hpp"
#include "tensor/heads_views.hpp"
#include "tensor/overlap.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

// of_rotations requires cos^2 + sin^2 = A^2.
enum class RowValues { of_rotations, any };

// Relative tolerance of cos^2 + sin^2 against A^2. Rows rounded to bf16 are off by up to 0.8 %.
constexpr double tolerance = 0.02;

// Requires a view that has elements.
Status check_elements(std::string_view name, const ConstHeadsView& view) {
  if (view.data == nullptr) {
    return invalid_argument(name, " must not be null, got null for ", view.extents.tokens,
                            " tokens");
  }
  if (auto status = check_aligned(view.data, size_in_bytes(view.dtype), name,
                                  " must be aligned to its element size");
      !status) {
    return status;
  }
  if (!address_range(view)) {
    return invalid_argument(name, " must span less than 2^62 bytes, got batch ", view.extents.batch,
                            ", ", view.extents.tokens, " tokens, ", view.extents.features,
                            " pairs with strides ", view.strides.batch, ", ", view.strides.token,
                            ", ", view.strides.feature);
  }
  return {};
}

// Refuses a stride of 0 along more than one element. The caller probably forgot to set it.
Status check_strides(const CosSinView& rows, std::int64_t pairs) {
  if (pairs > 1 && rows.pair_stride == 0) {
    return invalid_argument("pair_stride must not be 0 for more than one pair, got ", pairs,
                            " pairs");
  }
  if (rows.tokens > 1 && rows.token_stride == 0) {
    return invalid_argument("token_stride must not be 0 for more than one token, got ", rows.tokens,
                            " tokens");
  }
  if (rows.batch > 1 && rows.batch_stride == 0) {
    return invalid_argument("batch_stride must not be 0 for a batch of more than one, got batch ",
                            rows.batch, "; a batch of 1 serves every batch row");
  }
  return {};
}

Status check_memory(std::span<const std::byte> memory, std::string_view name,
                    const ConstHeadsView& view) {
  if (find_overlap(view, heads_view(memory)) == Overlap::none) return {};
  return invalid_argument("memory must share no element with ", name,
                          ", got memory that overlaps it, or may overlap it");
}

Status check_source(const HeadWindow& window, const CosSinView& rows,
                    const RotationsOptions& options) {
  if (options.role) {
    return invalid_argument(
        "role must be left out for existing rows: they must be rotations, and rows of xPos are "
        "not; got ",
        to_string(*options.role));
  }
  if (auto status = check_rows(window, rows, options.rows); !status) return status;
  const auto bytes = row_bytes(window, rows.batch, rows.tokens, options.rows);
  if (!bytes) return bytes.error();
  const auto written = options.memory.first(std::min(*bytes, options.memory.size()));
  for (const auto& [name, elements] : {std::pair("cos", rows.cos), std::pair("sin", rows.sin)}) {
    auto status = check_memory(written, name, heads_view(elements, rows, window.pairs()));
    if (!status) return status;
  }
  return {};
}

struct Index {
  std::int64_t batch = 0;
  std::int64_t token = 0;
  std::int64_t pair = 0;
};

struct Values {
  double cos;
  double sin;

  [[nodiscard]] double norm() const { return cos * cos + sin * sin; }
};

template <class Element>
Values values_at(const CosSinView& rows, const Index& at) {
  const std::int64_t i =
      at.batch * rows.batch_stride + at.token * rows.token_stride + at.pair * rows.pair_stride;
  return {.cos = value_at<Element>(rows.cos, i), .sin = value_at<Element>(rows.sin, i)};
}

// Calls visit(index) for each pair. Stops and returns false if a call returns false. Without tokens
// it returns true at once, because the batch may then be any number.
template <class Visit>
bool for_each_pair(const CosSinView& rows, std::int64_t pairs, Visit visit) {
  if (rows.tokens == 0) return true;
  for (Index at; at.batch < rows.batch; ++at.batch) {
    for (at.token = 0; at.token < rows.tokens; ++at.token) {
      for (at.pair = 0; at.pair < pairs; ++at.pair) {
        if (!visit(at)) return false;
      }
    }
  }
  return true;
}

// Returns "; attention_factor 1.5 fits every pair" if one fits: the caller probably forgot it.
template <class Element>
std::string fitting_factor(const CosSinView& rows, std::int64_t pairs) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for_each_pair(rows, pairs, [&](const Index& at) {
    const double norm = values_at<Element>(rows, at).norm();
    least = std::min(least, norm);
    most = std::isnan(norm) ? norm : std::max(most, norm);
    return std::isfinite(most);
  });
  const double middle = least / 2 + most / 2;
  if (!(most - middle <= tolerance * middle) || !validate_attention_factor(std::sqrt(middle))) {
    return {};
  }
  return message("; attention_factor ", std::sqrt(middle), " fits every pair");
}

template <class Element>
Status check_values(const CosSinView& rows, std::int64_t pairs, RowValues allowed) {
  const double wanted = rows.attention_factor * rows.attention_factor;
  Index bad;
  const bool good = for_each_pair(rows, pairs, [&](const Index& at) {
    bad = at;
    const Values values = values_at<Element>(rows, at);
    if (allowed == RowValues::any) return std::isfinite(values.cos) && std::isfinite(values.sin);
    // False for NaN and infinities.
    return std::abs(values.norm() - wanted) <= tolerance * wanted;
  });
  if (good) return {};
  const Values got = values_at<Element>(rows, bad);
  const std::string where =
      message(" for batch ", bad.batch, ", token ", bad.token, ", pair ", bad.pair);
  if (!std::isfinite(got.cos)) return invalid_argument("cos must be finite, got ", got.cos, where);
  if (!std::isfinite(got.sin)) return invalid_argument("sin must be finite, got ", got.sin, where);
  return invalid_argument("cos^2 + sin^2 must be attention_factor^2, ", wanted,
                          ", within 2 %, got ", got.norm(), " from cos ", got.cos, " and sin ",
                          got.sin, where, fitting_factor<Element>(rows, pairs));
}

// Writes [batch][tokens][cos, sin][lane_stride]; padding lanes hold a pair that does not rotate.
template <class Element, class Real>
void convert(const CosSinView& rows, std::int64_t pairs, Real* to) {
  const std::int64_t lane_stride = lane_stride_for(pairs);
  for (Index at; at.batch < rows.batch; ++at.batch) {
    for (at.token = 0; at.token < rows.tokens; ++at.token) {
      for (at.pair = 0; at.pair < pairs; ++at.pair) {
        const Values values = values_at<Element>(rows, at);
        to[at.pair] = static_cast<Real>(values.cos);
        to[lane_stride + at.pair] = static_cast<Real>(values.sin);
      }
      std::fill(to + pairs, to + lane_stride, static_cast<Real>(rows.attention_factor));
      std::fill(to + lane_stride + pairs, to + 2 * lane_stride, Real{0});
      to += 2 * lane_stride;
    }
  }
}

template <class Element>
Result<Rotations> rotations_of(const CosSinView& rows, const HeadWindow& window,
                               const RotationsOptions& options, RowValues allowed) {
  const std::int64_t pairs = window.pairs();
  if (auto status = check_values<Element>(rows, pairs, allowed); !status) {
    return std::move(status).error();
  }
  auto rotations = RotationsAccess::empty(window, options);
  if (!rotations) return rotations;
  auto status = RotationsAccess::reshape(*rotations, {.window = window,
                                                      .attention_factor = rows.attention_factor,
                                                      .batch = rows.batch,
                                                      .tokens = rows.tokens,
                                                      .unchecked = allowed == RowValues::any});
  if (!status) return std::move(status).error();
  if (rows.tokens == 0) return rotations;
  void* const to = RotationsAccess::rows(*rotations);
  if (options.rows == RowDType::f64) {
    convert<Element>(rows, pairs, static_cast<double*>(to));
  } else {
    convert<Element>(rows, pairs, static_cast<float*>(to));
  }
  return rotations;
}

Result<Rotations> make_rows(const HeadWindow& window, const CosSinView& rows,
                            const RotationsOptions& options, RowValues allowed) {
  if (auto status = validate(window); !status) return std::move(status).error();
  if (auto status = check_source(window, rows, options); !status) return std::move(status).error();
  return with_element(rows.dtype, [&](auto like) {
    return rotations_of<decltype(like)>(rows, window, options, allowed);
  });
}

}  // namespace

ConstHeadsView heads_view(const void* elements, const CosSinView& rows, std::int64_t pairs) {
  return without_unused_strides(ConstHeadsView{
      .data = elements,
      .dtype = rows.dtype,
      .extents = {.batch = rows.batch, .tokens = rows.tokens, .heads = 1, .features = pairs},
      .strides = {
          .batch = rows.batch_stride, .token = rows.token_stride, .feature = rows.pair_stride}});
}

Status check_rows(const HeadWindow& window, const CosSinView& rows, RowDType made) {
  if (size_in_bytes(rows.dtype) == 0) {
    return invalid_argument("dtype must be f32, bf16, f16 or f64, got value ",
                            static_cast<std::int32_t>(rows.dtype));
  }
  if (auto status = validate_attention_factor(rows.attention_factor); !status) return status;
  const auto bytes = row_bytes(window, rows.batch, rows.tokens, made);
  if (!bytes) return bytes.error();
  if (rows.tokens == 0) return {};
  if (auto status = check_strides(rows, window.pairs()); !status) return status;
  auto status = check_elements("cos", heads_view(rows.cos, rows, window.pairs()));
  if (!status) return status;
  return check_elements("sin", heads_view(rows.sin, rows, window.pairs()));
}

Result<Rotations> make_rotations(const HeadWindow& window, const CosSinView& rows,
                                 const RotationsOptions& options) noexcept {
  return guarded([&] { return make_rows(window, rows, options, RowValues::of_rotations); });
}

Result<Rotations> make_unchecked_rotations(const HeadWindow& window, const CosSinView& rows,
                                           const RotationsOptions& options) noexcept {
  return guarded([&]() -> Result<Rotations> {
    if (rows.attention_factor != 1)
      return invalid_argument("attention_factor must be 1 for unchecked rows, got ",
                              rows.attention_factor);
    return make_rows(window, rows, options, RowValues::any);
  });
}

}  // namespace rotary
