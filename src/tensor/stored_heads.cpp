// SPDX-License-Identifier: Apache-2.0
#include "tensor/stored_heads.hpp"

namespace rotary {
namespace {

// Views bytes as elements of two bytes, because the checks need a DType. All sizes and distances
// double, so the checks give the same answers.
ConstHeadsView doubled_elements(const StoredHeads& heads) {
  return {
      .data = heads.data, .dtype = DType::bf16, .extents = heads.extents, .strides = heads.strides};
}

}  // namespace

Status check_quantized(const StoredNames& names, const StoredHeads& heads) {
  if (auto status = check_extents(names.elements, heads.extents); !status) return status;
  const ConstHeadsView doubled = doubled_elements(heads);
  if (auto status = check_adjacent_features(names.elements, doubled); !status) return status;
  const auto range = address_range(doubled);
  if (!range) {
    return invalid_argument(names.elements,
                            ": the view must span less than 2^61 bytes, got extents ",
                            describe(heads.extents), " with strides ", describe(heads.strides));
  }
  if (range->begin == range->end) return {};
  if (heads.data == nullptr) {
    return invalid_argument(names.elements, ": data must not be null, got extents ",
                            describe(heads.extents));
  }
  return check_view(names.scales, scales_of(heads));
}

Status check_quantized_distinct(const StoredNames& names, const StoredHeads& heads) {
  if (!has_elements(heads.extents)) return {};
  if (auto status = check_distinct(names.elements, doubled_elements(heads)); !status) return status;
  const ConstHeadsView scales = scales_of(heads);
  if (auto status = check_distinct(names.scales, scales); !status) return status;
  if (find_overlap(elements_of(heads), elements_of(scales)) == Overlap::none) return {};
  return invalid_argument(names.elements, " and ", names.scales,
                          " must share no byte, got views that overlap or cannot be told apart");
}

}  // namespace rotary
