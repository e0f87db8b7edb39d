// SPDX-License-Identifier: Apache-2.0
// Linear attention over growing numbers of tokens: the time for each token and head, which stays
// constant if time is linear, and the memory of a call. Each kind is verified against the reference
// first. 8 heads of 64, f32, tokens first in memory, one thread. Argument: the most tokens, by
// default 65536. Exit codes: 0, 1 an element is wrong, 70 a call failed.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/tensor.hpp"
#include "reference/linear_attention.hpp"
#include "reference/tensor.hpp"
#include "rotary/numeric_contract.hpp"
#include "rotary/rotary.hpp"

namespace {

using namespace rotary;

constexpr std::int64_t heads = 8;
constexpr std::int64_t head_dim = 64;
constexpr std::int64_t fewest_tokens = 512;

struct Kind {
  std::string_view name;
  FeatureMap map;
  std::int64_t features;
  LinearMask mask;
  std::optional<Frequencies> frequencies;
};

struct Operands {
  bench::Tensor q, k, v, out;

  explicit Operands(std::int64_t tokens)
      : q(make(tokens, 1)), k(make(tokens, 2)), v(make(tokens, 3)), out(make(tokens, 4)) {}

  static bench::Tensor make(std::int64_t tokens, std::uint64_t seed) {
    bench::Tensor tensor(DType::f32, {.tokens = tokens, .heads = heads, .features = head_dim},
                         bench::Layout::tokens_first);
    tensor.fill(seed);
    return tensor;
  }
  [[nodiscard]] LinearHeads heads_of() const { return {q.view(), k.view(), v.view()}; }
};

// Seconds of the fastest of some calls; absent if a call fails.
std::optional<double> time_of(const Kind& kind, const Operands& on, std::size_t& bytes) {
  const std::int64_t tokens = on.q.view().extents.tokens;
  std::optional<Result<Rotations>> rows;
  LinearAttentionOptions options{.mask = kind.mask};
  if (kind.frequencies) {
    rows = make_rotations(*kind.frequencies, ConsecutivePositions{.tokens = tokens});
    if (!*rows) return std::nullopt;
    options.rotations.emplace(NumeratorRotations{**rows, **rows});
  }
  const auto needed = linear_attend_bytes(on.heads_of(), kind.map, options);
  if (!needed) return std::nullopt;
  bytes = *needed;
  double best = std::numeric_limits<double>::infinity();
  for (std::int64_t call = 0; call < std::max<std::int64_t>(3, 16384 / tokens); ++call) {
    const auto start = std::chrono::steady_clock::now();
    if (!linear_attend(on.out.view(), on.heads_of(), kind.map, options)) return std::nullopt;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  return best;
}

std::vector<long double> elements(const bench::Tensor& tensor, std::int64_t token) {
  std::vector<long double> values;
  for (std::int64_t f = 0; f < head_dim; ++f) {
    values.push_back(reference::element(tensor.view(), {.token = token, .head = 3}, f));
  }
  return values;
}

// The largest error in some rows of head 3, in units of the bound.
double worst_error(const Kind& kind, const Operands& on) {
  std::optional<reference::AngleRows> angles;
  if (kind.frequencies) {
    angles.emplace(ConsecutivePositions{.tokens = fewest_tokens}, kind.frequencies->inv_freq);
  }
  const auto mapped = [&](const bench::Tensor& tensor, std::int64_t token, reference::Side side) {
    auto vector = reference::map_features(elements(tensor, token), kind.map, side);
    if (angles) turn_features(vector, kind.frequencies->window, angles->at(0, token));
    return vector;
  };
  std::vector<reference::MappedVector> keys;
  std::vector<std::vector<long double>> values;
  for (std::int64_t t = 0; t < fewest_tokens; ++t) {
    keys.push_back(mapped(on.k, t, reference::Side::key));
    values.push_back(elements(on.v, t));
  }
  // Exponents of normal elements: |w||y| + |y|² below 256 where the softmax scale is 1/8.
  const bool elu = std::holds_alternative<EluPlusOne>(kind.map);
  const double feature =
      elu ? elu_feature_error : exponential_feature_error(DType::f32, head_dim, 256);
  const double bound = linear_attention_error_bound(
      {.dtype = DType::f32,
       .features = kind.features,
       .tokens = fewest_tokens,
       .feature_errors = 2 * feature,
       .turn_errors = angles ? 2 * rotate_error_bound(Direction::forward, 1, fewest_tokens) : 0});
  double worst = 0;
  for (const std::int64_t t :
       {std::int64_t{0}, std::int64_t{63}, std::int64_t{300}, fewest_tokens - 1}) {
    std::vector<reference::KeyValue> seen;
    for (std::int64_t j = 0; j <= (kind.mask == LinearMask::causal ? t : fewest_tokens - 1); ++j) {
      seen.push_back({keys[static_cast<std::size_t>(j)], values[static_cast<std::size_t>(j)]});
    }
    const auto row = reference::linear_row(mapped(on.q, t, reference::Side::query), seen, kind.map,
                                           1e-6L, head_dim);
    const auto got = elements(on.out, t);
    for (std::size_t f = 0; f < got.size(); ++f) {
      const long double off = std::abs(got[f] - row.out[f]) / (row.size[f] * 0x1p-24L * bound);
      if (!(off <= worst)) worst = std::isnan(off) ? HUGE_VAL : static_cast<double>(off);
    }
  }
  return worst;
}

int report(const Kind& kind, std::int64_t most_tokens) {
  double first = 0;
  for (std::int64_t tokens = fewest_tokens; tokens <= most_tokens; tokens *= 2) {
    const Operands on(tokens);
    std::size_t bytes = 0;
    const auto seconds = time_of(kind, on, bytes);
    if (!seconds) return 70;
    if (tokens == fewest_tokens) {
      const double worst = worst_error(kind, on);
      fmt::print("{}: largest error {:.3f} of the bound\n", kind.name, worst);
      if (!(worst <= 1)) return 1;
    }
    const double each = *seconds * 1e9 / static_cast<double>(tokens * heads);
    if (first == 0) first = each;
    fmt::print(
        "  {:6} tokens {:9.2f} ms {:8.1f} ns for each token and head, {:4.2f} times {}; {} "
        "bytes\n",
        tokens, *seconds * 1e3, each, each / first, fewest_tokens, bytes);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t most_tokens = argc > 1 ? std::atoll(argv[1]) : 65536;
  const auto directions = make_random_features({.head_dim = head_dim, .features = 256, .seed = 1});
  const auto frequencies =
      make_frequencies({.head_dim = head_dim, .base = 10000.0, .pairing = Pairing::half});
  if (!directions || !frequencies) return 70;
  const PositiveRandomFeatures favor{.directions = *directions, .softmax_scale = 0.125};
  for (const Kind& kind :
       {Kind{"elu + 1, causal", EluPlusOne{}, head_dim, LinearMask::causal, {}},
        Kind{"elu + 1, causal, rotated", EluPlusOne{}, head_dim, LinearMask::causal, *frequencies},
        Kind{"elu + 1, bidirectional", EluPlusOne{}, head_dim, LinearMask::bidirectional, {}},
        Kind{"FAVOR+ of 256, causal", favor, 256, LinearMask::causal, {}}}) {
    if (const int code = report(kind, most_tokens); code != 0) return code;
  }
  return 0;
}
