// SPDX-License-Identifier: Apache-2.0
// The tensors of a call: what is checked of them, and what a launch does with them.
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

// Heads that go from src to dst; in place both are one view.
struct Transfer {
  std::string_view src_name;
  ConstHeadsView src;
  std::string_view dst_name;
  HeadsView dst;
  bool turns = true;
  bool stored = false;  // dst is a cache
  std::optional<KeyNorm> norm = {};
};

// Batch and tokens of a call.
struct Tokens {
  std::int64_t batch;
  std::int64_t tokens;
};

// Numbers that kernels read beside heads: positions, slots, cos or sin.
struct Read {
  std::string_view name;
  ConstHeadsView view = {};  // of consecutive positions or slots: nothing
};
template <class Numbers>  // Positions or Slots
[[nodiscard]] Read read_of(std::string_view name, const Numbers& numbers) {
  return {name, heads_view(numbers)};
}
using Reads = std::array<Read, 2>;

// Checks dtypes, extents, memory, norms, and that what is written is distinct and apart from all
// else. `rows` says the tokens of the positions; a batch of 1 serves every batch row.
[[nodiscard]] Status check(std::span<const Transfer> transfers, const HeadWindow& window,
                           const Tokens& rows, const Reads& reads);

struct Launching {
  Rows rows;
  Window window;
  Reads reads;
  std::optional<Slots> slots = {};
  void* stream = nullptr;
};

// Plans all kernels of what was checked, one for each pair of dtypes, then launches them.
[[nodiscard]] Status launch(std::span<const Transfer> transfers, const Launching& how);

}  // namespace rotary::cuda
