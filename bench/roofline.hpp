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

  // A tensor whose features are adjacent copied to another place, where its heads or tokens may lie
  // further apart.
  void add_copy(const HeadsView& destination, const ConstHeadsView& source);

  [[nodiscard]] bool empty() const { return parts_.front().empty(); }
  void run(std::int64_t calls) const;

 private:
  // [tokens][heads] runs of so many bytes; strides in bytes.
  struct CopiedHeads {
    std::byte* destination = nullptr;
    const std::byte* source = nullptr;
    std::int64_t tokens = 0;
    std::int64_t heads = 0;
    std::int64_t bytes = 0;
    Strides destination_strides = {};
    Strides source_strides = {};
  };
  struct Piece {
    FloatRuns scaled = {};  // no runs: a copy
    CopiedHeads copied = {};
  };
  static void copy(const CopiedHeads& copied);
  void run_part(std::size_t part) const;

  Executor executor_;
  std::vector<std::vector<Piece>> parts_;  // one for each thread
};

}  // namespace rotary::bench
