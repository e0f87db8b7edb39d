// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "support/attention/attended.hpp"
#include "support/random.hpp"

namespace rotary::test {
namespace {

// Adds columns for the unused slots of a sequence's last page.
Shape mask_shape(const PairMask& mask, DType dtype) {
  const ScoresExtents& n = mask.extents;
  const std::int64_t columns = n.keys == 1 ? 1 : n.keys + 40;
  return {dtype, {n.batch, n.queries, n.heads, columns}, mask.layout};
}

ScoresStrides scores_strides(const Strides& s, std::int64_t bytes) {
  return {bytes * s.batch, bytes * s.head, bytes * s.token, bytes * s.feature};
}

}  // namespace

void Attended::make_masks() {
  Random random(case_.seed + 71);
  const auto is_hidden = [&](const PairMask& mask) {
    return mask.hidden > 0 && random.integer(1, mask.hidden) == 1;
  };
  if (const auto& mask = case_.additive_mask) {
    additive_.emplace(mask_shape(*mask, mask->dtype));
    for_each_element(additive_->extents(), [&](const HeadIndex& index, std::int64_t key) {
      additive_->set(
          index, key,
          is_hidden(*mask) ? -std::numeric_limits<double>::infinity() : 4 * random.unit() - 2);
    });
    const HeadsView view = additive_->view();
    options_.additive_mask = {view.data, view.dtype, mask->extents,
                              scores_strides(view.strides, 1)};
  }
  if (const auto& mask = case_.boolean_mask) {
    booleans_.emplace(mask_shape(*mask, DType::bf16));
    for_each_element(booleans_->extents(), [&](const HeadIndex& index, std::int64_t key) {
      booleans_->set_bits(index, key, is_hidden(*mask) ? 0 : 7);
    });
    const HeadsView view = booleans_->view();
    options_.boolean_mask = {view.data, mask->extents, scores_strides(view.strides, 2)};
  }
}

void Attended::set_additive(const HeadIndex& query, std::int64_t key, double number) {
  additive_->set(query, key, number);
}

void Attended::set_boolean(const HeadIndex& query, std::int64_t key, std::uint8_t boolean) {
  booleans_->set_bits(query, key, boolean);
}

}  // namespace rotary::test
