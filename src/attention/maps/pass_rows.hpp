// SPDX-License-Identifier: Apache-2.0
// The input of attend() for one pass of a position map: the tokens' cos/sin rows, and the keys that
// each query sees.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attention/attend/attend_call.hpp"
#include "attention/maps/map_passes.hpp"
#include "rotary/result.hpp"
#include "rotary/rotations.hpp"

namespace rotary {

// Positions of the tokens of q or of k.
struct TokenPositions {
  std::int64_t batch = 1;  // 1: the same in each batch row
  std::int64_t tokens = 0;
  std::vector<std::int64_t> at;  // [batch][tokens]; 0 for tokens in no sequence
};

[[nodiscard]] TokenPositions query_positions(const AttendCall& call);

// Fails if a key has two positions.
[[nodiscard]] Result<TokenPositions> key_positions(const AttendCall& call);

// Largest distance from a key to a later query, at most mask.left. Negative if there is none.
[[nodiscard]] std::int64_t farthest_key(const AttendCall& call) noexcept;

// The cos/sin rows for q or for k. A pass remakes them only if it rotates tokens differently from
// the pass before.
class PassRows {
 public:
  PassRows(TokenPositions positions, Role role) : positions_(std::move(positions)), role_(role) {}

  // frequencies: already divided by pass.slower.
  [[nodiscard]] Status make(const MapPass& pass, const Frequencies& frequencies);

  // Requires a successful make().
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
  std::int64_t held_to_ = 0;  // distance for which the rows hold pairs at max_angle
};

// The call's mask restricted to the keys of a pass.
[[nodiscard]] AttentionMask mask_of(const MapPass& pass, const AttentionMask& mask) noexcept;

// The call's sequences restricted to the keys of a pass; empty sequences are left out.
[[nodiscard]] std::vector<AttentionSequence> sequences_of(const MapPass& pass,
                                                          const AttendCall& call);

}  // namespace rotary
