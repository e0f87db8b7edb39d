// SPDX-License-Identifier: Apache-2.0
#include "tensor/view_checks.hpp"

#include <string>

namespace rotary {

std::string describe(const Extents& n) {
  return message("batch ", n.batch, ", tokens ", n.tokens, ", heads ", n.heads, ", features ",
                 n.features);
}

std::string describe(const Strides& s) {
  return message("batch ", s.batch, ", token ", s.token, ", head ", s.head, ", feature ",
                 s.feature);
}

Status check_extents(std::string_view name, const Extents& n) {
  if (n.batch >= 0 && n.tokens >= 0 && n.heads >= 0 && n.features >= 0) return {};
  return invalid_argument(name, ": extents must be >= 0, got ", describe(n));
}

Status check_memory(std::string_view name, const ConstHeadsView& view) {
  const auto range = address_range(view);
  if (!range) {
    return invalid_argument(name, ": the view must span less than 2^62 bytes, got extents ",
                            describe(view.extents), " with strides ", describe(view.strides));
  }
  if (range->begin == range->end) return {};
  if (view.data == nullptr)
    return invalid_argument(name, ": data must not be null, got extents ", describe(view.extents));
  return check_aligned(view.data, size_in_bytes(view.dtype), name,
                       ": data must be aligned to its element size");
}

Status check_view(std::string_view name, const ConstHeadsView& view) {
  if (auto status = check_dtype(name, view.dtype); !status) return status;
  if (auto status = check_extents(name, view.extents); !status) return status;
  return check_memory(name, view);
}

Status check_adjacent_features(std::string_view name, const ConstHeadsView& view) {
  if (view.strides.feature == 1 || view.extents.features <= 1) return {};
  return invalid_argument(name, ": features must be adjacent, a stride of 1; got strides ",
                          describe(view.strides));
}

Status check_distinct(std::string_view name, const ConstHeadsView& view) {
  if (find_self_overlap(view) == Overlap::none) return {};
  return invalid_argument(name, ": elements of a destination must be distinct, got extents ",
                          describe(view.extents), " with strides ", describe(view.strides));
}

Status check_apart(std::string_view name_a, const ConstHeadsView& a, std::string_view name_b,
                   const ConstHeadsView& b) {
  return check_apart(name_a, elements_of(a), name_b, elements_of(b));
}

Status check_apart(std::string_view name_a, const ElementsView& a, std::string_view name_b,
                   const ElementsView& b) {
  return check_overlap(find_overlap(a, b), name_a, name_b, [&] {
    return message("strides ", describe(a.strides), " and ", describe(b.strides));
  });
}

}  // namespace rotary
