// SPDX-License-Identifier: Apache-2.0
// For sums, differences and products that leave int64.
#pragma once

namespace rotary::fuzz {

__extension__ using int128 = __int128;

}  // namespace rotary::fuzz
