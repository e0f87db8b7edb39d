// SPDX-License-Identifier: Apache-2.0
// AttendOptions::weights of one block, once its softmax is known.
#pragma once

#include <cstdint>

#include "attention/attend/block_rows.hpp"

namespace rotary {

class WeightsOfBlock : public BlockRows {
 public:
  using BlockRows::BlockRows;

  // Zeros for every key.
  void clear() const;

  // Of rows_of_group rows from first_row on, their limits and a tile of keys, packed.
  void store(std::int64_t first_row, const KeyRun& tile) const;

 private:
  [[nodiscard]] float* weights_of(std::int64_t query, std::int64_t head) const;
};

}  // namespace rotary
