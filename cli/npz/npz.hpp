// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz files: a zip archive of .npy files, as numpy.savez writes it. Entries are stored,
// not compressed, and carry a fixed time, so the same arrays always give the same bytes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::cli {

struct NpzEntry {
  std::string name;  // without ".npy": what numpy.load(...)[name] asks for
  std::string npy;   // the bytes of the .npy file
};

// Requires names that differ. Failure: internal, when libzip reports an error; unsupported, when
// this build has none.
[[nodiscard]] std::string write_npz(std::span<const NpzEntry> entries);

// The entries that end in .npy, at most 64 of them and 1 GiB in all, whatever the archive
// announces. Failure: malformed_input for what is no archive, with the name in front; unsupported,
// when this build has no libzip.
[[nodiscard]] std::vector<NpzEntry> read_npz(std::string_view bytes, const std::string& name);

}  // namespace rotary::cli
