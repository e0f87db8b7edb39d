// SPDX-License-Identifier: Apache-2.0
// Relative position biases: score ← score + bias(head, i, j) of a query at i and a key at j. Each
// encoding is a value; every operation takes any of them. Computed in double and rounded once to
// the view's dtype. Formulas, sources and the error of each: docs/theory/relative.md.
//
//   const RelativeBias bias = Alibi{.heads = 32};
//   fill_bias(scores, bias, BiasRange{});  // [batch, heads, queries, keys]
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>

#include "rotary/alibi.hpp"
#include "rotary/describe.hpp"
#include "rotary/export.h"
#include "rotary/fire.hpp"
#include "rotary/kerple.hpp"
#include "rotary/result.hpp"
#include "rotary/sandwich.hpp"
#include "rotary/scores_view.hpp"
#include "rotary/t5_bias.hpp"
#include "rotary/tisa.hpp"

namespace rotary {

// One of these, and a type of its own, so that symbols keep their names when one is added.
using RelativeBiases = std::variant<T5Bias, Alibi, KerpleLog, KerplePower, Fire, Sandwich, Tisa>;
struct RelativeBias : RelativeBiases {
  using RelativeBiases::RelativeBiases;
  using RelativeBiases::operator=;
};

// Calls visit(facts, member) for each parameter: member is a double, an integer, an enumerator, a
// std::vector<double> or, of T5, a ConstTableView; const where the bias is.
template <class Bias, class Visit>
requires std::is_same_v<std::remove_const_t<Bias>, RelativeBias>
void for_each_parameter(Bias& bias, Visit visit) {
  std::visit(
      [&](auto& encoding) {
        Describe<std::remove_cvref_t<decltype(encoding)>>::parameters(encoding, visit);
      },
      bias);
}

// The names of all encodings, in the order of the alternatives.
[[nodiscard]] ROTARY_API std::span<const std::string_view> relative_bias_names() noexcept;

// An encoding of this name with nothing set; nothing where no encoding has it.
[[nodiscard]] ROTARY_API std::optional<RelativeBias> relative_bias_named(
    std::string_view name) noexcept;

// As in relative_bias_names().
[[nodiscard]] ROTARY_API std::string_view to_string(const RelativeBias& bias) noexcept;

// Row r is a query at first_query + r, column c a key at first_key + c. Positions are int64 and no
// two may be 2^63 or more apart.
struct BiasRange {
  std::int64_t first_query = 0;
  std::int64_t first_key = 0;
};

// Positions one by one: packed documents, padding, a cache with holes. [queries] and [keys].
struct BiasPositions {
  std::span<const std::int64_t> queries;
  std::span<const std::int64_t> keys;
};

// One score. head counts from 0 among the heads of the bias.
struct BiasIndex {
  std::int64_t head = 0;
  std::int64_t query = 0;
  std::int64_t key = 0;
};

// Every requirement on the value's members that its header states.
[[nodiscard]] ROTARY_API Status validate(const RelativeBias& bias) noexcept;

// Requires a valid bias.
[[nodiscard]] ROTARY_API std::int64_t head_count(const RelativeBias& bias) noexcept;

// Whether the bias is a function of key - query: all but FIRE and ALiBi's form key_position.
[[nodiscard]] ROTARY_API bool depends_on_distance_alone(const RelativeBias& bias) noexcept;

// |bias - exact| <= bias_error_bound times the sum of the magnitudes of the terms that the formula
// adds, before the one rounding to the view's dtype. docs/theory/relative.md derives it, and says
// what the terms are; FIRE may have up to 112 hidden units and TISA 112 bumps. Of a sum from 2^-900
// on, and of an x of FIRE that is 0 or from 2^-900 on: products of smaller numbers may have fewer
// bits than a double.
inline constexpr double bias_error_bound = 0x1p-46;

// Before it is rounded.
[[nodiscard]] ROTARY_API Result<double> bias_at(const RelativeBias& bias,
                                                const BiasIndex& at) noexcept;

// out[batch][head][row][column], the same for every batch row. An element depends on the bias, the
// head and the two positions alone: one row of a decode step has the bits of that row of the whole.
// On an error out is as it was.
[[nodiscard]] ROTARY_API Status fill_bias(const ScoresView& out, const RelativeBias& bias,
                                          const BiasRange& range) noexcept;
[[nodiscard]] ROTARY_API Status fill_bias(const ScoresView& out, const RelativeBias& bias,
                                          const BiasPositions& positions) noexcept;

// One row, [batch, heads, 1, distances]: column c is the bias of key - query = first_distance + c.
// All that N queries and keys need are the 2N - 1 from 1 - N on. Refused where
// depends_on_distance_alone is false.
[[nodiscard]] ROTARY_API Status fill_distances(const ScoresView& out, const RelativeBias& bias,
                                               std::int64_t first_distance) noexcept;

// Numbers that training would change: those of the learned parameters in the order of Describe.
// Requires a valid bias.
[[nodiscard]] ROTARY_API std::int64_t parameter_count(const RelativeBias& bias) noexcept;

// gradients[parameter] += Σ d_bias · ∂bias/∂parameter over all elements, batch rows included, in a
// fixed order: the same call gives the same bits. [parameter_count]. Where max or |.| has a corner
// the derivative is the one from below in max and 0 in |.|.
[[nodiscard]] ROTARY_API Status add_bias_gradient(std::span<double> gradients,
                                                  const RelativeBias& bias,
                                                  const ConstScoresView& d_bias,
                                                  const BiasRange& range) noexcept;
[[nodiscard]] ROTARY_API Status add_bias_gradient(std::span<double> gradients,
                                                  const RelativeBias& bias,
                                                  const ConstScoresView& d_bias,
                                                  const BiasPositions& positions) noexcept;

}  // namespace rotary
