// SPDX-License-Identifier: Apache-2.0
// The tensors of a call: what is checked of them, and what a launch does with them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "job.hpp"
#include "rotary/head_norm.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::cuda {

// Heads on their way from src to dst, which are one view in place.
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

// Checks dtypes, extents, memory, norms, and that what is written is distinct and apart from all
// else. `rows` says the tokens of the positions; a batch of 1 serves every batch row.
[[nodiscard]] Status check(std::span<const Transfer> transfers, const HeadWindow& window,
                           const Tokens& rows);

// Checks slots of this many tokens in a cache with these extents.
[[nodiscard]] Status check(const Slots& slots, const Tokens& tokens, const Extents& cache);

struct Launching {
  Rows rows;
  Window window;
  std::optional<Slots> slots = {};
  void* stream = nullptr;
};

// Launches what was checked: a kernel, or one for each pair of dtypes.
[[nodiscard]] Status launch(std::span<const Transfer> transfers, const Launching& how);

}  // namespace rotary::cuda
