// SPDX-License-Identifier: Apache-2.0
// Measures this machine's memory speed: scales the bytes of an operation in place by 1, or copies
// them, with the operation's threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "rotary/executor.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::bench {

class Roofline {
 public:
  // executor: the executor of the compared operation.
  explicit Roofline(Executor executor = {});

  // Scales the rotated features of a packed tensor in place. Treats two 16-bit elements as a float.
  void add_scale(const HeadsView& view, const HeadWindow& window);

  // Copies a tensor with adjacent features. The destination may have gaps.
  void add_copy(const HeadsView& destination, const ConstHeadsView& source);

  [[nodiscard]] bool empty() const { return parts_.front().empty(); }
  void run(std::int64_t calls) const;

 private:
  void run_part(std::size_t part) const;

  Executor executor_;
  std::vector<std::vector<std::function<void()>>> parts_;  // the work of each thread
};

}  // namespace rotary::bench
