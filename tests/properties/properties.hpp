// SPDX-License-Identifier: Apache-2.0
// Each property returns nothing if it holds for the sample, else a message. Tolerances add the
// bounds of rotary/numeric_contract.hpp; A is the attention factor.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "properties/implementation.hpp"
#include "properties/sample.hpp"

namespace rotary::test {

using Broken = std::optional<std::string>;

// Each pair's length is multiplied by A; other features are copied.
[[nodiscard]] Broken keeps_norm(const Implementation& implementation, const Sample& sample);

// <R(m)q, R(n)k> depends on m - n alone, and is A^2 <q, k> for m = n.
[[nodiscard]] Broken depends_on_distance_alone(const Implementation& implementation,
                                               const Sample& sample);

// R(m) R(n) = A R(m + n), where R includes A. interleaved_to_half's R also permutes, so the order
// is restored between R(n) and R(m).
[[nodiscard]] Broken composes(const Implementation& implementation, const Sample& sample);

[[nodiscard]] Broken inverse_undoes(const Implementation& implementation, const Sample& sample);

// <R x, y> = <x, R^T y>.
[[nodiscard]] Broken transpose_is_adjoint(const Implementation& implementation,
                                          const Sample& sample);

// Pairing half on features in the order (0, 2, 4, …, 1, 3, 5, …) gives the result of pairing
// interleaved, in that order, bit for bit.
[[nodiscard]] Broken half_is_permuted_interleaved(const Implementation& implementation,
                                                  const Sample& sample);

// interleaved_to_half gives the features of interleaved in the order (0, 2, 4, …, 1, 3, 5, …), bit
// for bit.
[[nodiscard]] Broken to_half_is_interleaved_then_permuted(const Implementation& implementation,
                                                          const Sample& sample);

// R equals the reference's R. No other property finds consistently wrong angles.
[[nodiscard]] Broken agrees_with_reference(const Implementation& implementation,
                                           const Sample& sample);

struct Property {
  std::string_view name;
  Broken (*broken)(const Implementation&, const Sample&);
};

inline constexpr std::array all_properties = {
    Property{"keeps_norm", keeps_norm},
    Property{"depends_on_distance_alone", depends_on_distance_alone},
    Property{"composes", composes},
    Property{"inverse_undoes", inverse_undoes},
    Property{"transpose_is_adjoint", transpose_is_adjoint},
    Property{"half_is_permuted_interleaved", half_is_permuted_interleaved},
    Property{"to_half_is_interleaved_then_permuted", to_half_is_interleaved_then_permuted},
    Property{"agrees_with_reference", agrees_with_reference}};

}  // namespace rotary::test
