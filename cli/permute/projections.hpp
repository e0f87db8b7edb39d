// SPDX-License-Identifier: Apache-2.0
// Finds the tensors of queries and keys by names in models' code, and the order of their rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "apps/json.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli {

// The numbers of attention heads. The shape of a fused tensor does not determine them.
struct HeadCounts {
  std::optional<std::int64_t> query;
  std::optional<std::int64_t> key;  // num_key_value_heads
};

// --heads and --kv-heads, else the config's values under any known name.
[[nodiscard]] HeadCounts head_counts(const SortedJson& config, HeadCounts asked);

struct Checkpoint {
  ModelSpec model;
  SortedJson config;  // the object from which model was read
  HeadCounts heads;
};

struct NamedShape {
  std::string_view name;
  std::span<const std::uint64_t> shape;
};

// Adjacent rows: heads whose rows are reordered, or unchanged rows, which count as one head.
struct RowGroup {
  std::int64_t heads = 1;
  std::int64_t rows = 0;  // rows of each head
  // first_row: the features of a head before the embedding's features (MLA). spec: the embedding;
  // without one, rows stay unchanged.
  std::int64_t first_row = 0;
  const RotarySpec* spec = nullptr;
};

// All rows of a tensor: the groups in order, repeated `times` times. Small for any number of rows.
struct TensorRows {
  std::vector<RowGroup> groups;
  std::int64_t times = 1;

  [[nodiscard]] std::int64_t count() const noexcept {
    std::int64_t rows = 0;
    for (const RowGroup& group : groups) rows += group.heads * group.rows;
    return times * rows;
  }
};

// No groups if the tensor holds neither queries nor keys. Fails, with the tensor's name, if the
// order of its rows is unknown.
[[nodiscard]] TensorRows tensor_rows(const Checkpoint& checkpoint, const NamedShape& tensor);

}  // namespace rotary::cli
