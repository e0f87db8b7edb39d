// SPDX-License-Identifier: Apache-2.0
// Settings that libtorch needs before its first work. Without them steps take several times longer
// (lab/README.md, "Speed on Debian").
#pragma once

#include <string>

namespace rotary::lab {

// Call first in main(). May restart the process with one more environment variable.
void prepare_process(char** arguments);

// For the first lines of a run: "OpenBLAS SkylakeX, OpenMP", or the problem.
[[nodiscard]] std::string blas_in_use();

}  // namespace rotary::lab
