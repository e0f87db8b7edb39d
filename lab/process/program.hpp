// SPDX-License-Identifier: Apache-2.0
// Other programs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rotary::lab {

// The program's standard output; standard error is dropped. The program is looked for on the PATH
// if its name has no slash. Absent: there is no such program, or it ended with another code than 0.
// folder: its working directory; "": this one.
[[nodiscard]] std::optional<std::string> output_of(const std::vector<std::string>& command,
                                                   const std::string& folder = {});

// A temporary folder for files that other programs read and write, removed with its content.

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

// In a run directory, a line for each text.
inline constexpr std::string_view references_name = "references.txt";
inline constexpr std::string_view hypotheses_name = "hypotheses.txt";

}  // namespace rotary::lab
