// SPDX-License-Identifier: Apache-2.0
// Which tensors of a checkpoint hold rows of queries and keys, and how the rows of one head follow
// one another in them. The names are those of the models' own code; each fused order names it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cli/json.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli {

// Heads of attention, which a fused tensor does not say.
struct HeadCounts {
  std::optional<std::int64_t> query;
  std::optional<std::int64_t> key;  // num_key_value_heads
};

// --heads and --kv-heads, else what the config says under any of the names in use.
[[nodiscard]] HeadCounts head_counts(const SortedJson& config, HeadCounts asked);

// One model's checkpoint.
struct Checkpoint {
  ModelSpec model;
  SortedJson config;  // the object that model was read from
  HeadCounts heads;
};

// A tensor of any kind.
struct NamedShape {
  std::string_view name;
  std::span<const std::uint64_t> shape;
};

// Rows behind one another: heads whose rows move, or rows that stay, as one head that does not
// rotate.
struct RowGroup {
  std::int64_t heads = 1;
  std::int64_t rows = 0;  // of each
  // Features of a head in front of those that the embedding knows (MLA), and the embedding; none:
  // the rows stay.
  std::int64_t first_row = 0;
  const RotarySpec* spec = nullptr;
};

// All rows of a tensor: the groups in their order, repeated `times` times. However many rows
// there are, this is small.
struct TensorRows {
  std::vector<RowGroup> groups;
  std::int64_t times = 1;

  [[nodiscard]] std::int64_t count() const noexcept {
    std::int64_t rows = 0;
    for (const RowGroup& group : groups) rows += group.heads * group.rows;
    return times * rows;
  }
};

// No groups unless it is a tensor of queries or keys. Failure, with name and reason, if the groups
// are unknown.
[[nodiscard]] TensorRows tensor_rows(const Checkpoint& checkpoint, const NamedShape& tensor);

}  // namespace rotary::cli
