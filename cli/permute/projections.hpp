// SPDX-License-Identifier: Apache-2.0
// Finds tensors with rows of queries and keys by the names of models' own code, and their order.
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

// Adjacent rows: heads whose rows move, or rows that stay as one head.
struct RowGroup {
  std::int64_t heads = 1;
  std::int64_t rows = 0;  // of each
  // Features of a head before those of the embedding (MLA), and the embedding; none: rows stay.
  std::int64_t first_row = 0;
  const RotarySpec* spec = nullptr;
};

// All rows of a tensor: the groups in order, `times` times; small for any number of rows.
struct TensorRows {
  std::vector<RowGroup> groups;
  std::int64_t times = 1;

  [[nodiscard]] std::int64_t count() const noexcept {
    std::int64_t rows = 0;
    for (const RowGroup& group : groups) rows += group.heads * group.rows;
    return times * rows;
  }
};

// No groups unless it is of queries or keys. Failure, with its name, if they are unknown.
[[nodiscard]] TensorRows tensor_rows(const Checkpoint& checkpoint, const NamedShape& tensor);

}  // namespace rotary::cli
