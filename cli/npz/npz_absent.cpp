// SPDX-License-Identifier: Apache-2.0
// A tool that was built without libzip.
#include "cli/failure.hpp"
#include "cli/npz/npz.hpp"

namespace rotary::cli {

std::string write_npz(std::span<const NpzEntry>) {
  throw Failure(ExitCode::unsupported,
                "this rotary was built without .npz: name a .npy file, or build it with "
                "-DROTARY_TOOL_NPZ=ON");
}

}  // namespace rotary::cli
