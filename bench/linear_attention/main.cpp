// SPDX-License-Identifier: Apache-2.0
// Verifies each kind of linear attention against the reference, then times it for growing token
// counts. Prints a call's memory and its time for each token and head. Uses 8 heads of 64 features,
// f32, tokens first in memory, and one thread. Argument: the most tokens, 65536 by default. Exit
// codes: 0; 1 for a wrong element; 70 if a call failed.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "bench/tensor.hpp"
#include "check/linear.hpp"
#include "rotary/rotary.hpp"

namespace {

using namespace rotary;

constexpr std::int64_t heads = 8;
constexpr std::int64_t head_dim = 64;
constexpr std::int64_t fewest_tokens = 512;

struct Kind {
  std::string_view name;
  FeatureMap map;
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

// Seconds of the fastest call; absent if a call fails.
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

HeadsView head_3(const bench::Tensor& tensor) {
  HeadsView view = tensor.view();
  view.data = static_cast<float*>(view.data) + 3 * view.strides.head;
  view.extents.heads = 1;
  return view;
}

// The first fault of head 3; empty if there is none.
std::string fault_of(const Kind& kind, const Operands& on) {
  check::LinearCall call{.out = head_3(on.out),
                         .heads = {head_3(on.q), head_3(on.k), head_3(on.v)},
                         .map = kind.map,
                         .mask = kind.mask};
  if (kind.frequencies)
    call.turn = check::turn_by(*kind.frequencies, {.tokens = fewest_tokens}, DType::f32);
  return check::verdict(call).fault;
}

int report(const Kind& kind, std::int64_t most_tokens) {
  double first = 0;
  for (std::int64_t tokens = fewest_tokens; tokens <= most_tokens; tokens *= 2) {
    const Operands on(tokens);
    std::size_t bytes = 0;
    const auto seconds = time_of(kind, on, bytes);
    if (!seconds) return 70;
    if (tokens == fewest_tokens) {
      const std::string fault = fault_of(kind, on);
      fmt::print("{}: {}\n", kind.name, fault.empty() ? "within the bound" : fault);
      if (!fault.empty()) return 1;
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
       {Kind{"elu + 1, causal", EluPlusOne{}, LinearMask::causal, {}},
        Kind{"elu + 1, causal, rotated", EluPlusOne{}, LinearMask::causal, *frequencies},
        Kind{"elu + 1, bidirectional", EluPlusOne{}, LinearMask::bidirectional, {}},
        Kind{"FAVOR+ of 256, causal", favor, LinearMask::causal, {}}}) {
    if (const int code = report(kind, most_tokens); code != 0) return code;
  }
  return 0;
}
