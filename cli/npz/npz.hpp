// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz files: zip archives of .npy files. All entries have the same time, so that equal
// arrays give equal bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/npy/npy.hpp"

namespace rotary::cli {

struct NpzEntry {
  std::string name;  // as in numpy.load(...)[name], without ".npy"
  std::string npy;   // the bytes of the .npy file
};

// Names must differ. Fails as internal for errors of libzip, and as unsupported without it.
[[nodiscard]] std::string write_npz(std::span<const NpzEntry> entries);

// Reads arrays one by one. Fails as malformed_input, with the path, for another kind of file, for
// more than 64 entries and for a zip64 directory. Fails as unsupported without libzip.
class NpzFile {
 public:
  explicit NpzFile(const std::string& path);

  // The entries that end in .npy, without that ending.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

  // The array of names()[index]. Refuses what read_npy() refuses, and an entry that unpacks to more
  // than 4 MiB and more than 64 times the archive.
  [[nodiscard]] NpyArray read(std::size_t index, const NpyLimit& limit) const;

 private:
  std::string path_;
  std::uint64_t bytes_ = 0;  // size of the archive
  std::shared_ptr<void> archive_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> indices_;  // for each of names_, its index in the archive
};

}  // namespace rotary::cli
