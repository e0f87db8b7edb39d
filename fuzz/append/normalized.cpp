// SPDX-License-Identifier: Apache-2.0
#include "fuzz/append/normalized.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "fuzz/check.hpp"
#include "reference/head_norm.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::fuzz {
namespace {

// The measure of a stored element: the exact number, and the size that its error is relative to.
struct Exact {
  long double value = 0;
  long double size = 0;
  double units = 0;  // of float32 error, of 2^-24 * size
};

// [heads][features], as the elements of the token lie.
using Token = std::vector<long double>;

bool is_ordinary(long double number) {
  const long double size = std::abs(number);
  return size == 0 || (size >= 0x1p-100L && size <= 0x1p100L);
}

Token read(const NormalizedHeads& heads) {
  Token token;
  for (const Head& head : heads.before) {
    for (std::int64_t f = 0; f < heads.features; ++f) token.push_back(head.at(f));
  }
  return token;
}

// The pairs of every head turned, and of each feature the hypot of its pair.
struct TurnedToken {
  Token values;
  Token hypots;
};

TurnedToken turn(const Token& token, std::int64_t features, const TurnedBy& by) {
  TurnedToken turned{.values = token, .hypots = {}};
  std::transform(token.begin(), token.end(), std::back_inserter(turned.hypots),
                 [](long double x) { return std::abs(x); });
  const HeadWindow& window = by.rotations.window();
  for (std::size_t head = 0; head < token.size(); head += static_cast<std::size_t>(features)) {
    for (std::int64_t pair = 0; pair < window.pairs(); ++pair) {
      const PairFeatures at = features_of(window, by.direction, pair);
      const RowOfPair row = row_of_pair(by, pair);
      const auto index = [head](std::int64_t f) { return head + static_cast<std::size_t>(f); };
      const long double x = token[index(at.read_x)];
      const long double y = token[index(at.read_y)];
      turned.values[index(at.written_x)] = x * row.cos - y * row.sin;
      turned.values[index(at.written_y)] = x * row.sin + y * row.cos;
      const long double hypot = std::hypot(x * row.cos - y * row.sin, x * row.sin + y * row.cos);
      turned.hypots[index(at.written_x)] = turned.hypots[index(at.written_y)] = hypot;
    }
  }
  return turned;
}

HeadNorm rounded(HeadNorm norm) {
  norm.weight_offset = static_cast<double>(static_cast<float>(norm.weight_offset));
  return norm;
}

bool are_ordinary(const Token& token) {
  return std::all_of(token.begin(), token.end(), is_ordinary);
}

constexpr long double largest_gain = 0x1p127L;

// Elements before the gain, the gain, and the result.
bool are_ordinary(const Token& x, const reference::NormalizedToken& y) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!is_ordinary(x[i] / y.root_mean_square[i]) || !is_ordinary(y.y[i])) return false;
    if (!(std::abs(y.gain[i]) <= largest_gain)) return false;
  }
  return true;
}

// Empty if the contract does not cover the token.
std::vector<Exact> normalized_then_turned(const NormalizedHeads& heads, const HeadNorm& norm,
                                          const std::optional<TurnedBy>& by) {
  const Token x = read(heads);
  if (!are_ordinary(x)) return {};
  const auto y = reference::normalize(x, static_cast<std::int64_t>(heads.before.size()), norm);
  if (!are_ordinary(x, y)) return {};
  std::vector<Exact> exact;
  const auto turned =
      by ? turn(y.y, heads.features, *by) : TurnedToken{.values = y.y, .hypots = {}};
  const double with_turn =
      by ? rotate_normalized_error_bound(by->rotations.attention_factor(), 0) : 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto f = static_cast<std::int64_t>(i) % heads.features;
    const HeadWindow* window = by ? &by->rotations.window() : nullptr;
    const bool turns = window != nullptr && f >= window->first_feature &&
                       f < window->first_feature + window->rotary_dim;
    exact.push_back({.value = turned.values[i],
                     .size = turns ? turned.hypots[i] : std::abs(turned.values[i]),
                     .units = turns ? with_turn : normalize_error_bound});
  }
  return exact;
}

std::vector<Exact> turned_then_normalized(const NormalizedHeads& heads, const HeadNorm& norm,
                                          const TurnedBy& by) {
  const Token x = read(heads);
  const TurnedToken turned = turn(x, heads.features, by);
  if (!are_ordinary(x) || !are_ordinary(turned.hypots)) return {};
  const auto y =
      reference::normalize(turned.values, static_cast<std::int64_t>(heads.before.size()), norm);
  const double units = normalize_rotated_error_bound(by.rotations.attention_factor(), 0);
  std::vector<Exact> exact;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double before_gain = turned.hypots[i] / y.root_mean_square[i];
    if (!is_ordinary(before_gain) || !(std::abs(y.gain[i]) <= largest_gain)) return {};
    exact.push_back({.value = y.y[i], .size = std::abs(y.gain[i]) * before_gain, .units = units});
  }
  return exact;
}

void check_element(DType dtype, double got, const Exact& exact) {
  const auto size = static_cast<double>(exact.size);
  if (!is_ordinary(exact.size) || (dtype == DType::f16 && size * (1 + 0x1p-10) >= f16_overflow)) {
    return;
  }
  if (size == 0) {
    if (got != 0) fail("a key of zeros must stay one");
    return;
  }
  const double bound = stored_error_bound(dtype, exact.units, size) * 0x1p-24 * size;
  if (!(std::abs(got - exact.value) <= bound)) fail("a key must be normalised within the bound");
}

}  // namespace

void check_normalized(const NormalizedHeads& heads, const KeyNorm& k_norm,
                      const std::optional<TurnedBy>& by) {
  const HeadNorm norm = rounded(k_norm.norm);
  const auto exact = k_norm.order == NormOrder::before_rotation
                         ? normalized_then_turned(heads, norm, by)
                         : turned_then_normalized(heads, norm, *by);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const auto f = static_cast<std::int64_t>(i) % heads.features;
    const Head& head = heads.after[i / static_cast<std::size_t>(heads.features)];
    check_element(head.dtype, head.at(f), exact[i]);
  }
}

}  // namespace rotary::fuzz
