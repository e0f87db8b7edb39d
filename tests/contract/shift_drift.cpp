// SPDX-License-Identifier: Apache-2.0
// Measures how far repeated shifts move cached keys from exact keys, since every shift rounds.
// Prints the table of docs/how-to/context-shift.md:
//     rotary_shift_drift [tokens [seed]]
// Keys are normal random numbers in 8 heads of 128 features. They are rotated with base 500000 from
// position 100000 on, and each shift moves them by -7. Exit code 1: the drift exceeds the error
// bounds of storing and all shifts together.
#include <algorithm>
#include <array>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <string>
#include <vector>

#include "check/rotated.hpp"
#include "reference/tensor.hpp"
#include "rotary/instruction_set.hpp"
#include "rotary/numeric_contract.hpp"
#include "rotary/rotate.hpp"
#include "rotary/shift.hpp"
#include "support/cases.hpp"
#include "support/int8_heads.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using reference::RotatedHead;
using test::HeadIndex;
using test::Tensor;

constexpr HeadWindow window{
    .head_dim = 128, .rotary_dim = 128, .first_feature = 0, .pairing = Pairing::half};
constexpr std::int64_t first_position = 100000;
constexpr std::int64_t distance = -7;
constexpr std::array shift_counts = {0, 1, 10, 100, 1000};

Frequencies make_base_500000() {
  return test::value_of(
      make_frequencies({.head_dim = 128, .base = 500000.0, .pairing = Pairing::half}));
}

Tensor normal_keys(std::int64_t tokens, std::uint64_t seed) {
  Tensor keys({.dtype = DType::f64,
               .extents = {.tokens = tokens, .heads = 8, .features = window.head_dim}});
  test::Random random(seed);
  test::for_each_element(keys.extents(), [&](const HeadIndex& index, std::int64_t f) {
    const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
    keys.set(index, f, radius * std::cos(2 * std::numbers::pi * random.unit()));
  });
  return keys;
}

// A cache shifts its keys and gives their elements. bound() is the largest relative error that
// storing and all shifts so far may cause in a pair this long.
class FloatCache {
 public:
  FloatCache(DType dtype, const Tensor& rotated) : keys_(test::rounded_to(dtype, rotated)) {}

  void shift_by(const Rotations& by) {
    test::require(shift(keys_.view(), by));
    ++shifts_;
  }
  [[nodiscard]] double at(const HeadIndex& index, std::int64_t feature) const {
    return keys_.at(index, feature);
  }
  // A component's error in one shift is at most error_bound(), and a pair's at most √2 times that.
  // Storing rounds no more than a shift. Relative errors compound.
  [[nodiscard]] double bound(const HeadIndex&, double hypot) const {
    const check::Rotated by{.dtype = keys_.view().dtype, .position = -distance};
    const double once = std::sqrt(2.0) * check::error_bound(by, hypot) * 0x1p-24;
    return std::pow(1 + once, shifts_ + 1) - 1;
  }

 private:
  Tensor keys_;
  int shifts_ = 0;
};

class Int8Cache {
 public:
  explicit Int8Cache(const Tensor& rotated)
      : keys_(rotated.extents(), test::Lying::bthd),
        steps_(static_cast<std::size_t>(rotated.extents().tokens * rotated.extents().heads)) {
    test::for_each_element(rotated.extents(), [&](const HeadIndex& index, std::int64_t f) {
      const auto needed = static_cast<float>(std::abs(rotated.at(index, f)) / 127);
      keys_.scale(index) = f == 0 ? needed : std::max(keys_.scale(index), needed);
    });
    test::for_each_element(rotated.extents(), [&](const HeadIndex& index, std::int64_t f) {
      keys_.element(index, f) = static_cast<std::int8_t>(
          std::nearbyint(rotated.at(index, f) / double{keys_.scale(index)}));
    });
    add_steps();
  }

  void shift_by(const Rotations& by) {
    test::require(shift(keys_.view(), by));
    add_steps();
    ++shifts_;
  }
  [[nodiscard]] double at(const HeadIndex& index, std::int64_t feature) const {
    return double{keys_.scale(index)} * keys_.element(index, feature);
  }
  // Half a quantization step for every scale so far, and the error of every rotation.
  [[nodiscard]] double bound(const HeadIndex& index, double hypot) const {
    const double units = rotate_error_bound(Direction::forward, 1, -distance) * (shifts_ + 1);
    return std::sqrt(2.0) * (steps_[head_at(index)] / hypot * 0.5001 + units * 0x1p-23);
  }

 private:
  [[nodiscard]] std::size_t head_at(const HeadIndex& index) const {
    return static_cast<std::size_t>(index.token * keys_.view().extents.heads + index.head);
  }
  void add_steps() {
    test::for_each_element(keys_.view().extents, [&](const HeadIndex& index, std::int64_t f) {
      if (f == 0) steps_[head_at(index)] += double{keys_.scale(index)};
    });
  }

  test::Int8Heads keys_;
  std::vector<double> steps_;  // [tokens][heads], the sums of all scales so far
  int shifts_ = 0;
};

struct Drift {
  double rms = 0;         // of the error over all keys, relative to the rms of the keys
  double worst_head = 0;  // the largest |error| of a head, relative to the head
  double worst_pair = 0;
  bool held = true;
};

template <class Cache>
Drift measure(const Cache& cache, const Tensor& keys, const Frequencies& frequencies, int shifts) {
  const Positions positions = ConsecutivePositions{.first = first_position + shifts * distance,
                                                   .tokens = keys.extents().tokens};
  const reference::AngleRows rows(positions, frequencies.inv_freq);
  Drift drift;
  double errors = 0;
  double lengths = 0;
  for_each_rotated_head(keys.view(), rows, {.window = window}, [&](const RotatedHead& head) {
    double error = 0;
    double length = 0;
    for (std::int64_t i = 0; i < window.pairs(); ++i) {
      const auto x = static_cast<double>(head.exact[static_cast<std::size_t>(i)]);
      const auto y = static_cast<double>(head.exact[static_cast<std::size_t>(i + window.pairs())]);
      const double hypot = std::hypot(x, y);
      const double off =
          std::hypot(cache.at(head.index, i) - x, cache.at(head.index, i + window.pairs()) - y);
      drift.worst_pair = std::max(drift.worst_pair, off / hypot);
      drift.held = drift.held && off / hypot <= cache.bound(head.index, hypot);
      error += off * off;
      length += hypot * hypot;
    }
    drift.worst_head = std::max(drift.worst_head, std::sqrt(error / length));
    errors += error;
    lengths += length;
  });
  drift.rms = std::sqrt(errors / lengths);
  return drift;
}

template <class Cache>
bool run(const char* name, Cache& cache, const Tensor& keys, const Frequencies& frequencies) {
  const std::int64_t tokens = keys.extents().tokens;
  const Positions from = ConsecutivePositions{.first = first_position, .tokens = tokens};
  const Positions to = ConsecutivePositions{.first = first_position + distance, .tokens = tokens};
  const Rotations by = test::value_of(make_shift({frequencies, from}, {frequencies, to}));
  bool held = true;
  int done = 0;
  for (const int shifts : shift_counts) {
    for (; done < shifts; ++done) cache.shift_by(by);
    const Drift drift = measure(cache, keys, frequencies, shifts);
    std::printf("%-5s %5d shifts: rms %.3g, worst head %.3g, worst pair %.3g%s\n", name, shifts,
                drift.rms, drift.worst_head, drift.worst_pair,
                drift.held ? "" : ": BEYOND THE BOUND");
    held = held && drift.held;
  }
  return held;
}

int run_all(std::int64_t tokens, std::uint64_t seed) {
  const Frequencies frequencies = make_base_500000();
  const Tensor keys = normal_keys(tokens, seed);
  Tensor rotated = keys;
  test::require(
      rotate(rotated.view(), rotated.view(),
             test::rotations_of(frequencies,
                                ConsecutivePositions{.first = first_position, .tokens = tokens},
                                RowDType::f64)));
  bool held = true;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    FloatCache cache(dtype, rotated);
    held = run(std::string(to_string(dtype)).c_str(), cache, keys, frequencies) && held;
  }
  Int8Cache cache(rotated);
  held = run("int8", cache, keys, frequencies) && held;
  return held ? 0 : 1;
}

}  // namespace
}  // namespace rotary

int main(int argc, char** argv) {
  const std::int64_t tokens = argc > 1 ? std::atoi(argv[1]) : 64;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const auto used = rotary::instruction_set();
  std::printf("instruction set %s, %" PRId64 " tokens, seed %" PRIu64 "\n",
              used ? std::string(*used).c_str() : used.error().message.c_str(), tokens, seed);
  return rotary::run_all(tokens, seed);
}
