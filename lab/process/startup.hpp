// SPDX-License-Identifier: Apache-2.0
// Settings that must be right before libtorch does its first work, or steps take several times
// longer: lab/README.md, "Speed on Debian".
#pragma once

#include <string>

namespace rotary::lab {

// The first thing that main() does. May start the process again, with one environment variable
// more.
void prepare_process(char** arguments);

// "OpenBLAS SkylakeX, OpenMP", or a description of the problem, for the head of a run.
[[nodiscard]] std::string blas_in_use();

}  // namespace rotary::lab
