// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <variant>

#include "absolute/token_positions.hpp"
#include "absolute/token_views.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "rotary/absolute.hpp"
#include "tensor/element_runs.hpp"

namespace rotary {
namespace {

// Returns the row index + offset, or nothing if the table lacks that row or the sum overflows.
std::optional<std::int64_t> row_at(const TableRows& rows, std::int64_t index, std::int64_t count) {
  std::int64_t row = 0;
  if (__builtin_add_overflow(index, rows.offset, &row) || row < 0 || row >= count) return {};
  return row;
}

// Requires checked indices.
std::int64_t row_of(const TableRows& rows, std::int64_t b, std::int64_t t) {
  return integer_at(rows.indices, batch_of(rows.indices) == 1 ? 0 : b, t) + rows.offset;
}

// Returns the first token of batch row b whose row the table lacks, or `tokens` if it lacks none.
// Reads only the first of consecutive or repeated indices, so `tokens` may then be huge.
std::int64_t first_missing(const TableRows& rows, std::int64_t b, std::int64_t tokens,
                           std::int64_t count) {
  if (!row_at(rows, integer_at(rows.indices, b, 0), count)) return 0;
  if (const auto* const consecutive = std::get_if<ConsecutivePositions>(&rows.indices)) {
    return std::min(tokens, count - (consecutive->first + rows.offset));
  }
  if (heads_view(rows.indices).strides.token == 0) return tokens;
  std::int64_t t = 1;
  while (t < tokens && row_at(rows, integer_at(rows.indices, b, t), count)) ++t;
  return t;
}

// Checks that the table has every token's row. Reads indices once if batch rows share them.
Status check_rows_exist(std::string_view name, const TableRows& rows, const TokenExtents& n,
                        std::int64_t count) {
  if (n.batch == 0 || n.tokens == 0) return {};
  for (std::int64_t b = 0; b < batch_of(rows.indices); ++b) {
    const std::int64_t t = first_missing(rows, b, n.tokens, count);
    if (t == n.tokens) continue;
    return invalid_argument(name, "index + offset must be a row of the table, 0 <= row < ", count,
                            "; got index ", integer_at(rows.indices, b, t), " and offset ",
                            rows.offset, " for batch ", b, ", token ", t);
  }
  return {};
}

Status check_indices(std::string_view name, const TableRows& rows, const TokenExtents& n,
                     std::int64_t count) {
  if (std::holds_alternative<TokenArray<double>>(rows.indices)) {
    return invalid_argument(name, "indices must be int32, int64 or consecutive, got double");
  }
  if (auto status = check_positions(name, rows.indices, n); !status) return status;
  return check_rows_exist(name, rows, n, count);
}

// Requires a checked dst.
Status check_lookup(std::string_view prefix, const Lookup& lookup, const TokensView& dst) {
  const ViewName table_name{"table", prefix};
  const ConstTableView& table = lookup.table;
  if (auto status = check_table(table_name, table); !status) return status;
  if (table.dtype != dst.dtype) {
    return invalid_argument(table_name, " and dst must have the same dtype, got ",
                            to_string(table.dtype), " and ", to_string(dst.dtype));
  }
  if (table.features != dst.extents.features) {
    return invalid_argument(table_name, " must have the features of dst, ", dst.extents.features,
                            "; got ", table.features);
  }
  if (auto status = check_indices(prefix, lookup.rows, dst.extents, table.rows); !status) {
    return status;
  }
  const NamedView written{{"dst"}, heads_view(dst)};
  if (auto status = check_apart(written, {table_name, heads_view(table)}); !status) return status;
  return check_apart(written, prefix, lookup.rows.indices);
}

// A run of features of one token.
struct RunIndex {
  std::int64_t batch = 0;
  std::int64_t token = 0;
  std::int64_t feature = 0;
  std::int64_t count = 0;
};

template <class Work>
void for_each_run(const TokenExtents& n, const Work& work) {
  if (n.tokens == 0 || n.features == 0) return;  // the other extents may then be huge
  for (std::int64_t b = 0; b < n.batch; ++b) {
    for (std::int64_t t = 0; t < n.tokens; ++t) {
      for (std::int64_t f = 0; f < n.features; f += run_features) {
        work(RunIndex{b, t, f, std::min(run_features, n.features - f)});
      }
    }
  }
}

ElementRun run_of(const TokensView& view, const RunIndex& at) {
  return run_of(view, at.batch, at.token, at.feature, at.count);
}

ConstElementRun run_of(const ConstTokensView& view, const RunIndex& at) {
  return run_of(view, at.batch, at.token, at.feature, at.count);
}

// The features of a run, in a token's row of the table. Requires checked indices.
ConstElementRun run_of(const Lookup& lookup, const RunIndex& at) {
  const std::int64_t row = row_of(lookup.rows, at.batch, at.token);
  return run_of(tokens_view(lookup.table), 0, row, at.feature, at.count);
}

bool share_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::less<> before;  // valid for pointers into different arrays
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) &&
         before(b.data(), a.data() + a.size());
}

}  // namespace

Status add_learned(TokensView dst, ConstTokensView src, const Lookup& lookup) noexcept {
  return guarded([&]() -> Status {
    if (auto status = check_transfer(dst, src); !status) return status;
    if (auto status = check_lookup("", lookup, dst); !status) return status;
    for_each_run(dst.extents, [&](const RunIndex& at) {
      add_runs(run_of(src, at), run_of(lookup, at), run_of(dst, at));
    });
    return {};
  });
}

Status sum_embeddings(TokensView dst, std::span<const Lookup> lookups) noexcept {
  return guarded([&]() -> Status {
    if (auto status = check_transfer(dst, dst); !status) return status;
    for (std::size_t i = 0; i < lookups.size(); ++i) {
      if (check_lookup("", lookups[i], dst)) continue;
      // Repeats the failed check to name the lookup. Valid calls thus allocate no name.
      return check_lookup(message("lookups[", i, "]: "), lookups[i], dst);
    }
    for_each_run(dst.extents, [&](const RunIndex& at) {
      RunValues sum{};
      if (!lookups.empty()) load_run(run_of(lookups[0], at), sum.data());
      for (std::size_t i = 1; i < lookups.size(); ++i) add_to_values(run_of(lookups[i], at), sum);
      store_run(sum.data(), run_of(dst, at));
    });
    return {};
  });
}

Status add_table_gradient(TableView gradient, const TableRows& rows,
                          ConstTokensView upstream) noexcept {
  return guarded([&]() -> Status {
    if (auto status = check_gradient(gradient, upstream); !status) return status;
    if (auto status = check_indices("", rows, upstream.extents, gradient.rows); !status) {
      return status;
    }
    if (auto status = check_apart({{"gradient"}, heads_view(gradient)}, "", rows.indices);
        !status) {
      return status;
    }
    const TokensView table = tokens_view(gradient);
    for_each_run(upstream.extents, [&](const RunIndex& at) {
      const std::int64_t row = row_of(rows, at.batch, at.token);
      if (row == rows.padding_row) return;
      RunValues more;
      load_run(run_of(upstream, at), more.data());
      add_to_run(more.data(), run_of(table, 0, row, at.feature, at.count));
    });
    return {};
  });
}

Status positions_from_mask(std::span<std::int64_t> positions, std::span<const std::uint8_t> mask,
                           std::int64_t batch) noexcept {
  return guarded([&]() -> Status {
    if (positions.size() != mask.size()) {
      return invalid_argument("positions and mask must have the same size, got ", positions.size(),
                              " and ", mask.size());
    }
    if (share_bytes(std::as_bytes(positions), std::as_bytes(mask))) {
      return invalid_argument("positions and mask must share no byte, got ", mask.size(),
                              " elements of each that overlap");
    }
    const auto count = static_cast<std::int64_t>(mask.size());
    if (batch < 0 || (batch == 0 ? count != 0 : count % batch != 0)) {
      return invalid_argument("mask must be [batch, tokens], got ", count, " elements for batch ",
                              batch);
    }
    for (std::size_t i = 0; i < mask.size(); ++i) {
      if (mask[i] <= 1) continue;
      return invalid_argument("mask must be 0 or 1, got ", static_cast<int>(mask[i]),
                              " for element ", i);
    }
    const std::size_t tokens = batch == 0 ? 0 : mask.size() / static_cast<std::size_t>(batch);
    for (std::size_t row = 0; row < mask.size(); row += tokens) {
      std::int64_t next = 0;
      for (std::size_t i = row; i < row + tokens; ++i) positions[i] = mask[i] == 1 ? next++ : -1;
    }
    return {};
  });
}

}  // namespace rotary
