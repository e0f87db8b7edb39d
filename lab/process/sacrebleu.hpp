// SPDX-License-Identifier: Apache-2.0
// BLEU (Papineni et al. 2002) as sacreBLEU (Post 2018) measures it, called as a program: scores of
// other implementations cannot be compared with published ones.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::lab {

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
