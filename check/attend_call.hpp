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

// Sizes of the tensors. Where keys lie in pages, keys counts those of the longest sequence.
struct AttentionShape {
  std::int64_t batch = 2;
  std::int64_t queries = 4;
  std::int64_t keys = 5;
  std::int64_t heads = 4;
  std::int64_t key_heads = 2;
  std::int64_t features = 4;  // of q and k
  std::int64_t value_features = 3;
};

// The views that all calls of attention have.
struct AttentionViews {
  HeadsView out;
  HeadsView q;
  HeadsView k;
  HeadsView v;
};

// It owns nothing.
struct AttendCall : AttentionViews {
  // Keys and values in 8 bits: k and v say where the elements are, whatever their dtype; scales are
  // heads of one feature.
  bool in_int8 = false;
  HeadsView k_scales;
  HeadsView v_scales;
  std::optional<BlockTable> table;  // k and v are pages
  AttendOptions options;
  // Makes it a call of attend_mapped().
  std::optional<PositionMap> map;
  const Frequencies* frequencies = nullptr;

  void set_quantized(const QuantizedHeadsView& keys, const QuantizedHeadsView& values);
  // Those given, or else one for each batch row.
  [[nodiscard]] std::vector<AttentionSequence> sequences() const;
  [[nodiscard]] QuantizedKeys quantized_keys() const;
};

[[nodiscard]] Status run(const AttendCall& call);
// For calls of attend() alone.
[[nodiscard]] Result<std::size_t> bytes_for(const AttendCall& call);

// The number that the additive mask adds to the score of a query and a key, by its column; 0
// without a mask.
[[nodiscard]] double number_at(const AttendOptions& options, const HeadIndex& query,
                               std::int64_t column);
// Whether the mask of booleans leaves the pair.
[[nodiscard]] bool leaves(const AttendOptions& options, const HeadIndex& query,
                          std::int64_t column);

// Compares the results of a call that was accepted, whose operands are as they were, with the
// definition of attention. Rotary and bias of `definition` are taken by their formulas at the
// positions of the tokens, rotary for what the call turns; those that it lacks as the call has
// them: rows of cos and sin as they are, a bias as fill_bias() gives it.
[[nodiscard]] Verdict verdict(const AttendCall& call,
                              const reference::AttentionEncoding& definition = {});

// A query of one head: what is right, and what the call left.
struct CheckedRow {
  HeadIndex place;
  const ExactRow& exact;
  const ComputedRow& computed;
  std::optional<std::int64_t> parts;  // of a map
  bool is_bounded = false;            // the contract speaks of the scores
};
// Calls `use` for each row of all sequences.
void for_each_row(const AttendCall& call, const reference::AttentionEncoding& definition,
                  const std::function<void(const CheckedRow&)>& use);

}  // namespace rotary::check
