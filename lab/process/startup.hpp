// SPDX-License-Identifier: Apache-2.0
// Settings needed before libtorch does its first work; otherwise steps take several times longer:
// lab/README.md, "Speed on Debian".
#pragma once

#include <string>

namespace rotary::lab {

// Call first in main(). May restart the process with one more environment variable.
void prepare_process(char** arguments);

// For the head of a run: "OpenBLAS SkylakeX, OpenMP", or the problem.
[[nodiscard]] std::string blas_in_use();

}  // namespace rotary::lab
