// SPDX-License-Identifier: Apache-2.0
// The KV cache and norms.
#include <array>
#include <cstdint>

#include "public_calls/cases.hpp"
#include "public_calls/elements.hpp"
#include "rotary/kv_cache.hpp"
#include "support/cases.hpp"

namespace rotary::test {
namespace {

constexpr Extents step{.tokens = 3, .heads = 2, .features = 16};
constexpr Extents slots_of_cache{.batch = 2, .tokens = 4, .heads = 2, .features = 16};

constexpr std::string_view with_rotations =
    "rotary::append(rotary::KvCache const&, rotary::KvHeads const&, "
    "std::variant<rotary::ConsecutiveSlots, rotary::TokenArray<int>, rotary::TokenArray<long> > "
    "const&, "
    "rotary::Rotations";
constexpr std::string_view without_rotations =
    "rotary::append(rotary::KvCache const&, rotary::KvHeads const&, "
    "std::variant<rotary::ConsecutiveSlots, rotary::TokenArray<int>, rotary::TokenArray<long> > "
    "const&, "
    "rotary::AppendOptions";

struct NamedSlots {
  std::string what;
  Slots slots;
};

std::vector<NamedSlots> slots() {
  static constexpr std::array<std::int64_t, 3> apart = {6, -1, 2};
  static constexpr std::array<std::int32_t, 3> twice = {6, 1, 6};
  return {{"consecutive", ConsecutiveSlots{.first = 1}},
          {"beyond the cache", ConsecutiveSlots{.first = 2}},
          {"a map", slots_of(apart)},
          {"a slot twice", slots_of(twice)}};
}

// Enough tokens to be cut.
void add_cache_in_parts(std::vector<Case>& cases) {
  constexpr Extents many{.tokens = 200, .heads = 2, .features = 16};
  const Rotations rotations =
      rotations_of(frequencies_of({.head_dim = 16, .rotary_dim = 16, .pairing = Pairing::half}),
                   ConsecutivePositions{.tokens = 200});
  const SharedElements keys = elements(200 * 2 * 16);
  const SharedElements cached = elements(200 * 2 * 16);
  cases.push_back(case_of(with_rotations, "in parts",
                          [=] {
                            return append({.k = cached->heads(many)}, {.k = keys->heads(many)},
                                          ConsecutiveSlots{}, rotations, {.executor = in_parts()});
                          },
                          {cached->bytes()}));
  cases.push_back(case_of("rotary::normalize_heads(", "in parts",
                          [=] {
                            return normalize_heads(keys->heads(many), keys->heads(many),
                                                   {.epsilon = 1e-6, .over = NormOver::each_head},
                                                   in_parts());
                          },
                          {keys->bytes()}));
}

}  // namespace

std::vector<Case> cache_cases() {
  std::vector<Case> cases;
  const Rotations rotations =
      rotations_of(frequencies_of({.head_dim = 16, .rotary_dim = 16, .pairing = Pairing::half}),
                   ConsecutivePositions{.tokens = 3});
  for (const NamedSlots& each : slots()) {
    const SharedElements keys = elements(3 * 2 * 16);
    const SharedElements cached = elements(2 * 4 * 2 * 16);
    const AppendOptions options{.k_norm =
                                    KeyNorm{.norm = {.epsilon = 1e-6, .over = NormOver::each_head},
                                            .order = NormOrder::before_rotation}};
    cases.push_back(case_of(with_rotations, each.what,
                            [=] {
                              return append({.k = cached->heads(slots_of_cache)},
                                            {.k = keys->heads(step)}, each.slots, rotations,
                                            options);
                            },
                            {cached->bytes()}));
    cases.push_back(case_of(without_rotations, each.what,
                            [=] {
                              return append({.k = cached->heads(slots_of_cache)},
                                            {.k = keys->heads(step)}, each.slots, options);
                            },
                            {cached->bytes()}));
  }
  add_cache_in_parts(cases);
  for (const double epsilon : {1e-6, -1.0}) {
    const SharedElements keys = elements(3 * 2 * 16);
    cases.push_back(case_of("rotary::normalize_heads(", std::to_string(epsilon),
                            [=] {
                              return normalize_heads(
                                  keys->heads(step), keys->heads(step),
                                  {.epsilon = epsilon, .over = NormOver::each_head});
                            },
                            {keys->bytes()}));
  }
  return cases;
}

}  // namespace rotary::test
