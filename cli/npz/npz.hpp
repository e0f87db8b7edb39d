// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz files: zip archives of .npy files, stored with a fixed time for equal bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/npy/npy.hpp"

namespace rotary::cli {

struct NpzEntry {
  std::string name;  // without ".npy": what numpy.load(...)[name] asks for
  std::string npy;   // the bytes of the .npy file
};

// Requires different names. Failure: internal for errors of libzip; unsupported without it.
[[nodiscard]] std::string write_npz(std::span<const NpzEntry> entries);

// Reads arrays one by one. Failure: malformed_input, with the path, for other files, more than 64
// entries or a zip64 directory; unsupported without libzip.
class NpzFile {
 public:
  explicit NpzFile(const std::string& path);

  // Entries that end in .npy, without it.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

  // The array of names()[index]. Besides what read_npy() refuses: an entry that unpacks to more
  // than 4 MiB and 64 times the archive.
  [[nodiscard]] NpyArray read(std::size_t index, const NpyLimit& limit) const;

 private:
  std::string path_;
  std::uint64_t bytes_ = 0;  // of the archive
  std::shared_ptr<void> archive_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> indices_;  // in the archive, of names_
};

}  // namespace rotary::cli
