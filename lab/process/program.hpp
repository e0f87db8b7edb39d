// SPDX-License-Identifier: Apache-2.0
// Other programs, called without a shell.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rotary::lab {

// The program's standard output; standard error is dropped. The program is looked for on the PATH
// if its name has no slash. Absent: there is no such program, or it ended with another code than 0.
// folder: its working directory; "": this one.
[[nodiscard]] std::optional<std::string> output_of(std::vector<std::string> command,
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

// BLEU (Papineni et al. 2002) as sacreBLEU (Post 2018) measures it, called as a program: scores of
// other implementations cannot be compared with published ones.
// In a run directory, a line for each text.
inline constexpr std::string_view references_name = "references.txt";
inline constexpr std::string_view hypotheses_name = "hypotheses.txt";

struct BleuScore {
  double bleu = 0;        // 0 to 100
  double half_width = 0;  // of the 95 % interval, by bootstrap over the texts
};

// Scores files with a line for each text. Absent if the program is: `sacrebleu` on the PATH, or the
// one that the variable ROTARY_LAB_SACREBLEU names.
[[nodiscard]] std::optional<BleuScore> score_bleu(const std::string& references,
                                                  const std::string& hypotheses);

struct ComparedBleu {
  BleuScore score;
  std::optional<double> p_value;  // for being as good as the first; absent for the first
};

// Several translations of the same texts, by paired bootstrap (Koehn 2004) against the first.
[[nodiscard]] std::optional<std::vector<ComparedBleu>> compare_bleu(
    const std::string& references, std::span<const std::string> hypotheses);

// Advice for a missing program.
inline constexpr std::string_view sacrebleu_advice =
    "BLEU needs sacreBLEU: pip install sacrebleu, or ROTARY_LAB_SACREBLEU=PROGRAM";

}  // namespace rotary::lab
