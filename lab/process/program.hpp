// SPDX-License-Identifier: Apache-2.0
// Runs other programs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rotary::lab {

// The program's standard output; standard error is dropped. A name without slashes is searched on
// PATH. Absent if the program is missing or exits with another code than 0. folder: its working
// directory; "": this one.
[[nodiscard]] std::optional<std::string> output_of(const std::vector<std::string>& command,
                                                   const std::string& folder = {});

// A temporary folder for other programs' files, removed with its content.

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
  // Writes or replaces a file; returns its path.
  std::string write(std::string_view name, std::string bytes) const;

 private:
  std::string path_;
};

// Files in a run directory with a line per text.
inline constexpr std::string_view references_name = "references.txt";
inline constexpr std::string_view hypotheses_name = "hypotheses.txt";

}  // namespace rotary::lab
