// SPDX-License-Identifier: Apache-2.0
// A call of attend() or attend_mapped() as a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "check/attend_row.hpp"
#include "check/verdict.hpp"
#include "check/views.hpp"
#include "reference/attention.hpp"
#include "rotary/attention.hpp"
#include "rotary/position_maps.hpp"

namespace rotary::check {

// Tensor sizes. With pages, `keys` is the number of keys of the longest sequence.
struct AttentionShape {
  std::int64_t batch = 2;
  std::int64_t queries = 4;
  std::int64_t keys = 5;
  std::int64_t heads = 4;
  std::int64_t key_heads = 2;
  std::int64_t features = 4;  // of q and k
  std::int64_t value_features = 3;
};

struct AttentionViews {
  HeadsView out;
  HeadsView q;
  HeadsView k;
  HeadsView v;
};

// Owns no memory.
struct AttendCall : AttentionViews {
  // If true, keys and values are 8-bit: k and v locate the elements, and their dtype is unused.
  // Scales are heads with one feature.
  bool in_int8 = false;
  HeadsView k_scales;
  HeadsView v_scales;
  std::optional<BlockTable> table;  // k and v are pages
  AttendOptions options;
  // The map and its frequencies are only for attend_mapped().
  std::optional<PositionMap> map;
  const Frequencies* frequencies = nullptr;

  void set_quantized(const QuantizedHeadsView& keys, const QuantizedHeadsView& values);
  // The given sequences, or one per batch row.
  [[nodiscard]] std::vector<AttentionSequence> sequences() const;
  [[nodiscard]] QuantizedKeys quantized_keys() const;
};

[[nodiscard]] Status run(const AttendCall& call);
// attend_bytes() for the call, which must not have a map.
[[nodiscard]] Result<std::size_t> bytes_for(const AttendCall& call);

// The number that the additive mask adds to a query's score in this column; 0 without a mask.
[[nodiscard]] double number_at(const AttendOptions& options, const HeadIndex& query,
                               std::int64_t column);
// Whether the boolean mask lets the query see this column; true without a mask.
[[nodiscard]] bool leaves(const AttendOptions& options, const HeadIndex& query,
                          std::int64_t column);

// Compares the results of a successful call with the definition of attention. The operands must be
// unchanged. Without a rotary in `definition`, cos and sin are the call's rows. Without a bias in
// `definition`, fill_bias() computes the call's bias.
[[nodiscard]] Verdict verdict(const AttendCall& call,
                              const reference::AttentionEncoding& definition = {});

// The exact row and the call's row for one query of one head.
struct CheckedRow {
  HeadIndex place;
  const ExactRow& exact;
  const ComputedRow& computed;
  std::optional<std::int64_t> parts;  // for attend_mapped_error_bound(); empty without a map
  bool is_bounded = false;            // whether the contract covers the scores
};
void for_each_row(const AttendCall& call, const reference::AttentionEncoding& definition,
                  const std::function<void(const CheckedRow&)>& use);

}  // namespace rotary::check
