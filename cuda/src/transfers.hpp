// SPDX-License-Identifier: Apache-2.0
// Checks the tensors of a call and launches its kernels.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "job.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/tensor_view.hpp"
#include "tensor/heads_views.hpp"

namespace rotary::cuda {

// Heads to read from src and write to dst. In place, src and dst are the same view.
struct Transfer {
  std::string_view src_name;
  ConstHeadsView src;
  std::string_view dst_name;
  HeadsView dst;
  bool turns = true;
  bool stored = false;  // dst is a cache
  std::optional<KeyNorm> norm = {};
};

struct Tokens {
  std::int64_t batch;
  std::int64_t tokens;
};

// Other numbers that kernels read: positions, slots, cos or sin.
struct Read {
  std::string_view name;
  ConstHeadsView view = {};  // empty for consecutive positions or slots
};
template <class Numbers>  // Positions or Slots
[[nodiscard]] Read read_of(std::string_view name, const Numbers& numbers) {
  return {name, heads_view(numbers)};
}
using Reads = std::array<Read, 2>;

// Checks dtypes, extents, memory and norms. Written elements must be distinct and overlap nothing
// else. rows: batch and tokens of the positions; a batch of 1 is used for every batch row.
[[nodiscard]] Status check(std::span<const Transfer> transfers, const HeadWindow& window,
                           const Tokens& rows, const Reads& reads);

struct Launching {
  Rows rows;
  Window window;
  Reads reads;
  std::optional<Slots> slots = {};
  void* stream = nullptr;
};

// Plans all kernels for checked transfers, one for each pair of dtypes, then launches them.
[[nodiscard]] Status launch(std::span<const Transfer> transfers, const Launching& how);

}  // namespace rotary::cuda
