// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::lab {

// The program's standard output; standard error is dropped. A name without slashes is searched on
// PATH. Absent if the program is missing or exits with another code than 0.
[[nodiscard]] std::optional<std::string> output_of(const std::vector<std::string>& command);

// A temporary folder for other programs' files, removed with its content.
class ScratchFolder {
 public:
  ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string operator/(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }
  // Writes or replaces a file; returns its path.
  std::string write(std::string_view name, std::string bytes) const;

 private:
  std::string path_;
};

}  // namespace rotary::lab
