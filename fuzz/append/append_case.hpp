// SPDX-License-Identifier: Apache-2.0
// A cache, the heads to store in it and their slots, decoded from an input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fuzz/bytes.hpp"
#include "fuzz/noise.hpp"
#include "fuzz/numbers_case.hpp"
#include "fuzz/quantized_heads.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/rotations.hpp"

namespace rotary::fuzz {

// How to make the rows that rotate keys.
struct AppendRotations {
  HeadWindow window;
  std::int64_t spec_kind = 0;  // for frequencies_of
  bool moved = false;          // made by make_shift: one row for all tokens
  RotationsOptions options = {};
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
  std::int64_t first_position = 0;
};

struct AppendCase {
  std::optional<AppendRotations> rotations = {};
  KvCache cache = {};
  std::optional<QuantizedKvCache> quantized = {};  // instead of cache
  KvHeads heads = {};
  NumbersCase slots = {};
  std::vector<long double> slot_numbers = {};  // written to the slots
  std::optional<KeyNorm> k_norm = {};
  bool has_executor = false;
  std::uint64_t seed = 0;
  Noise noise = Noise::activations;
};

// Returns nullopt if a view that append may accept would leave the buffer.
[[nodiscard]] std::optional<AppendCase> decode_append(Bytes& input, std::span<std::byte> buffer);

// The extents of the cache that the call uses.
[[nodiscard]] const Extents& cache_extents(const AppendCase& append);

struct AppendViews {
  std::vector<Strided> written;
  std::vector<Strided> read;
};
[[nodiscard]] AppendViews views_of(const AppendCase& append);

}  // namespace rotary::fuzz
