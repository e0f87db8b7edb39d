// SPDX-License-Identifier: Apache-2.0
// The position encodings that `rotary bench attention` times. Their parameters resemble those of
// trained models. "none" (the baseline) and "int8" (a cache in 8 bits) encode no positions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "rotary/relative_bias.hpp"

namespace rotary::bench {

struct BiasSetting {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::span<const float> numbers;  // [t5_buckets * heads], to fill a table
};

inline constexpr std::int64_t t5_buckets = 32;

enum class Turns { none, queries_and_keys };

// Shaw's vectors cover distances up to shaw_clip on both sides.
inline constexpr std::int64_t shaw_clip = 128;

enum class ShawParts { none, keys, keys_and_values };

// How keys and values are stored: in the dtype of the shape, or in 8 bits with scales.
enum class Storage { of_dtype, int8 };

// The most time relative to attention without encoding, for prefills of at least this many tokens.
struct RatioGoal {
  std::int64_t tokens;
  double most;
};

struct BenchEncoding {
  std::string_view name;  // the argument of --encodings
  Turns turns = Turns::none;
  RelativeBias (*bias)(const BiasSetting& setting) = nullptr;  // nullptr: no bias
  ShawParts shaw = ShawParts::none;
  std::span<const RatioGoal> goals = {};  // sorted by tokens
  Storage storage = Storage::of_dtype;
};

// The first is "none", the baseline for the times of all others.
[[nodiscard]] std::span<const BenchEncoding> bench_encodings();

}  // namespace rotary::bench
