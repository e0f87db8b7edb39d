// SPDX-License-Identifier: Apache-2.0
// The .npz functions of a tool built without libzip.
#include "apps/failure.hpp"
#include "cli/npz/npz.hpp"

namespace rotary::cli {

namespace {

[[noreturn]] void fail_without_libzip() {
  fail(ExitCode::unsupported,
       "this rotary was built without .npz: name a .npy file, or build it with "
       "-DROTARY_TOOL_NPZ=ON");
}

}  // namespace

std::string write_npz(std::span<const NpzEntry>) { fail_without_libzip(); }

NpzFile::NpzFile(const std::string&) { fail_without_libzip(); }

NpyArray NpzFile::read(std::size_t, const NpyLimit&) const { fail_without_libzip(); }

}  // namespace rotary::cli
