// SPDX-License-Identifier: Apache-2.0
// What the memory of this machine allows: an in-place scale, or a copy, of the same bytes by the
// same threads. It writes what it read: a scale by 1 changes no value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/scale/scale_in_place.hpp"
#include "rotary/executor.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::bench {

class Roofline {
 public:
  // executor: who runs the operation that it stands beside.
  explicit Roofline(Executor executor = {});

  // The features of a packed tensor that turn, scaled in place.
  void add_scale(const HeadsView& view, const HeadWindow& window);

  // A packed tensor copied to another place.
  void add_copy(const HeadsView& destination, const ConstHeadsView& source);

  [[nodiscard]] bool empty() const { return parts_.front().empty(); }
  void run(std::int64_t calls) const;

 private:
  struct Piece {
    FloatRuns scaled;  // no runs: a copy
    std::byte* destination = nullptr;
    const std::byte* source = nullptr;
    std::size_t bytes = 0;
  };
  void run_part(std::size_t part) const;

  Executor executor_;
  std::vector<std::vector<Piece>> parts_;  // one for each thread
};

}  // namespace rotary::bench
