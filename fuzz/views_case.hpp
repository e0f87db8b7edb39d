// SPDX-License-Identifier: Apache-2.0
// Two views of one small buffer, decoded from an input, and the result that rotate must give.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "fuzz/bytes.hpp"
#include "fuzz/noise.hpp"
#include "fuzz/strided.hpp"
#include "rotary/rotate.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

inline constexpr std::size_t buffer_bytes = 6144;
inline constexpr std::int64_t most_batch = 4;  // of the rotations
inline constexpr std::int64_t most_tokens = 5;

enum class Operation { rotate, rotate_qk };

struct ViewsCase {
  Operation operation = Operation::rotate;
  Direction direction = Direction::forward;
  HeadWindow window;
  std::int64_t spec_kind = 0;  // for frequencies_of
  RowDType rows = RowDType::f32;
  std::int64_t rotations_batch = 1;
  std::int64_t rotations_tokens = 0;
  std::int64_t first_position = 0;
  HeadsView dst = {};  // q of rotate_qk
  HeadsView src = {};  // k of rotate_qk
  std::uint64_t seed = 0;
  Noise noise = Noise::activations;
};

// Returns nullopt if a view that rotate may accept would leave the buffer.
[[nodiscard]] std::optional<ViewsCase> decode_views(Bytes& input, std::span<std::byte> buffer);

// The answers that rotate and rotate_qk must give, as the comments of the public headers require.
// Every element is checked.

[[nodiscard]] Answer expected_answer(const ViewsCase& views, const Rotations& rotations,
                                     const std::byte* buffer);

// Checks the results of rotate and rotate_qk after they accepted a case. Every element of a
// destination must have the value that the contract requires for the original source. Every other
// byte must be unchanged. Restores the destinations.
void check_written(const ViewsCase& views, const Rotations& rotations, const Memory& memory);

}  // namespace rotary::fuzz
