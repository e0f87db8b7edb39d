// SPDX-License-Identifier: Apache-2.0
// Random inputs for tests of attention kernels: queries, keys, values, limits and biases.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/attend/attend_kernels.hpp"
#include "kernels/kernels.hpp"
#include "runtime/active_kernels.hpp"
#include "runtime/of_dtype.hpp"
#include "support/elements.hpp"
#include "support/random.hpp"
#include "support/result.hpp"

namespace rotary::kernels {

using test::Random;

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();
inline constexpr double u = 0x1p-24;

inline const KernelTable& table() { return *test::value_of(active_kernels()); }

// `count` aligned floats, with guards on both sides.
class Floats {
 public:
  explicit Floats(std::int64_t count, float value = 0)
      : count_(static_cast<std::size_t>(count)), room_(count_ + 3 * guards, guard) {
    const auto address = reinterpret_cast<std::uintptr_t>(room_.data()) + 4 * guards;
    first_ = guards + (attend_alignment - address % attend_alignment) % attend_alignment / 4;
    std::fill_n(data(), count, value);
  }
  float* data() { return room_.data() + first_; }
  [[nodiscard]] const float* data() const { return room_.data() + first_; }
  [[nodiscard]] bool is_intact() const {
    const auto is_guard = [](float each) { return each == guard; };
    const auto begin = room_.begin();
    const auto first = static_cast<std::ptrdiff_t>(first_);
    return std::all_of(begin, begin + first, is_guard) &&
           std::all_of(begin + first + static_cast<std::ptrdiff_t>(count_), room_.end(), is_guard);
  }

 private:
  static constexpr std::size_t guards = 16;
  static constexpr float guard = 0x1.23456p77F;
  std::size_t count_;
  std::vector<float> room_;
  std::size_t first_;
};

inline const AttendTypeKernels& kernels_of(DType dtype) {
  return of_dtype(table().attend->types, dtype);
}

// The layout of keys and values in memory.
struct Lying {
  std::int64_t block_keys = 1;
  std::int64_t padding = 0;  // elements between heads
};

// Heads in memory, and their elements in double. A block's memory ends with its last head, so
// sanitizers see reads beyond it.
struct PlacedHeads {
  PlacedHeads(DType type, std::int64_t heads, std::int64_t features, const Lying& lying,
              Random& random)
      : dtype(type), stride(features + lying.padding) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t place = h % lying.block_keys;
      if (place == 0) {
        const std::int64_t count = std::min(lying.block_keys, heads - h);
        bytes.push_back(std::make_unique<std::byte[]>(
            static_cast<std::size_t>(size_in_bytes(dtype) * ((count - 1) * stride + features))));
        blocks.push_back(bytes.back().get());
      }
      pointers.push_back(bytes.back().get() + size_in_bytes(dtype) * place * stride);
      values.emplace_back(static_cast<std::size_t>(features));
      for (std::int64_t f = 0; f < features; ++f) put(h, f, random.activation() / 2);
    }
  }
  void put(std::int64_t head, std::int64_t feature, float value) {
    const auto h = static_cast<std::size_t>(head);
    auto* const first = static_cast<std::byte*>(const_cast<void*>(pointers[h]));
    values[h][static_cast<std::size_t>(feature)] =
        test::store(dtype, first + size_in_bytes(dtype) * feature, value);
  }
  // Makes this head's elements NaN and infinite.
  void poison(std::int64_t head) {
    const auto features = static_cast<std::int64_t>(values[static_cast<std::size_t>(head)].size());
    for (std::int64_t f = 0; f < features; ++f) put(head, f, f % 2 == 0 ? nan : infinity);
  }

  DType dtype;
  std::int64_t stride;
  std::vector<std::unique_ptr<std::byte[]>> bytes;
  std::vector<const void*> blocks;
  std::vector<const void*> pointers;
  std::vector<std::vector<double>> values;
};

enum class Limits { causal, bidirectional, window, padding, packed, any, none };
enum class BiasKind { none, toeplitz, clipped, dense, with_minus_infinity };
inline constexpr std::array all_limits = {Limits::causal,  Limits::bidirectional, Limits::window,
                                          Limits::padding, Limits::packed,        Limits::any,
                                          Limits::none};
inline constexpr std::array bias_kinds = {BiasKind::none, BiasKind::toeplitz, BiasKind::clipped,
                                          BiasKind::dense, BiasKind::with_minus_infinity};

// Kernels sum weights by distance, from 7 keys before the query to 12 after it. Farther keys count
// as the first or last distance.
inline constexpr std::int64_t places = 20;

struct Sizes {
  DType dtype;
  std::int64_t rows;
  std::int64_t keys;
  std::int64_t head_dim;
  std::int64_t features;
  Lying lying;
};

struct Problem {
  Problem(const Sizes& n, Limits kind, BiasKind bias, std::uint64_t seed)
      : size(n),
        random(seed),
        q(n.dtype, n.rows, n.head_dim, {}, random),
        k(n.dtype, n.keys, n.head_dim, n.lying, random),
        v(n.dtype, n.keys, n.features, n.lying, random) {
    for (std::int64_t r = 0; r < n.rows; ++r) {
      scales.push_back(static_cast<float>(1.5 / std::sqrt(static_cast<double>(n.head_dim))) *
                       (r % 3 == 0 ? 0.7F : 1.0F));
      limits.push_back(limits_of(kind, r));
    }
    make_bias(bias);
  }

  RowLimits limits_of(Limits kind, std::int64_t r) {
    const std::int64_t query = size.keys - size.rows + r;  // the query's index among the keys
    RowLimits row{.first_key = 0,
                  .end_key = size.keys,
                  .bias = nullptr,
                  .bias_of_key_0 = 0,
                  .bias_count = 0,
                  .place_of_key_0 = 7 - query};
    if (kind == Limits::causal || kind == Limits::window) row.end_key = query + 1;
    if (kind == Limits::window) row.first_key = query - 37;
    if (kind == Limits::padding) row.first_key = size.keys / 3;
    if (kind == Limits::packed) {
      const std::int64_t border = size.keys / 2 + 1;
      (r < size.rows / 2 ? row.end_key : row.first_key) = border;
    }
    if (kind == Limits::any) {
      row.first_key = random.integer(-3, size.keys + 3);
      row.end_key = random.integer(-3, size.keys + 3);
    }
    if (kind == Limits::none) row.end_key = r % 2 == 0 ? 0 : -(std::int64_t{1} << 62);
    return row;
  }

  void make_bias(BiasKind bias) {
    if (bias == BiasKind::none) return;
    const bool dense = bias == BiasKind::dense || bias == BiasKind::with_minus_infinity;
    const std::int64_t distances = bias == BiasKind::clipped ? 41 : size.keys + size.rows;
    const std::int64_t count = distances + 2 * keys_of_panel;
    for (std::int64_t r = 0; r < (dense ? size.rows : 1); ++r) {
      std::vector<float> entries(static_cast<std::size_t>(count), nan);
      for (auto i = keys_of_panel; i < count - keys_of_panel; ++i) {
        const bool is_masked = bias == BiasKind::with_minus_infinity && random.unit() < 0.3;
        entries[static_cast<std::size_t>(i)] = is_masked ? -infinity : random.activation();
      }
      if (bias == BiasKind::clipped) {
        std::fill_n(entries.begin(), keys_of_panel, 1.25F);
        std::fill_n(entries.end() - keys_of_panel, keys_of_panel, -0.75F);
      }
      tables.push_back(entries);
    }
    for (std::int64_t r = 0; r < size.rows; ++r) {
      auto& row = limits[static_cast<std::size_t>(r)];
      const auto& entries = tables[dense ? static_cast<std::size_t>(r) : 0];
      row.bias = entries.data();
      row.bias_count = count;
      row.bias_of_key_0 = keys_of_panel;
      if (bias == BiasKind::toeplitz) row.bias_of_key_0 += size.rows - r - 1;
      if (bias == BiasKind::clipped) row.bias_of_key_0 += 20 - (size.keys - size.rows + r);
    }
  }

  void turn_by_random_angles() {
    const std::int64_t pairs = size.head_dim / 2;
    const std::int64_t lanes = rounded_up(pairs, lane_multiple);
    rows_of_turns.assign(static_cast<std::size_t>((size.keys + size.rows) * 2 * lanes), nan);
    for (std::int64_t t = 0; t < size.keys + size.rows; ++t) {
      for (std::int64_t i = 0; i < pairs; ++i) {
        const double angle = 7 * random.unit();
        rows_of_turns[static_cast<std::size_t>(2 * t * lanes + i)] =
            static_cast<float>(std::cos(angle));
        rows_of_turns[static_cast<std::size_t>((2 * t + 1) * lanes + i)] =
            static_cast<float>(std::sin(angle));
      }
    }
    of_keys = {.order = size.rows % 2 == 0 ? PairOrder::half : PairOrder::interleaved,
               .rows = rows_of_turns.data(),
               .row_stride = 2 * lanes,
               .lane_stride = lanes,
               .first_feature = size.head_dim % 2,
               .pairs = pairs};
    of_queries = of_keys;
    of_queries.rows += size.keys * 2 * lanes;
    turn(k, of_keys);
    turn(q, of_queries);
  }

  // Rotates only `values`, since the kernels rotate the elements in memory.
  static void turn(PlacedHeads& tensor, const HeadRotation& rotation) {
    for (std::size_t h = 0; h < tensor.values.size(); ++h) {
      const float* const cos = rotation.rows + static_cast<std::int64_t>(h) * rotation.row_stride;
      for (std::int64_t i = 0; i < rotation.pairs; ++i) {
        const double c = cos[i];
        const double s = cos[rotation.lane_stride + i];
        const bool half = rotation.order == PairOrder::half;
        const std::int64_t of_x = rotation.first_feature + (half ? i : 2 * i);
        const std::int64_t of_y = of_x + (half ? rotation.pairs : 1);
        double& x = tensor.values[h][static_cast<std::size_t>(of_x)];
        double& y = tensor.values[h][static_cast<std::size_t>(of_y)];
        const double turned = x * c - y * s;
        y = x * s + y * c;
        x = turned;
      }
    }
  }

  // Makes keys that no row sees, and their values, NaN and infinite.
  void poison() {
    for (std::int64_t j = 0; j < size.keys; ++j) {
      const auto attends = [j](const RowLimits& row) {
        return row.first_key <= j && j < row.end_key;
      };
      if (std::any_of(limits.begin(), limits.end(), attends)) continue;
      k.poison(j);
      v.poison(j);
    }
  }
  Sizes size;
  Random random;
  PlacedHeads q, k, v;
  std::vector<float> scales;
  std::vector<RowLimits> limits;
  std::vector<std::vector<float>> tables;
  std::vector<float> rows_of_turns;
  HeadRotation of_keys, of_queries;
};

}  // namespace rotary::kernels
