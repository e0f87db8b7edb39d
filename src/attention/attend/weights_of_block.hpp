// SPDX-License-Identifier: Apache-2.0
// Writes AttendOptions::weights of one block once its softmax is known.
#pragma once

#include <cstdint>

#include "attention/attend/block_rows.hpp"

namespace rotary {

class WeightsOfBlock : public BlockRows {
 public:
  using BlockRows::BlockRows;

  // Zeroes the weights of all keys.
  void clear() const;

  // Stores the weights of up to rows_of_group rows from first_row on for a packed tile of keys.
  // Requires the rows' limits in scratch.
  void store(std::int64_t first_row, const KeyRun& tile) const;

 private:
  [[nodiscard]] float* weights_of(std::int64_t query, std::int64_t head) const;
};

}  // namespace rotary
