// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM as a question that the training loop asks between two steps.
#pragma once

namespace rotary::lab {

// From now on the two signals only set the result of interrupted(); a second one ends the process.
void watch_interruption();

[[nodiscard]] bool interrupted() noexcept;

}  // namespace rotary::lab
