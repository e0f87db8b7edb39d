// SPDX-License-Identifier: Apache-2.0
// The masks of pairs of a call.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "support/attention/attended.hpp"
#include "support/random.hpp"

namespace rotary::test {
namespace {

constexpr double hidden_number = -std::numeric_limits<double>::infinity();

// With room for the keys of whole pages.
Shape mask_shape(const PairMask& mask) {
  const ScoresExtents& n = mask.extents;
  const std::int64_t columns = n.keys == 1 ? 1 : n.keys + 40;
  return {mask.dtype, {n.batch, n.queries, n.heads, columns}, mask.layout};
}

ScoresStrides scores_strides(const Strides& s) { return {s.batch, s.head, s.token, s.feature}; }

// The place of a query in a mask that may have one for all.
HeadIndex within(const HeadIndex& query, const ScoresExtents& n) {
  return {.batch = n.batch == 1 ? 0 : query.batch,
          .token = n.queries == 1 ? 0 : query.token,
          .head = n.heads == 1 ? 0 : query.head};
}

const std::uint8_t* boolean_at(const BooleanMaskView& mask, const HeadIndex& query,
                               std::int64_t key) {
  const HeadIndex at = within(query, mask.extents);
  const ScoresStrides& s = mask.strides;
  return static_cast<const std::uint8_t*>(mask.data) + at.batch * s.batch + at.head * s.head +
         at.token * s.query + (mask.extents.keys == 1 ? 0 : key) * s.key;
}

}  // namespace

void Attended::make_masks() {
  Random random(case_.seed + 71);
  if (const auto& mask = case_.additive_mask) {
    additive_.emplace(mask_shape(*mask));
    for_each_element(additive_->extents(), [&](const HeadIndex& index, std::int64_t key) {
      const bool hidden = mask->hidden > 0 && random.integer(1, mask->hidden) == 1;
      additive_->set(index, key, hidden ? hidden_number : 4 * random.unit() - 2);
    });
    const ConstHeadsView view = std::as_const(*additive_).view();
    options_.additive_mask = {view.data, view.dtype, mask->extents, scores_strides(view.strides)};
  }
  if (const auto& mask = case_.boolean_mask) {
    Shape shape = mask_shape(*mask);
    shape.dtype = DType::bf16;
    const Tensor places(shape);  // the layout, with twice as many bytes
    const ConstHeadsView view = places.view();
    booleans_.assign(places.bytes().size() / 2, 7);
    const auto first = static_cast<const std::byte*>(view.data) - places.bytes().data();
    options_.boolean_mask = {booleans_.data() + first / 2, mask->extents,
                             scores_strides(view.strides)};
    for_each_element(places.extents(), [&](const HeadIndex& index, std::int64_t key) {
      if (mask->hidden > 0 && random.integer(1, mask->hidden) == 1) set_boolean(index, key, 0);
    });
  }
}

double Attended::additive(const HeadIndex& query, std::int64_t key) const {
  if (!additive_) return 0;
  return additive_->at(within(query, options_.additive_mask->extents),
                       options_.additive_mask->extents.keys == 1 ? 0 : key);
}

bool Attended::leaves(const HeadIndex& query, std::int64_t key) const {
  if (additive(query, key) == hidden_number) return false;
  if (!options_.boolean_mask) return true;
  return *boolean_at(*options_.boolean_mask, query, key) != 0;
}

void Attended::set_additive(const HeadIndex& query, std::int64_t key, double number) {
  additive_->set(query, key, number);
}

void Attended::set_boolean(const HeadIndex& query, std::int64_t key, std::uint8_t boolean) {
  const std::uint8_t* const at = boolean_at(*options_.boolean_mask, query, key);
  booleans_[static_cast<std::size_t>(at - booleans_.data())] = boolean;
}

void Attended::read_masks(reference::Mask& to) const {
  if (!additive_ && !options_.boolean_mask) return;
  const AttentionShape& s = case_.shape;
  for_each_element({s.batch, s.heads, s.queries, s.keys},
                   [&](const HeadIndex& at, std::int64_t key) {
                     const HeadIndex query{at.batch, at.head, at.token};  // heads before queries
                     to.pairs.push_back(leaves(query, key) ? 1 : 0);
                     to.numbers.push_back(additive(query, key));
                   });
}

// Masks have columns to spare for keys in the slots of pages that are not there.
Status Attended::run(const Pages& pages) {
  AttendOptions options = options_;
  const std::int64_t columns = pages.k.extents().tokens * pages.table.blocks_of_sequence;
  if (options.additive_mask && options.additive_mask->extents.keys != 1)
    options.additive_mask->extents.keys = columns;
  if (options.boolean_mask && options.boolean_mask->extents.keys != 1)
    options.boolean_mask->extents.keys = columns;
  return attend(out.view(), q.view(), pages.keys(), options);
}

}  // namespace rotary::test
