// SPDX-License-Identifier: Apache-2.0
#include "rotary/rotations.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "kernels/kernels.hpp"
#include "rotation/active_kernels.hpp"
#include "rotation/head_window.hpp"
#include "rotation/phase_steps.hpp"

namespace rotary {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

Status validate(const Frequencies& frequencies) {
  if (auto status = validate(frequencies.window); !status) return status;
  const std::int64_t pairs = frequencies.window.pairs();
  if (static_cast<std::int64_t>(frequencies.turns.size()) != pairs) {
    return invalid_argument("frequencies.turns must have one entry for each pair, ", pairs,
                            "; got ", frequencies.turns.size());
  }
  if (frequencies.steps.size() != phase_step_count(pairs)) {
    return invalid_argument("frequencies.steps must be those of make_frequencies, ",
                            phase_step_count(pairs), " entries; got ", frequencies.steps.size());
  }
  return validate_attention_factor(frequencies.attention_factor);
}

Status validate_counts(std::int64_t batch, std::int64_t tokens) {
  if (batch < 1) return invalid_argument("positions must have a batch of at least 1, got ", batch);
  if (tokens < 0) return invalid_argument("positions must have at least 0 tokens, got ", tokens);
  return {};
}

Status validate(const ConsecutivePositions& positions) {
  if (auto status = validate_counts(1, positions.tokens); !status) return status;
  if (positions.tokens > 0 && positions.first > largest - (positions.tokens - 1)) {
    return invalid_argument("positions must stay within int64, got ", positions.tokens,
                            " tokens from ", positions.first);
  }
  return {};
}

template <class Integer>
Status validate(const PositionArray<Integer>& positions) {
  if (auto status = validate_counts(positions.batch, positions.tokens); !status) return status;
  if (positions.data == nullptr && positions.tokens > 0) {
    return invalid_argument("positions must point to data, got null for ", positions.tokens,
                            " tokens");
  }
  return {};
}

std::int64_t batch_of(const ConsecutivePositions&) { return 1; }
template <class Integer>
std::int64_t batch_of(const PositionArray<Integer>& positions) {
  return positions.batch;
}

void make_rows(const ConsecutivePositions& positions, const kernels::KernelTable& kernels,
               kernels::RowsJob job) {
  job.first_position = static_cast<std::uint64_t>(positions.first);
  job.tokens = positions.tokens;
  kernels.make_rows(job);
}

// Run by run: packed documents and padding are consecutive over long stretches.
template <class Integer>
void make_rows(const PositionArray<Integer>& positions, const kernels::KernelTable& kernels,
               kernels::RowsJob job) {
  for (std::int64_t batch = 0; batch < positions.batch; ++batch) {
    const auto position_at = [&](std::int64_t token) {
      const Integer position =
          positions.data[batch * positions.batch_stride + token * positions.token_stride];
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(position));
    };
    for (std::int64_t token = 0; token < positions.tokens; token += job.tokens) {
      job.first_position = position_at(token);
      job.tokens = 1;
      while (token + job.tokens < positions.tokens &&
             position_at(token + job.tokens) ==
                 job.first_position + static_cast<std::uint64_t>(job.tokens)) {
        ++job.tokens;
      }
      kernels.make_rows(job);
      job.rows += job.tokens * 2 * job.lane_stride;
    }
  }
}

// The floats of all rows, or nothing when they cannot be counted.
std::optional<std::size_t> row_floats(std::int64_t batch, std::int64_t tokens,
                                      std::int64_t lane_stride) {
  const std::int64_t row = 2 * lane_stride;
  if (tokens > largest / row || batch > largest / std::max<std::int64_t>(tokens * row, 1))
    return std::nullopt;
  return static_cast<std::size_t>(batch * tokens * row);
}

}  // namespace

Status remake_rotations(Rotations& rotations, const Frequencies& frequencies,
                        const Positions& positions) noexcept {
  return guarded([&]() -> Status {
    if (auto status = validate(frequencies); !status) return status;
    if (auto status = std::visit([](const auto& p) { return validate(p); }, positions); !status) {
      return status;
    }
    const auto kernels = active_kernels();
    if (!kernels) return kernels.error();
    const std::int64_t batch = std::visit([](const auto& p) { return batch_of(p); }, positions);
    const std::int64_t tokens = std::visit([](const auto& p) { return p.tokens; }, positions);
    const std::int64_t lane_stride = lane_stride_for(frequencies.window.pairs());
    const auto floats = row_floats(batch, tokens, lane_stride);
    if (!floats) {
      return invalid_argument("the rows must fit in memory, got batch ", batch, " of ", tokens,
                              " tokens");
    }
    rotations.rows_.resize(*floats);  // the last thing that can fail
    rotations.window_ = frequencies.window;
    rotations.attention_factor_ = frequencies.attention_factor;
    rotations.batch_ = batch;
    rotations.tokens_ = tokens;
    rotations.lane_stride_ = lane_stride;
    const kernels::RowsJob job{.turns = frequencies.turns.data(),
                               .steps = frequencies.steps.data(),
                               .pairs = frequencies.window.pairs(),
                               .lane_stride = lane_stride,
                               .attention_factor = frequencies.attention_factor,
                               .first_position = 0,
                               .tokens = 0,
                               .rows = rotations.rows_.data()};
    std::visit([&](const auto& p) { make_rows(p, **kernels, job); }, positions);
    return {};
  });
}

Result<Rotations> make_rotations(const Frequencies& frequencies,
                                 const Positions& positions) noexcept {
  Rotations rotations(frequencies.window);
  if (auto status = remake_rotations(rotations, frequencies, positions); !status) {
    return std::move(status).error();
  }
  return rotations;
}

}  // namespace rotary
