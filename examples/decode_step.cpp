// SPDX-License-Identifier: Apache-2.0
// Rotates q and k in a server's decode loop: sequences at different positions, in bf16, without
// allocating in a step.
// Run: decode_step
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "rotary/rotary.hpp"

int report(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

int main() {
  constexpr std::int64_t batch = 3;
  const auto frequencies = rotary::make_frequencies(
      {.head_dim = 128, .base = 500000.0, .pairing = rotary::Pairing::half});
  if (!frequencies) return report(frequencies.error().message);

  // Once per server: memory for the rows of the largest batch, and rotations in this memory.
  const auto bytes = row_bytes(frequencies->window, batch, 1, rotary::RowDType::f32);
  if (!bytes) return report(bytes.error().message);
  std::vector<std::byte> memory(*bytes);
  std::array<std::int32_t, batch> tokens_so_far = {17, 4095, 131069};
  const auto positions = rotary::positions_of(tokens_so_far, batch);  // [batch, 1]
  auto rotations = make_rotations(*frequencies, positions, {.memory = memory});
  if (!rotations) return report(rotations.error().message);

  // [batch, 1 token, heads, head_dim]: 4 query heads share 1 key head.
  const rotary::Extents q_extents{.batch = batch, .tokens = 1, .heads = 4, .features = 128};
  const rotary::Extents k_extents{.batch = batch, .tokens = 1, .heads = 1, .features = 128};
  std::vector<std::uint16_t> q(static_cast<std::size_t>(batch * strides_bthd(q_extents).batch));
  std::vector<std::uint16_t> k(static_cast<std::size_t>(batch * strides_bthd(k_extents).batch));
  for (int step = 0; step < 3; ++step) {
    const auto remade = remake_rotations(*rotations, *frequencies, positions);  // for all layers
    if (!remade) return report(remade.error().message);
    q.assign(q.size(), 0x3F80);  // 1.0 in bf16; a layer's projections go here
    k.assign(k.size(), 0x3F80);
    const auto status =
        rotate_qk({q.data(), rotary::DType::bf16, q_extents, strides_bthd(q_extents)},
                  {k.data(), rotary::DType::bf16, k_extents, strides_bthd(k_extents)}, *rotations);
    if (!status) return report(status.error().message);

    for (std::size_t row = 0; row < tokens_so_far.size(); ++row) {  // pair 0: 1 radian per position
      const std::int32_t position = tokens_so_far.at(row)++;
      const auto feature = std::bit_cast<float>(std::uint32_t{k[row * 128]} << 16);
      const double error = feature - (std::cos(1.0 * position) - std::sin(1.0 * position));
      std::printf("%sposition %d: %.2f", row == 0 ? "" : ", ", position, double{feature});
      if (std::abs(error) > 0.004) return report(": more than half a unit of bf16 off");
    }
    std::printf("\n");
  }
}
