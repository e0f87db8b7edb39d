// SPDX-License-Identifier: Apache-2.0
// The kernels of attention against plain loops in double: every shape of limits and bias, dtypes,
// sizes that are no multiple of anything, both ways through the keys; bits that do not depend on
// how rows and keys are cut; keys beyond a row's limits that are NaN; guards around all that is
// written.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/attend_kernels.hpp"
#include "kernels/kernels.hpp"
#include "rotation/active_kernels.hpp"
#include "support/bfloat16.hpp"
#include "support/binary16.hpp"
#include "support/random.hpp"
#include "support/result.hpp"

namespace rotary::kernels {
namespace {

using test::Random;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr double u = 0x1p-24;

const KernelTable& table() { return *test::value_of(active_kernels()); }

// Exactly so many aligned floats, with guards around them.
class Floats {
 public:
  explicit Floats(std::int64_t count, float value = 0)
      : count_(static_cast<std::size_t>(count)), room_(count_ + 3 * guards, guard) {
    const auto address = reinterpret_cast<std::uintptr_t>(room_.data()) + 4 * guards;
    first_ = guards + (attend_alignment - address % attend_alignment) % attend_alignment / 4;
    std::fill_n(data(), count, value);
  }
  float* data() { return room_.data() + first_; }
  const float* data() const { return room_.data() + first_; }
  bool is_intact() const {
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

enum class Type { f32, bf16, f16 };
constexpr std::array types = {Type::f32, Type::bf16, Type::f16};

const AttendTypeKernels& kernels_of(Type type) {
  const AttendKernels& all = *table().attend;
  return type == Type::f32 ? all.f32 : type == Type::bf16 ? all.bf16 : all.f16;
}

// Heads in memory of their own, so that a sanitizer sees each byte beyond, and their values.
struct Tensor {
  Tensor(Type type, std::int64_t heads, std::int64_t features, Random& random) {
    for (std::int64_t h = 0; h < heads; ++h) {
      std::vector<double> of_head;
      const std::size_t size = type == Type::f32 ? 4 : 2;
      bytes.push_back(std::make_unique<std::byte[]>(size * static_cast<std::size_t>(features)));
      pointers.push_back(bytes.back().get());
      for (std::int64_t f = 0; f < features; ++f) {
        of_head.push_back(put(type, bytes.back().get() + size * static_cast<std::size_t>(f),
                              random.activation() / 2));
      }
      values.push_back(of_head);
    }
  }
  static double put(Type type, std::byte* to, float value) {
    if (type == Type::f32) {
      std::memcpy(to, &value, 4);
      return value;
    }
    const std::uint16_t bits =
        type == Type::bf16 ? test::to_bfloat16(value) : test::to_binary16(value);
    std::memcpy(to, &bits, 2);
    return type == Type::bf16 ? test::from_bfloat16(bits) : test::from_binary16(bits);
  }
  std::vector<std::unique_ptr<std::byte[]>> bytes;
  std::vector<const void*> pointers;
  std::vector<std::vector<double>> values;
};

enum class Shape { causal, bidirectional, window, padding, packed, any, none };
enum class Bias { none, toeplitz, clipped, dense, with_minus_infinity };
constexpr std::array shapes = {Shape::causal, Shape::bidirectional, Shape::window, Shape::padding,
                               Shape::packed, Shape::any,           Shape::none};
constexpr std::array biases = {Bias::none, Bias::toeplitz, Bias::clipped, Bias::dense,
                               Bias::with_minus_infinity};

struct Sizes {
  Type type;
  std::int64_t rows;
  std::int64_t keys;
  std::int64_t head_dim;
  std::int64_t features;
};

struct Problem {
  Problem(const Sizes& n, Shape shape, Bias bias, std::uint64_t seed)
      : size(n),
        random(seed),
        q(n.type, n.rows, n.head_dim, random),
        k(n.type, n.keys, n.head_dim, random),
        v(n.type, n.keys, n.features, random) {
    for (std::int64_t r = 0; r < n.rows; ++r) {
      scales.push_back(static_cast<float>(1.5 / std::sqrt(static_cast<double>(n.head_dim))) *
                       (r % 3 == 0 ? 0.7F : 1.0F));
      limits.push_back(limits_of(shape, r));
    }
    make_bias(bias);
  }

  RowLimits limits_of(Shape shape, std::int64_t r) {
    const std::int64_t query = size.keys - size.rows + r;  // the place of a query among keys
    RowLimits row{
        .first_key = 0, .end_key = size.keys, .bias = nullptr, .bias_of_key_0 = 0, .bias_count = 0};
    if (shape == Shape::causal || shape == Shape::window) row.end_key = query + 1;
    if (shape == Shape::window) row.first_key = query - 37;
    if (shape == Shape::padding) row.first_key = size.keys / 3;
    if (shape == Shape::packed) {
      const std::int64_t border = size.keys / 2 + 1;
      (r < size.rows / 2 ? row.end_key : row.first_key) = border;
    }
    if (shape == Shape::any) {
      row.first_key = random.integer(-3, size.keys + 3);
      row.end_key = random.integer(-3, size.keys + 3);
    }
    if (shape == Shape::none) row.end_key = r % 2 == 0 ? 0 : -(std::int64_t{1} << 62);
    return row;
  }

  void make_bias(Bias bias) {
    if (bias == Bias::none) return;
    const bool dense = bias == Bias::dense || bias == Bias::with_minus_infinity;
    const std::int64_t distances = bias == Bias::clipped ? 41 : size.keys + size.rows;
    const std::int64_t count = distances + 2 * keys_of_panel;
    for (std::int64_t r = 0; r < (dense ? size.rows : 1); ++r) {
      std::vector<float> entries(static_cast<std::size_t>(count), nan);
      for (auto i = keys_of_panel; i < count - keys_of_panel; ++i) {
        const bool is_masked = bias == Bias::with_minus_infinity && random.unit() < 0.3;
        entries[static_cast<std::size_t>(i)] = is_masked ? -infinity : random.activation();
      }
      if (bias == Bias::clipped) {
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
      if (bias == Bias::toeplitz) row.bias_of_key_0 += size.rows - r - 1;
      if (bias == Bias::clipped) row.bias_of_key_0 += 20 - (size.keys - size.rows + r);
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
    of_keys = {.rotate = table().rotate_half.f32,
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

  // The values alone: what is in memory is turned by the kernels.
  void turn(Tensor& tensor, const HeadRotation& rotation) const {
    for (std::size_t h = 0; h < tensor.values.size(); ++h) {
      const float* const cos = rotation.rows + static_cast<std::int64_t>(h) * rotation.row_stride;
      for (std::int64_t i = 0; i < rotation.pairs; ++i) {
        const double c = cos[i];
        const double s = cos[rotation.lane_stride + i];
        const auto at = static_cast<std::size_t>(rotation.first_feature + i);
        double& x = tensor.values[h][at];
        double& y = tensor.values[h][at + static_cast<std::size_t>(rotation.pairs)];
        const double turned = x * c - y * s;
        y = x * s + y * c;
        x = turned;
      }
    }
  }

  Sizes size;
  Random random;
  Tensor q, k, v;
  std::vector<float> scales;
  std::vector<RowLimits> limits;
  std::vector<std::vector<float>> tables;
  std::vector<float> rows_of_turns;
  HeadRotation of_keys, of_queries;
};

struct State {
  State(std::int64_t row_count, std::int64_t feature_count)
      : rows(row_count),
        features(feature_count),
        max(rows, -infinity),
        sum(rows),
        sums(rows * padded_features(features)) {}
  SoftmaxState view(std::int64_t row = 0) {
    return {max.data() + row, sum.data() + row, sums.data() + row * padded_features(features)};
  }
  bool operator==(const State& other) const {
    const auto same = [](const Floats& a, const Floats& b, std::int64_t count) {
      return std::memcmp(a.data(), b.data(), static_cast<std::size_t>(4 * count)) == 0;
    };
    return same(max, other.max, rows) && same(sum, other.sum, rows) &&
           same(sums, other.sums, rows * padded_features(features));
  }
  bool is_intact() const { return max.is_intact() && sum.is_intact() && sums.is_intact(); }
  std::int64_t rows, features;
  Floats max, sum, sums;
};

// How a call is cut: rows of a call, and keys of a call, a multiple of keys_of_tile.
struct Cut {
  std::int64_t rows = 1000;
  std::int64_t keys = 1024;
};

struct Queries {
  Queries(const Problem& problem, std::int64_t first, std::int64_t rows)
      : loaded(loaded_queries_size(rows, problem.size.head_dim)),
        packed(packed_queries_size(rows, problem.size.head_dim)) {
    HeadRotation rotation = problem.of_queries;
    rotation.rows += first * rotation.row_stride;
    kernels_of(problem.size.type)
        .load_queries({.heads = problem.q.pointers.data() + first,
                       .rows = rows,
                       .head_dim = problem.size.head_dim,
                       .rotation = rotation,
                       .scales = problem.scales.data() + first,
                       .loaded = loaded.data(),
                       .packed = packed.data()});
    EXPECT_TRUE(loaded.is_intact() && packed.is_intact());
  }
  Floats loaded, packed;
};

State accumulated(const Problem& problem, const Cut& cut) {
  const Sizes& n = problem.size;
  const AttendTypeKernels& kernels = kernels_of(n.type);
  State state(n.rows, n.features);
  for (std::int64_t key = 0; key < n.keys; key += cut.keys) {
    const std::int64_t count = std::min(cut.keys, n.keys - key);
    Floats keys(packed_keys_size(count, n.head_dim), nan);
    Floats values(packed_values_size(count, n.features), nan);
    Floats room(pack_scratch_size(std::max(n.head_dim, n.features)), nan);
    for (std::int64_t at = 0; at < count; at += 96) {
      HeadRotation rotation = problem.of_keys;
      rotation.rows += (key + at) * rotation.row_stride;
      PackJob job{.heads = problem.k.pointers.data() + key + at,
                  .first = at,
                  .count = std::min<std::int64_t>(96, count - at),
                  .features = n.head_dim,
                  .rotation = rotation,
                  .packed = keys.data(),
                  .scratch = room.data()};
      kernels.pack_keys(job);
      job.heads = problem.v.pointers.data() + key + at;
      job.features = n.features;
      job.rotation = {};
      job.packed = values.data();
      kernels.pack_values(job);
    }
    for (std::int64_t row = 0; row < n.rows; row += cut.rows) {
      const std::int64_t rows = std::min(cut.rows, n.rows - row);
      const Queries queries(problem, row, rows);
      Floats scratch(accumulate_scratch_size, nan);
      table().attend->accumulate({.queries = queries.packed.data(),
                                  .limits = problem.limits.data() + row,
                                  .rows = rows,
                                  .head_dim = n.head_dim,
                                  .features = n.features,
                                  .keys = keys.data(),
                                  .values = values.data(),
                                  .first_key = key,
                                  .count = count,
                                  .state = state.view(row),
                                  .scratch = scratch.data()});
      EXPECT_TRUE(scratch.is_intact());
    }
    EXPECT_TRUE(keys.is_intact() && values.is_intact() && room.is_intact() && state.is_intact());
  }
  return state;
}

State streamed(const Problem& problem, const Cut& cut) {
  const Sizes& n = problem.size;
  State state(n.rows, n.features);
  for (std::int64_t row = 0; row < n.rows; row += cut.rows) {
    const std::int64_t rows = std::min(cut.rows, n.rows - row);
    const Queries queries(problem, row, rows);
    Floats scratch(stream_scratch_size(rows, std::max(n.head_dim, n.features)), nan);
    for (std::int64_t key = 0; key < n.keys; key += cut.keys) {
      kernels_of(n.type).stream({.queries = queries.loaded.data(),
                                 .limits = problem.limits.data() + row,
                                 .rows = rows,
                                 .head_dim = n.head_dim,
                                 .features = n.features,
                                 .keys = problem.k.pointers.data() + key,
                                 .values = problem.v.pointers.data() + key,
                                 .first_key = key,
                                 .count = std::min(cut.keys, n.keys - key),
                                 .state = state.view(row),
                                 .scratch = scratch.data()});
    }
    EXPECT_TRUE(scratch.is_intact() && state.is_intact());
  }
  return state;
}

// One row in double, and how far float32 may be from it.
struct Expected {
  Expected(const Problem& problem, std::size_t row) {
    const Sizes& n = problem.size;
    const RowLimits& limits = problem.limits[row];
    const std::int64_t begin = std::clamp<std::int64_t>(limits.first_key, 0, n.keys);
    const std::int64_t end = std::clamp<std::int64_t>(limits.end_key, begin, n.keys);
    std::vector<double> scores;
    double error_of_scores = 0;
    for (std::int64_t j = begin; j < end; ++j) {
      double score = 0;
      if (limits.bias != nullptr) {
        score =
            limits
                .bias[std::clamp<std::int64_t>(limits.bias_of_key_0 + j, 0, limits.bias_count - 1)];
      }
      double magnitude = std::isinf(score) ? 0 : std::abs(score);
      for (std::size_t f = 0; f < static_cast<std::size_t>(n.head_dim); ++f) {
        const double product = static_cast<double>(problem.scales[row]) * problem.q.values[row][f] *
                               problem.k.values[static_cast<std::size_t>(j)][f];
        score += product;
        magnitude += std::abs(product);
      }
      scores.push_back(score);
      error_of_scores = std::max(error_of_scores, magnitude);
      max = std::max(max, score);
    }
    // A chain of head_dim roundings, the scale's, and that of subtracting the maximum; rotations,
    // each within 3 u of the pair's norm, meet in at most head_dim products.
    error_of_scores *= (static_cast<double>(n.head_dim) + 4) * u;
    if (problem.of_keys.rotate != nullptr) {
      error_of_scores += 6 * u * static_cast<double>(n.head_dim) * 8;
    }
    out.assign(static_cast<std::size_t>(n.features), 0.0);
    std::vector<double> absolute(out.size(), 0.0);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double weight = std::isinf(max) ? 0 : std::exp2(scores[i] - max);
      sum += weight;
      for (std::size_t f = 0; f < out.size(); ++f) {
        const double value = problem.v.values[static_cast<std::size_t>(begin) + i][f];
        out[f] += weight * value;
        absolute[f] += weight * std::abs(value);
      }
    }
    // 2^x and the subtraction before it: 2^-22.9 and |x| 2^x u ln 2 < u; then a chain of roundings
    // over all keys and changes of the maximum, for the values and for the sum that divides.
    const auto keys = static_cast<double>(scores.size());
    const double tiles = static_cast<double>(n.keys) / keys_of_tile + 2;
    relative =
        2 * (std::exp2(2 * error_of_scores) - 1) + 2 * 0x1p-22 + (2 * keys + 4 * tiles + 6) * u;
    for (std::size_t f = 0; f < out.size(); ++f) {
      out[f] = sum > 0 ? out[f] / sum : 0;
      bound.push_back(sum > 0 ? relative * absolute[f] / sum : 0);
    }
  }
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;
  double relative = 0;
  std::vector<double> out, bound;
};

void expect_expected(const Problem& problem, State state) {
  const Sizes& n = problem.size;
  std::vector<std::vector<float>> out(static_cast<std::size_t>(n.rows));
  std::vector<void*> heads;
  for (auto& head : out) {
    head.assign(static_cast<std::size_t>(n.features) + 1, nan);
    heads.push_back(head.data());
  }
  table().attend->f32.finish(
      {.state = state.view(), .rows = n.rows, .features = n.features, .heads = heads.data()});
  for (std::size_t r = 0; r < out.size(); ++r) {
    const Expected expected(problem, r);
    for (std::size_t f = 0; f < expected.out.size(); ++f) {
      ASSERT_NEAR(static_cast<double>(out[r][f]), expected.out[f], expected.bound[f])
          << "row " << r << " feature " << f;
    }
    ASSERT_TRUE(std::isnan(out[r].back()));
    const double max = static_cast<double>(state.max.data()[r]);
    const double sum = static_cast<double>(state.sum.data()[r]);
    if (std::isinf(expected.max)) {
      ASSERT_EQ(max, expected.max);
      ASSERT_EQ(sum, 0);
    } else {
      ASSERT_NEAR(max + std::log2(sum), expected.max + std::log2(expected.sum),
                  expected.relative + 2 * u * std::abs(max));
    }
  }
}

constexpr std::array<std::int64_t, 14> odd_sizes = {1,  2,  3,  5,  8,  15, 16,
                                                    17, 31, 48, 64, 72, 80, 130};

Sizes random_sizes(Random& random) {
  const auto any_size = [&] {
    return odd_sizes[static_cast<std::size_t>(random.integer(0, odd_sizes.size() - 1))];
  };
  return {.type = types[static_cast<std::size_t>(random.integer(0, 2))],
          .rows = random.integer(1, 30),
          .keys = random.integer(0, 2) == 0 ? random.integer(1, 40) : random.integer(200, 600),
          .head_dim = any_size(),
          .features = any_size()};
}

template <class Visit>
void for_each_problem(const Visit& visit) {
  Random random(7);
  for (const Shape shape : shapes) {
    for (const Bias bias : biases) {
      for (int repeat = 0; repeat < 2; ++repeat) {
        const Sizes n = random_sizes(random);
        SCOPED_TRACE("type " + std::to_string(static_cast<int>(n.type)) + " rows " +
                     std::to_string(n.rows) + " keys " + std::to_string(n.keys) + " head_dim " +
                     std::to_string(n.head_dim) + " features " + std::to_string(n.features) +
                     " shape " + std::to_string(static_cast<int>(shape)) + " bias " +
                     std::to_string(static_cast<int>(bias)));
        Problem problem(n, shape, bias, random.bits());
        visit(problem, random);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(AttendKernels, AccumulateIsAttention) {
  for_each_problem([](Problem& problem, Random& random) {
    if (random.integer(0, 1) == 0) problem.turn_by_random_angles();
    const State whole = accumulated(problem, {});
    expect_expected(problem, whole);
    const Cut cut{.rows = random.integer(1, problem.size.rows), .keys = keys_of_tile};
    EXPECT_TRUE(accumulated(problem, cut) == whole) << "bits depend on the cut";
  });
}

TEST(AttendKernels, StreamIsAttention) {
  for_each_problem([](Problem& problem, Random& random) {
    const State whole = streamed(problem, {});
    expect_expected(problem, whole);
    const Cut cut{.rows = random.integer(1, problem.size.rows), .keys = keys_of_tile};
    EXPECT_TRUE(streamed(problem, cut) == whole) << "bits depend on the cut";
  });
}

}  // namespace
}  // namespace rotary::kernels
