// SPDX-License-Identifier: Apache-2.0
#include "attention/cache/norm_checks.hpp"

#include <cmath>
#include <cstdint>

#include "base/message.hpp"

namespace rotary {
namespace {

Status check_weight(std::string_view name, const HeadNorm& norm, const Extents& n) {
  const auto size = static_cast<std::int64_t>(norm.weight.size());
  if (size == 0) {
    if (norm.weight_offset == 0) return {};
    return invalid_argument(name, ": weight_offset needs weights, got ", norm.weight_offset,
                            " and none");
  }
  const bool over_all = norm.over == NormOver::all_heads;
  // By division: heads * features may overflow if the view has no element.
  const bool fits = over_all ? n.heads > 0 && size % n.heads == 0 && size / n.heads == n.features
                             : size == n.features;
  const bool nothing = over_all && n.heads == 0;
  if (fits || nothing) return {};
  return invalid_argument(name, ": weight must have one element for each of the ",
                          over_all ? "heads * features, " : "features, ",
                          over_all ? message(n.heads, " * ", n.features) : message(n.features),
                          "; got ", size);
}

}  // namespace

Status check_norm(std::string_view name, const HeadNorm& norm, const ConstHeadsView& view) {
  if (view.dtype == DType::f64)
    return invalid_argument(name, ": elements must be f32, bf16 or f16, got f64");
  if (norm.over != NormOver::each_head && norm.over != NormOver::all_heads) {
    return invalid_argument(name, ": over must be each_head or all_heads, got value ",
                            static_cast<std::int32_t>(norm.over));
  }
  if (!(norm.epsilon >= 0x1p-126) || std::isinf(norm.epsilon)) {
    return invalid_argument(name, ": epsilon must be finite and at least 2^-126, got ",
                            norm.epsilon);
  }
  if (!(std::abs(norm.weight_offset) <= 0x1p126)) {
    return invalid_argument(name, ": weight_offset must be within +-2^126, got ",
                            norm.weight_offset);
  }
  return check_weight(name, norm, view.extents);
}

Status check_conversion(std::string_view name, DType from, DType to) {
  const bool narrows = from == DType::f32 && (to == DType::bf16 || to == DType::f16);
  if (from == to || narrows) return {};
  return invalid_argument(name, ": elements must keep their dtype or go from f32 to bf16 or f16, ",
                          "got ", to_string(from), " to ", to_string(to));
}

}  // namespace rotary
