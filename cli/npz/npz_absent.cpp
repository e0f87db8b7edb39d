// SPDX-License-Identifier: Apache-2.0
// A tool that was built without libzip.
#include "cli/failure.hpp"
#include "cli/npz/npz.hpp"

namespace rotary::cli {

namespace {

[[noreturn]] void fail_without_libzip() {
  throw Failure(ExitCode::unsupported,
                "this rotary was built without .npz: name a .npy file, or build it with "
                "-DROTARY_TOOL_NPZ=ON");
}

}  // namespace

std::string write_npz(std::span<const NpzEntry>) { fail_without_libzip(); }

std::vector<NpzEntry> read_npz(std::string_view, const std::string&) { fail_without_libzip(); }

}  // namespace rotary::cli
