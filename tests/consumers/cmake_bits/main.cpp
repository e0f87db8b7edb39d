// SPDX-License-Identifier: Apache-2.0
// Prints a digest of rotated heads for each instruction set, scaling rule and dtype. The output
// must not depend on what rotary's build contains or where Highway came from.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "rotary/rotary.hpp"

namespace {

constexpr rotary::Extents extents{.tokens = 67, .heads = 3, .features = 96};

// FNV-1a.
std::uint64_t digest_of(const std::vector<std::uint16_t>& words) {
  std::uint64_t digest = 0xcbf29ce484222325;
  for (const std::uint16_t word : words) digest = (digest ^ word) * 0x100000001b3;
  return digest;
}

// Words that are finite numbers in every dtype, enough for heads of the widest dtype.
std::vector<std::uint16_t> heads() {
  std::vector<std::uint16_t> words(
      static_cast<std::size_t>(extents.tokens * strides_bthd(extents).token * 4));
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<std::uint16_t>(0x3000 + i * 7919 % 0x1000);
  return words;
}

// Empty if a call failed.
std::string digest_of(const rotary::Scaling& scaling, rotary::DType dtype) {
  const auto frequencies = rotary::make_frequencies({.head_dim = 96,
                                                     .rotary_dim = 80,
                                                     .base = 5e5,
                                                     .pairing = rotary::Pairing::half,
                                                     .scaling = scaling});
  if (!frequencies) return {};
  const auto rows = dtype == rotary::DType::f64 ? rotary::RowDType::f64 : rotary::RowDType::f32;
  const auto rotations = rotary::make_rotations(
      *frequencies, rotary::ConsecutivePositions{.first = 130'000, .tokens = extents.tokens},
      {.rows = rows});
  if (!rotations) return {};
  auto words = heads();
  const rotary::HeadsView view{words.data(), dtype, extents, strides_bthd(extents)};
  if (!rotary::rotate(view, view, *rotations)) return {};
  return std::to_string(digest_of(words));
}

}  // namespace

int main() {
  const std::array<rotary::Scaling, 3> rules = {
      rotary::NoScaling{}, rotary::LinearScaling{.factor = 4},
      rotary::YarnScaling{.factor = 8, .original_context_tokens = 4096}};
  for (const auto set : rotary::supported_instruction_sets()) {
    if (!rotary::force_instruction_set(set)) return 1;
    for (const auto& rule : rules) {
      for (const auto dtype :
           {rotary::DType::f32, rotary::DType::bf16, rotary::DType::f16, rotary::DType::f64}) {
        const std::string digest = digest_of(rule, dtype);
        if (digest.empty()) return 1;
        std::printf("%s %s %d %s\n", std::string(set).c_str(), std::string(rope_type(rule)).c_str(),
                    static_cast<int>(dtype), digest.c_str());
      }
    }
  }
}
