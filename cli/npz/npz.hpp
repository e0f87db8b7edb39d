// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz files: a zip archive of .npy files, as numpy.savez writes it. Entries are stored,
// not compressed, and carry a fixed time, so the same arrays always give the same bytes.
#pragma once

#include <span>
#include <string>

namespace rotary::cli {

struct NpzEntry {
  std::string name;  // without ".npy": what numpy.load(...)[name] asks for
  std::string npy;   // the bytes of the .npy file
};

// Requires names that differ. Failure: internal, when libzip reports an error; unsupported, when
// this build has none.
[[nodiscard]] std::string write_npz(std::span<const NpzEntry> entries);

}  // namespace rotary::cli
