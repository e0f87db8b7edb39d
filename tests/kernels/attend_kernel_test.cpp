// SPDX-License-Identifier: Apache-2.0
// Compares attention kernels with plain loops in double: every kind of limits and bias, every
// dtype, odd sizes, and packed and streamed keys. Bits do not depend on how rows and keys are
// split. Keys beyond a row's limits are NaN; guards surround all written memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "check/attend_row.hpp"
#include "kernels/attend/attend_kernels.hpp"
#include "kernels/kernels.hpp"
#include "support/attention/kernel_problem.hpp"
#include "support/random.hpp"

namespace rotary::kernels {
namespace {

struct State {
  State(std::int64_t row_count, std::int64_t feature_count)
      : rows(row_count),
        features(feature_count),
        max(rows, -infinity),
        sum(rows),
        sums(rows * padded_features(features)),
        weights(rows * sums_of_weights_size(places)) {}
  SoftmaxState view(std::int64_t row = 0) {
    return {.max = max.data() + row,
            .sum = sum.data() + row,
            .sums_of_values = sums.data() + row * padded_features(features),
            .sums_of_weights = weights.data() + row * sums_of_weights_size(places),
            .places = places};
  }
  // Each place holds the weight of one distance. The margins belong to the first and last place.
  [[nodiscard]] double weight_at(std::int64_t row, std::int64_t place) const {
    double weight = 0;
    for (std::int64_t i = 0; i < sums_of_weights_size(places); ++i) {
      if (std::clamp<std::int64_t>(i - lane_multiple, 0, places - 1) != place) continue;
      weight += static_cast<double>(weights.data()[row * sums_of_weights_size(places) + i]);
    }
    return weight;
  }
  bool operator==(const State& other) const {
    const auto same = [](const Floats& a, const Floats& b, std::int64_t count) {
      return std::memcmp(a.data(), b.data(), static_cast<std::size_t>(4 * count)) == 0;
    };
    return same(max, other.max, rows) && same(sum, other.sum, rows) &&
           same(sums, other.sums, rows * padded_features(features)) &&
           same(weights, other.weights, rows * sums_of_weights_size(places));
  }
  [[nodiscard]] bool is_intact() const {
    return max.is_intact() && sum.is_intact() && sums.is_intact() && weights.is_intact();
  }
  std::int64_t rows, features;
  Floats max, sum, sums, weights;
};

// The size of one call: its rows, and its keys (a multiple of keys_of_tile).
struct Cut {
  std::int64_t rows = 1000;
  std::int64_t keys = 1024;
};

struct Queries {
  Queries(const Problem& problem, std::int64_t first, std::int64_t rows)
      : loaded(loaded_queries_size(rows, problem.size.head_dim)),
        packed(packed_queries_size(rows, problem.size.head_dim), nan) {
    HeadRotation rotation = problem.of_queries;
    rotation.rows += first * rotation.row_stride;
    kernels_of(problem.size.dtype)
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
  const AttendTypeKernels& kernels = kernels_of(n.dtype);
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
      kernels.stored.pack_keys(job);
      job.heads = problem.v.pointers.data() + key + at;
      job.features = n.features;
      job.rotation = {};
      job.packed = values.data();
      kernels.stored.pack_values(job);
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
      const auto blocks = [&](const PlacedHeads& tensor) {
        return HeadBlocks{.blocks = tensor.blocks.data() + key / n.lying.block_keys,
                          .block_keys = n.lying.block_keys,
                          .key_stride = tensor.stride,
                          .first = key % n.lying.block_keys,
                          .known = n.keys - key};
      };
      HeadRotation rotation = problem.of_keys;
      rotation.rows += key * rotation.row_stride;
      kernels_of(n.dtype).stored.stream({.queries = queries.loaded.data(),
                                         .limits = problem.limits.data() + row,
                                         .rows = rows,
                                         .head_dim = n.head_dim,
                                         .features = n.features,
                                         .keys = blocks(problem.k),
                                         .rotation = rotation,
                                         .values = blocks(problem.v),
                                         .first_key = key,
                                         .count = std::min(cut.keys, n.keys - key),
                                         .state = state.view(row),
                                         .scratch = scratch.data()});
    }
    EXPECT_TRUE(scratch.is_intact() && state.is_intact());
  }
  return state;
}

// One row in double, with the allowed float32 error. A kernel's scores are in units of ln 2.
struct Expected {
  Expected(const Problem& problem, std::size_t row)
      : exact({.head_dim = problem.size.head_dim}, problem.size.features) {
    const Sizes& n = problem.size;
    const RowLimits& limits = problem.limits[row];
    const std::int64_t begin = std::clamp<std::int64_t>(limits.first_key, 0, n.keys);
    const std::int64_t end = std::clamp<std::int64_t>(limits.end_key, begin, n.keys);
    double error_of_scores = 0;
    for (std::int64_t j = begin; j < end; ++j) {
      const auto key = static_cast<std::size_t>(j);
      double score = 0;
      if (limits.bias != nullptr) {
        score =
            limits
                .bias[std::clamp<std::int64_t>(limits.bias_of_key_0 + j, 0, limits.bias_count - 1)];
      }
      double magnitude = std::isinf(score) ? 0 : std::abs(score);
      for (std::size_t f = 0; f < static_cast<std::size_t>(n.head_dim); ++f) {
        const double product = static_cast<double>(problem.scales[row]) * problem.q.values[row][f] *
                               problem.k.values[key][f];
        score += product;
        magnitude += std::abs(product);
      }
      error_of_scores = std::max(error_of_scores, magnitude);
      exact.add({.key = j, .score = score * std::numbers::ln2}, problem.v.values[key]);
    }
    exact.close();
    // A score has a chain of head_dim roundings, then those of the scale and of subtracting the
    // maximum. Rotating q and k adds 3 u of a pair's norm each, to head_dim products of at most 8.
    error_of_scores *= (static_cast<double>(n.head_dim) + 4) * u;
    if (problem.of_keys.order != PairOrder::none) {
      error_of_scores += 6 * u * static_cast<double>(n.head_dim) * 8;
    }
    // 2^x has an error of 2^-22.9. The subtraction before it adds |x| 2^x u ln 2 < u. Then the sums
    // of values and the divisor round for each key and each change of the maximum.
    const auto keys = static_cast<double>(end - begin);
    const double tiles = static_cast<double>(n.keys) / keys_of_tile + 2;
    relative =
        2 * (std::exp2(2 * error_of_scores) - 1) + 2 * 0x1p-22 + (2 * keys + 4 * tiles + 6) * u;
    bound.assign(exact.out().size(), 0);
    for (std::size_t i = 0; i < exact.weights().size(); ++i) {
      const double weight = exact.weights()[i];
      const std::int64_t key = exact.keys()[i].key;
      weights[static_cast<std::size_t>(
          std::clamp<std::int64_t>(limits.place_of_key_0 + key, 0, places - 1))] += weight;
      for (std::size_t f = 0; f < bound.size() && weight > 0; ++f)
        bound[f] +=
            relative * weight * std::abs(problem.v.values[static_cast<std::size_t>(key)][f]);
    }
  }
  [[nodiscard]] bool is_empty() const { return std::isinf(exact.log_sum_exp()); }

  check::ExactRow exact;
  double relative = 0;
  std::vector<double> bound;
  std::vector<double> weights = std::vector<double>(static_cast<std::size_t>(places));
};

void expect_expected(const Problem& problem, State state) {
  const Sizes& n = problem.size;
  std::vector<std::vector<float>> out(static_cast<std::size_t>(n.rows));
  std::vector<void*> heads;
  for (auto& head : out) {
    head.assign(static_cast<std::size_t>(n.features) + 1, nan);
    heads.push_back(head.data());
  }
  table().attend->types.f32.finish(
      {.state = state.view(), .rows = n.rows, .features = n.features, .heads = heads.data()});
  for (std::size_t r = 0; r < out.size(); ++r) {
    const Expected expected(problem, r);
    for (std::size_t f = 0; f < expected.bound.size(); ++f) {
      ASSERT_NEAR(static_cast<double>(out[r][f]), expected.exact.out()[f], expected.bound[f])
          << "row " << r << " feature " << f;
    }
    ASSERT_TRUE(std::isnan(out[r].back()));
    const auto row = static_cast<std::int64_t>(r);
    const auto max = static_cast<double>(state.max.data()[r]);
    const auto sum = static_cast<double>(state.sum.data()[r]);
    for (std::int64_t place = 0; place < places; ++place) {
      const double weight = expected.weights[static_cast<std::size_t>(place)];
      ASSERT_NEAR(state.weight_at(row, place) / (expected.is_empty() ? 1 : sum), weight,
                  expected.relative * weight + 0x1p-120)
          << "row " << r << " place " << place;
    }
    if (expected.is_empty()) {
      ASSERT_EQ(max, -std::numeric_limits<double>::infinity());
      ASSERT_EQ(sum, 0);
    } else {
      ASSERT_NEAR(max + std::log2(sum), expected.exact.log_sum_exp() / std::numbers::ln2,
                  expected.relative + 2 * u * std::abs(max));
    }
  }
}

constexpr std::array<std::int64_t, 14> odd_sizes = {1,  2,  3,  5,  8,  15, 16,
                                                    17, 31, 48, 64, 72, 80, 130};

constexpr std::array<std::int64_t, 5> block_sizes = {1, 3, 7, 32, 4096};

Sizes random_sizes(Random& random) {
  const auto any_size = [&] {
    return odd_sizes[static_cast<std::size_t>(random.integer(0, odd_sizes.size() - 1))];
  };
  constexpr std::array dtypes = {DType::f32, DType::bf16, DType::f16};
  return {.dtype = dtypes[static_cast<std::size_t>(random.integer(0, 2))],
          .rows = random.integer(1, 30),
          .keys = random.integer(0, 2) == 0 ? random.integer(1, 40) : random.integer(200, 600),
          .head_dim = any_size(),
          .features = any_size(),
          .lying = {.block_keys = block_sizes[random.bits() % block_sizes.size()],
                    .padding = random.integer(0, 1) * 70}};
}

template <class Visit>
void for_each_problem(const Visit& visit) {
  Random random(7);
  for (const Limits limits : all_limits) {
    for (const BiasKind bias : bias_kinds) {
      for (int repeat = 0; repeat < 2; ++repeat) {
        const Sizes n = random_sizes(random);
        SCOPED_TRACE("type " + std::string(to_string(n.dtype)) + " rows " + std::to_string(n.rows) +
                     " keys " + std::to_string(n.keys) + " head_dim " + std::to_string(n.head_dim) +
                     " features " + std::to_string(n.features) + " limits " +
                     std::to_string(static_cast<int>(limits)) + " bias " +
                     std::to_string(static_cast<int>(bias)));
        Problem problem(n, limits, bias, random.bits());
        problem.poison();
        visit(problem, random);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(AttendKernels, AccumulateAgreesWithPlainLoops) {
  for_each_problem([](Problem& problem, Random& random) {
    if (random.integer(0, 1) == 0) problem.turn_by_random_angles();
    const State whole = accumulated(problem, {});
    expect_expected(problem, whole);
    const Cut cut{.rows = random.integer(1, problem.size.rows), .keys = keys_of_tile};
    EXPECT_TRUE(accumulated(problem, cut) == whole) << "bits depend on the cut";
  });
}

// Numbers left in padding rows would enter products, and subnormal numbers would slow them down.
TEST(AttendKernels, ThePaddingRowsAreWritten) {
  const auto left = [](std::int64_t rows) {
    Queries of(Problem({DType::f32, rows, 1, 5, 5, {}}, Limits::none, BiasKind::none, 3), 0, rows);
    const float* const packed = of.packed.data();
    return std::count_if(packed, packed + packed_queries_size(rows, 5),
                         [](float number) { return std::isnan(number); });
  };
  for (std::int64_t r = 1; r < rows_of_group; ++r) EXPECT_LE(left(r), left(rows_of_group)) << r;
}

TEST(AttendKernels, StreamAgreesWithPlainLoops) {
  for_each_problem([](Problem& problem, Random& random) {
    if (random.integer(0, 1) == 0) problem.turn_by_random_angles();
    const State whole = streamed(problem, {});
    expect_expected(problem, whole);
    const Cut cut{.rows = random.integer(1, problem.size.rows), .keys = keys_of_tile};
    EXPECT_TRUE(streamed(problem, cut) == whole) << "bits depend on the cut";
  });
}

TEST(AttendKernels, MergeStatesOverDifferentKeys) {
  Random random(8);
  for (const std::int64_t features : {1, 16, 80}) {
    const Sizes n{.dtype = DType::f32,
                  .rows = 9,
                  .keys = 600,
                  .head_dim = 24,
                  .features = features,
                  .lying = {.block_keys = 256, .padding = 0}};
    Problem problem(n, Limits::window, BiasKind::toeplitz, random.bits());
    const std::vector<RowLimits> limits = problem.limits;
    const auto border = [](std::size_t r) { return 300 + 90 * static_cast<std::int64_t>(r); };
    for (std::size_t r = 0; r < limits.size(); ++r) {
      problem.limits[r].end_key = std::min(limits[r].end_key, border(r));
    }
    State merged = accumulated(problem, {});
    for (std::size_t r = 0; r < limits.size(); ++r) {
      problem.limits[r] = limits[r];
      problem.limits[r].first_key = std::max(limits[r].first_key, border(r));
    }
    State added = streamed(problem, {});
    problem.limits = limits;
    table().attend->merge(
        {.into = merged.view(), .from = added.view(), .rows = n.rows, .features = n.features});
    EXPECT_TRUE(merged.is_intact());
    expect_expected(problem, merged);
  }
}

// Poisons a key that only the last row sees: that row becomes NaN, the others keep their bits.
TEST(AttendKernels, MaskedKeysChangeNoBit) {
  Random random(9);
  for (const std::int64_t rows : {1, 5, 12, 30}) {
    const Sizes n{.dtype = DType::bf16,
                  .rows = rows,
                  .keys = 290,
                  .head_dim = 40,
                  .features = 48,
                  .lying = {.block_keys = 300, .padding = 0}};
    Problem problem(n, Limits::causal, BiasKind::none, random.bits());
    const State accumulated_before = accumulated(problem, {});
    const State streamed_before = streamed(problem, {});
    problem.v.poison(n.keys - 1);
    problem.k.poison(n.keys - 1);
    const State accumulated_after = accumulated(problem, {});
    const State streamed_after = streamed(problem, {});
    const auto same = static_cast<std::size_t>(4 * (rows - 1));
    EXPECT_EQ(std::memcmp(accumulated_before.sum.data(), accumulated_after.sum.data(), same), 0);
    EXPECT_EQ(std::memcmp(accumulated_before.sums.data(), accumulated_after.sums.data(), same * 48),
              0);
    EXPECT_EQ(std::memcmp(streamed_before.sum.data(), streamed_after.sum.data(), same), 0);
    EXPECT_EQ(std::memcmp(streamed_before.sums.data(), streamed_after.sums.data(), same * 48), 0);
    EXPECT_TRUE(std::isnan(accumulated_after.sum.data()[rows - 1]));
    EXPECT_TRUE(std::isnan(streamed_after.sum.data()[rows - 1]));
  }
}

}  // namespace
}  // namespace rotary::kernels
