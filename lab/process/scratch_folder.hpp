// SPDX-License-Identifier: Apache-2.0
// A temporary folder for files that other programs read and write, removed with its content.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace rotary::lab {

class ScratchFolder {
 public:
  ScratchFolder();
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string operator/(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }
  // Writes a file with these bytes, replacing one that exists; returns its path.
  std::string write(std::string_view name, std::string bytes) const;

 private:
  std::string path_;
};

}  // namespace rotary::lab
