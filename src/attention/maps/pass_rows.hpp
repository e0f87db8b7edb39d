// SPDX-License-Identifier: Apache-2.0
// What one pass of a position map gives to attend(): rows of cos and sin for the tokens of a call,
// and which keys each query meets.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attention/attend/attend_call.hpp"
#include "attention/maps/map_passes.hpp"
#include "rotary/result.hpp"
#include "rotary/rotations.hpp"

namespace rotary {

// Where the tokens of q, or of k, stand.
struct TokenPositions {
  std::int64_t batch = 1;  // 1: the same in each batch row
  std::int64_t tokens = 0;
  std::vector<std::int64_t> at;  // [batch][tokens]; 0 in no sequence
};

[[nodiscard]] TokenPositions query_positions(const AttendCall& call);

// Error: a key that stands at two positions.
[[nodiscard]] Result<TokenPositions> key_positions(const AttendCall& call);

// Of the farthest key before a query, in positions; negative: each stands after each of them.
[[nodiscard]] std::int64_t farthest_key(const AttendCall& call) noexcept;

// The rows of one role, made again for each pass that turns tokens otherwise than the one before.
class PassRows {
 public:
  PassRows(TokenPositions positions, Role role) : positions_(std::move(positions)), role_(role) {}

  // slower: frequencies are already those of the pass.
  [[nodiscard]] Status make(const MapPass& pass, const Frequencies& frequencies);

  // Requires make().
  [[nodiscard]] const Rotations& rotations() const noexcept { return *rotations_; }

 private:
  struct Made {
    TurnedPosition by;
    std::int64_t slower;
    friend bool operator==(const Made&, const Made&) = default;
  };

  void hold(std::int64_t pair, double max_angle, const Frequencies& frequencies);

  TokenPositions positions_;
  Role role_;
  std::vector<std::int64_t> turned_;
  std::optional<Rotations> rotations_;
  std::optional<Made> made_;
  std::int64_t held_to_ = 0;  // pairs that rest from here on, or from nearer, are held in the rows
};

// The call's mask for a pass.
[[nodiscard]] AttentionMask mask_of(const MapPass& pass, const AttentionMask& mask) noexcept;

// The call's sequences with the keys that a pass looks at; none without.
[[nodiscard]] std::vector<AttentionSequence> sequences_of(const MapPass& pass,
                                                          const AttendCall& call);

}  // namespace rotary
