// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rotary::cli {

// What goes to standard output: --json or not.
enum class OutputForm { text, json };

}  // namespace rotary::cli
