// SPDX-License-Identifier: Apache-2.0
// Rotations: the cos and sin rows of given positions, made once for each step and shared by q, k
// and every layer of one spec.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

class Rotations {
 public:
  [[nodiscard]] const HeadWindow& window() const noexcept { return window_; }
  [[nodiscard]] double attention_factor() const noexcept { return attention_factor_; }
  [[nodiscard]] std::int64_t batch() const noexcept { return batch_; }  // 1 serves every batch row
  [[nodiscard]] std::int64_t tokens() const noexcept { return tokens_; }

  // A*cos and A*sin of the angles of one token, [pairs] each. Require 0 <= batch < batch() and
  // 0 <= token < tokens().
  [[nodiscard]] std::span<const float> cos(std::int64_t batch, std::int64_t token) const noexcept {
    return {rows_.data() + row_offset(batch, token), static_cast<std::size_t>(window_.pairs())};
  }
  [[nodiscard]] std::span<const float> sin(std::int64_t batch, std::int64_t token) const noexcept {
    return {rows_.data() + row_offset(batch, token) + lane_stride_,
            static_cast<std::size_t>(window_.pairs())};
  }

  // Floats between the cos and the sin of one token; a row is twice that. For code that walks rows.
  [[nodiscard]] std::int64_t lane_stride() const noexcept { return lane_stride_; }

 private:
  friend Result<Rotations> make_rotations(const Frequencies& frequencies,
                                          const Positions& positions) noexcept;
  friend Status remake_rotations(Rotations& rotations, const Frequencies& frequencies,
                                 const Positions& positions) noexcept;
  explicit Rotations(HeadWindow window) : window_(std::move(window)) {}

  [[nodiscard]] std::size_t row_offset(std::int64_t batch, std::int64_t token) const noexcept {
    return static_cast<std::size_t>((batch * tokens_ + token) * 2 * lane_stride_);
  }

  HeadWindow window_;
  double attention_factor_ = 1;
  std::int64_t batch_ = 1;
  std::int64_t tokens_ = 0;
  std::int64_t lane_stride_ = 0;
  std::vector<float> rows_;  // [batch][tokens][cos, sin][lane_stride]
};

// At any int64 position p: each element is A*cos(p*inv_freq) or A*sin(p*inv_freq) formed in
// double and rounded once,
//     |error| <= 1/2 ulp(result) + A * (2π |p| 2^-65 + 2^-50),
// see docs/numeric-contract.md. Errors: invalid_argument when frequencies or positions are
// inconsistent or leave int64, out_of_memory.
[[nodiscard]] Result<Rotations> make_rotations(const Frequencies& frequencies,
                                               const Positions& positions) noexcept;

// The same into rotations made before, whose memory it keeps: a step with no more rows than an
// earlier one allocates nothing. On an error rotations are as they were.
[[nodiscard]] Status remake_rotations(Rotations& rotations, const Frequencies& frequencies,
                                      const Positions& positions) noexcept;

}  // namespace rotary
