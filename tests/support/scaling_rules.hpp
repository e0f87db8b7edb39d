// SPDX-License-Identifier: Apache-2.0
// Checks for every scaling rule: frequencies agree with the long double reference, bad values are
// refused, and JSON text gives the same rule as the struct.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>

#include "reference/frequencies.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/spec_json.hpp"
#include "support/frequency_tolerance.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary::test {

using Context = std::optional<std::int64_t>;

[[nodiscard]] inline RotarySpec spec_with(double base, std::int64_t rotary_dim,
                                          const Scaling& scaling) {
  return {.head_dim = rotary_dim, .base = base, .pairing = Pairing::half, .scaling = scaling};
}

// The frequencies of a typical model with 32 pairs.
[[nodiscard]] inline Frequencies frequencies_with(const Scaling& scaling, Context context = {}) {
  return value_of(make_frequencies(spec_with(10000, 64, scaling), context));
}

inline void expect_as_reference(const RotarySpec& spec, Context context = {}) {
  const Frequencies got = value_of(make_frequencies(spec, context));
  const reference::Frequencies exact = reference::frequencies(spec, context);
  ASSERT_EQ(got.inv_freq.size(), exact.inv_freq.size());
  for (std::size_t i = 0; i < exact.inv_freq.size(); ++i) {
    const long double allowed =
        std::abs(exact.inv_freq[i]) * frequency_tolerance(spec, context) + 0x1p-1074L;
    ASSERT_LE(std::abs(got.inv_freq[i] - exact.inv_freq[i]), allowed)
        << rope_type(spec.scaling) << " base " << spec.base.get() << " pair " << i << " of "
        << exact.inv_freq.size() << ": got " << got.inv_freq[i] << ", reference "
        << static_cast<double>(exact.inv_freq[i]);
  }
  ASSERT_LE(std::abs(got.attention_factor - exact.attention_factor),
            exact.attention_factor * 4 * 0x1p-52L);
  ASSERT_TRUE(got.contexts.contains(context.value_or(1)));
}

// Compares with the reference for typical and unusual bases and dimensions. least_dim: the smallest
// rotary_dim that the rule accepts.
inline void expect_as_reference_for_many_specs(const Scaling& scaling, Context context = {},
                                               std::int64_t least_dim = 2) {
  for (const double base : {1.0000001, 2.0, 100.0, 10000.0, 500000.0, 1e11}) {
    for (const std::int64_t rotary_dim : {2, 4, 6, 20, 64, 96, 128, 512}) {
      if (rotary_dim < least_dim) continue;
      expect_as_reference(spec_with(base, rotary_dim, scaling), context);
    }
  }
}

inline void expect_refused(const RotarySpec& spec, Parts parts, Context context = {}) {
  refused(make_frequencies(spec, context), parts);
}

inline void expect_refused(const Scaling& scaling, Parts parts, Context context = {}) {
  expect_refused(spec_with(10000, 64, scaling), parts, context);
}

// Copies the rule and changes one member.
template <class Rule, class Value>
[[nodiscard]] Rule with(Rule rule, Value Rule::*member, Value value) {
  rule.*member = std::move(value);
  return rule;
}

[[nodiscard]] inline std::string spec_text(std::string_view scaling) {
  std::string text = R"({"head_dim": 64, "base": 10000, "pairing": "half", "scaling": )";
  return text.append(scaling).append("}");
}

[[nodiscard]] inline Scaling scaling_of_text(std::string_view scaling) {
  return value_of(parse_rotary_spec(spec_text(scaling))).scaling;
}

inline void malformed_spec(std::string_view scaling, Parts parts,
                           const std::source_location& at = std::source_location::current()) {
  SCOPED_TRACE(scaling);
  refused(parse_rotary_spec(spec_text(scaling)), parts, ErrorCode::malformed_input, at);
}

}  // namespace rotary::test
