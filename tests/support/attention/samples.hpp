// SPDX-License-Identifier: Apache-2.0
// Small random inputs of attention, with every encoding and every kind of mask.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check/attend_call.hpp"
#include "reference/attention.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::test {

using check::AttentionShape;

// 2, 3 and 1 query heads for each key head.
inline constexpr AttentionShape attention_shapes[] = {
    {}, {.heads = 3, .key_heads = 1}, {.heads = 3, .key_heads = 3}};

// Random numbers in [-1, 1).
[[nodiscard]] reference::Heads random_heads(const Extents& extents, std::uint64_t seed);
[[nodiscard]] reference::AttentionInputs random_inputs(const AttentionShape& shape,
                                                       std::uint64_t seed);
[[nodiscard]] Extents out_extents(const reference::AttentionInputs& inputs) noexcept;

[[nodiscard]] HeadsView view_of(reference::Heads& heads) noexcept;
[[nodiscard]] ScoresView scores_of(std::vector<double>& values,
                                   const ScoresExtents& extents) noexcept;
[[nodiscard]] ConstTableView matrix_of(const std::vector<double>& values,
                                       std::int64_t columns) noexcept;

struct EncodingSample {
  std::string name;
  reference::AttentionEncoding encoding;
};

// Samples without an encoding, with each alone, and with several together.
[[nodiscard]] std::vector<EncodingSample> attention_encodings(const AttentionShape& shape);

// The static table [8][heads] that the T5 samples read.
[[nodiscard]] std::vector<double>& attention_t5_table(std::int64_t heads);

struct MaskSample {
  std::string name;
  reference::Attention attention;  // mask, positions, scale and factors; no encoding
};

// Masks with an order, a window, sinks, packed documents, and padding that leaves a query without
// keys. They fit 2 batch rows, 4 queries and 5 keys; the queries are the last tokens.
[[nodiscard]] std::vector<MaskSample> attention_masks();

[[nodiscard]] reference::Attention with_encoding(const MaskSample& mask,
                                                 const EncodingSample& encoding);

// Positions of all queries and keys, with defaults written out.
struct PositionLists {
  std::vector<std::int64_t> queries;  // [batch][queries]
  std::vector<std::int64_t> keys;     // [batch][keys]
};
[[nodiscard]] PositionLists position_lists(const reference::AttentionInputs& inputs,
                                           const reference::Attention& attention);

}  // namespace rotary::test
