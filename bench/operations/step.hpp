// SPDX-License-Identifier: Apache-2.0
// Shared by the jobs: the rows of the next step, q and k, and their verification.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "bench/line.hpp"
#include "rotary/rotations.hpp"

namespace rotary::bench {

// Where the first step begins: beyond small tables, and aligned as the chunks of a prefill are.
inline constexpr std::int64_t first_position = 8192;

class StepRows {
 public:
  // The rows of the first step.
  [[nodiscard]] static Result<StepRows> make(const Setup& setup);

  // Makes the rows of the next step. The first call makes the first step again.
  [[nodiscard]] Status make_next();

  [[nodiscard]] const Rotations& rotations() const { return rotations_; }
  [[nodiscard]] const Setup& setup() const { return setup_; }
  [[nodiscard]] RotateOptions options() const {
    return {.direction = setup_.line.operation->direction, .executor = setup_.executor};
  }

  // Verifies a tensor after the first step.
  [[nodiscard]] Verification verify_first(const Sample& before, const ConstHeadsView& after) const;

 private:
  StepRows(Setup setup, Rotations rotations);

  Setup setup_;
  Rotations rotations_;
  std::int64_t position_ = first_position;
};

class StepJob : public Job {
 public:
  explicit StepJob(StepRows rows) : Job(rows.setup().executor), rows_(std::move(rows)) {}

 protected:
  [[nodiscard]] StepRows& rows() { return rows_; }
  [[nodiscard]] const Setup& setup() const { return rows_.setup(); }

 private:
  StepRows rows_;
};

// Kind: a StepJob.
template <class Kind>
Result<std::unique_ptr<Job>> prepare(const Setup& setup) {
  auto rows = StepRows::make(setup);
  if (!rows) return rows.error();
  return std::unique_ptr<Job>(std::make_unique<Kind>(*std::move(rows)));
}

struct QueryKey {
  Tensor q;
  Tensor k;
};

// Filled tensors of the line's shape.
[[nodiscard]] QueryKey make_query_key(const Line& line);
[[nodiscard]] Tensor make_keys(const Line& line);

}  // namespace rotary::bench
