// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file: the text of a Python dict with exactly the keys descr, fortran_order
// and shape, for example {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cli/npy/npy.hpp"
#include "rotary/result.hpp"

namespace rotary::cli {

struct NpyHeader {
  NpyType type = NpyType::f32;
  std::vector<std::int64_t> shape;
};

[[nodiscard]] Result<NpyHeader> parse_npy_header(std::string_view header);

}  // namespace rotary::cli
