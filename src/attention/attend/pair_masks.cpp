// SPDX-License-Identifier: Apache-2.0
#include "attention/attend/pair_masks.hpp"

#include <algorithm>
#include <cstddef>
#include <numbers>
#include <utility>

#include "attention/attend/turn_heads.hpp"
#include "base/message.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

bool is_one_or(std::int64_t extent, std::int64_t wanted) { return extent == 1 || extent == wanted; }

// An extent of 1 means the same mask for every index.
Status check_extents(std::string_view name, const AttendCall& call, const Extents& n) {
  const Extents& q = call.q.extents;
  const std::int64_t keys = call.columns();
  if (is_one_or(n.batch, q.batch) && is_one_or(n.heads, q.heads) && is_one_or(n.tokens, q.tokens) &&
      is_one_or(n.features, keys))
    return {};
  return invalid_argument(name, ": each extent must be 1 or that of the scores, batch ", q.batch,
                          ", heads ", q.heads, ", queries ", q.tokens, ", keys ", keys,
                          "; got batch ", n.batch, ", heads ", n.heads, ", queries ", n.tokens,
                          ", keys ", n.features);
}

Status check_mask(std::string_view name, const AttendCall& call,
                  const std::optional<ElementsView>& mask) {
  if (!mask) return {};
  if (auto status = check_extents(name, call, mask->extents); !status) return status;
  const auto range = address_range(*mask);
  if (!range)
    return invalid_argument(name, ": the view must span less than 2^62 bytes, got strides batch ",
                            mask->strides.batch, ", head ", mask->strides.head, ", query ",
                            mask->strides.token, ", key ", mask->strides.feature);
  if (range->begin == range->end) return {};
  if (mask->data == nullptr) return invalid_argument(name, ": data must not be null, got null");
  return check_aligned(mask->data, mask->element_bytes, name,
                       ": data must be aligned to its element size");
}

// The mask's element for one query, one head and the sequence's first key.
const void* first_element(const ElementsView& mask, const AttentionSequence& sequence,
                          std::int64_t query, std::int64_t head) {
  const Strides& s = mask.strides;
  const std::int64_t element =
      sequence.batch * s.batch + query * s.token + head * s.head + sequence.first_key * s.feature;
  return static_cast<const std::byte*>(mask.data) + element * mask.element_bytes;
}

}  // namespace

Status check_softcap(const AttendCall& call) {
  const auto& cap = call.options.softcap;
  if (!cap || (*cap >= 0x1p-64 && *cap <= 0x1p64)) return {};
  return invalid_argument("softcap must be from 2^-64 to 2^64, or absent for none, got ", *cap);
}

Status check_pair_masks(const AttendCall& call) {
  if (const auto& given = call.options.additive_mask) {
    if (auto status = check_dtype("additive_mask", given->dtype); !status) return status;
    if (given->dtype == DType::f64)
      return unsupported("additive_mask: dtype must be f32, bf16 or f16, got f64");
  }
  if (auto status = check_mask("additive_mask", call, call.additive_mask); !status) return status;
  return check_mask("boolean_mask", call, call.boolean_mask);
}

Status check_apart_from_masks(std::string_view name, const ElementsView& written,
                              const AttendCall& call) {
  for (const auto& [of, mask] : {std::pair("additive_mask", &call.additive_mask),
                                 std::pair("boolean_mask", &call.boolean_mask)}) {
    if (!*mask || find_overlap(written, **mask) == Overlap::none) continue;
    return invalid_argument(name, " and ", of,
                            " must share no element, got views that overlap or that cannot be "
                            "told apart");
  }
  return {};
}

void set_changes(const BlockHead& head) {
  const BlockContext& block = head.of;
  const AttendCall& call = block.call.args;
  kernels::RowChange* const changes = block.scratch.changes;
  std::fill_n(changes, block.unit.shape.rows(), kernels::RowChange{});
  head.for_each_row([&](std::int64_t row, std::int64_t query, std::int64_t query_head) {
    const std::int64_t token = block.query_token(query);
    const auto first = [&](const ElementsView& mask) {
      return first_element(mask, block.sequence, token, query_head);
    };
    if (call.additive_mask) changes[row].numbers = first(*call.additive_mask);
    if (call.boolean_mask)
      changes[row].booleans = static_cast<const std::uint8_t*>(first(*call.boolean_mask));
  });
}

void put_bias_behind_cap(const BlockContext& block, std::int64_t row) {
  if (!block.call.args.options.softcap) return;
  kernels::RowLimits& limits = block.scratch.limits[row];
  block.scratch.changes[row].bias = {limits.bias, limits.bias_of_key_0, limits.bias_count};
  limits.bias = nullptr;
}

kernels::ScoreChanges changes_from(const BlockContext& block, std::int64_t row) {
  if (block.scratch.changes == nullptr) return {};
  const AttendCall& call = block.call.args;
  kernels::ScoreChanges changes{.rows = block.scratch.changes + row};
  if (call.masks_pairs()) changes.seen = block.scratch.seen;
  if (const auto& cap = call.options.softcap) {
    changes.cap = static_cast<float>(*cap * std::numbers::log2e);
    changes.inverse_cap = static_cast<float>(1 / (*cap * std::numbers::log2e));
  }
  if (const auto& mask = call.additive_mask) {
    changes.load_numbers =
        of_dtype(block.call.kernels.types, call.options.additive_mask->dtype).load_mask;
    changes.number_bytes = mask->element_bytes;
    changes.numbers_stride = mask->strides.feature;
  }
  if (const auto& mask = call.boolean_mask) changes.booleans_stride = mask->strides.feature;
  return changes;
}

}  // namespace rotary
