// SPDX-License-Identifier: Apache-2.0
// Learned tables: a token's position (or its id, or its segment) selects a row, which is added. A
// row number outside the table is an error.
//
//   add_learned(x, x, {.table = weights, .rows = {.indices = ConsecutivePositions{.tokens =
//   128}}});
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "rotary/export.h"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/tokens_view.hpp"

namespace rotary {

// The table row of each token: index + offset.
struct TableRows {
  Positions indices;  // consecutive, int32 or int64; a batch of 1 serves every batch row
  // 2 for OPT and BART. padding_idx + 1 for RoBERTa and its kin: padding, whose index is -1
  // (positions_from_mask), then gets the row padding_idx.
  std::int64_t offset = 0;
  // This row gets no gradient: padding_idx of torch's Embedding. It is read like any other.
  std::optional<std::int64_t> padding_row = {};
};

// One table and the row that each token takes from it.
struct Lookup {
  ConstTableView table;
  TableRows rows;
};

// The functions below share a contract. Tables have the dtype and the features of the tokens;
// indices have the tokens of the view, and its batch or 1. A destination has distinct elements and
// shares none with anything that the call reads, except that add_learned works in place (the same
// view twice). On an error nothing has been written; the message says the requirement and what was
// got (for indices, the first that breaks it). Allocates nothing on success. Threads: split the
// views by tokens or, for gradients, by features; the bits do not change.

// dst = src + row of the token. Sums are double, rounded once to nearest even on store; for float32
// these are the bits of a float32 addition.
[[nodiscard]] ROTARY_API Status add_learned(TokensView dst, ConstTokensView src,
                                            const Lookup& lookup) noexcept;

// dst = sum of one row of each table, in one pass: BERT's token + segment + position. Summed in the
// order of the lookups, in double, rounded once; without lookups dst becomes 0.
[[nodiscard]] ROTARY_API Status sum_embeddings(TokensView dst,
                                               std::span<const Lookup> lookups) noexcept;

// The gradient of a table: gradient[row] += upstream[token] for each token that takes the row,
// except padding_row. Tokens are added in order of batch row and token, each sum rounded to the
// gradient's dtype, f32 or f64, so every call gives the same bits. upstream, the gradient of dst,
// may have any dtype; f64 needs a gradient of f64. If strides of 0 repeat elements of upstream, it
// has fewer than 2^36. (The gradient of add_learned's src is upstream itself.)
[[nodiscard]] ROTARY_API Status add_table_gradient(TableView gradient, const TableRows& rows,
                                                   ConstTokensView upstream) noexcept;

// Positions of padded batches: 0, 1, 2, … for the tokens of each batch row whose mask is 1, and -1
// where it is 0, wherever padding stands. Both are [batch, tokens], contiguous. Errors:
// invalid_argument for sizes that differ or are no multiple of batch, for a mask value other than 0
// or 1, and for a mask that shares a byte with positions.
[[nodiscard]] ROTARY_API Status positions_from_mask(std::span<std::int64_t> positions,
                                                    std::span<const std::uint8_t> mask,
                                                    std::int64_t batch) noexcept;

}  // namespace rotary
