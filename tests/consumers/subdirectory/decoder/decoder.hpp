// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "rotary/rotary.hpp"

rotary::Status rotate_pair(std::array<float, 2>& pair, std::int64_t position);
