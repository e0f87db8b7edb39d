// SPDX-License-Identifier: Apache-2.0
#include "lab/process/sacrebleu.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/process/program.hpp"

namespace rotary::lab {
namespace {

using nlohmann::json;

// Null where the program is absent or did not answer so.
json ask(const std::string& references, std::span<const std::string> hypotheses,
         std::string_view how) {
  const char* const chosen = std::getenv("ROTARY_LAB_SACREBLEU");
  std::vector<std::string> command = {chosen == nullptr ? "sacrebleu" : chosen, references, "-i"};
  command.insert(command.end(), hypotheses.begin(), hypotheses.end());
  // Six digits of the score; a seed for the bootstrap of its own is sacreBLEU's default, 12345.
  for (const std::string_view option :
       {std::string_view("--metrics"), std::string_view("bleu"), std::string_view("--width"),
        std::string_view("6"), std::string_view("--format"), std::string_view("json"), how}) {
    command.emplace_back(option);
  }
  const auto answer = output_of(std::move(command));
  return answer ? json::parse(*answer, nullptr, /*allow_exceptions=*/false) : json();
}

// Absent where there is none.
std::optional<double> number_at(const json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number()) return std::nullopt;
  return object[key].get<double>();
}

}  // namespace

std::optional<BleuScore> score_bleu(const std::string& references, const std::string& hypotheses) {
  const json answer = ask(references, std::span(&hypotheses, 1), "--confidence");
  const auto bleu = number_at(answer, "score");
  const auto half_width = number_at(answer, "confidence_var");
  if (!bleu || !half_width) return std::nullopt;
  return BleuScore{.bleu = *bleu, .half_width = *half_width};
}

std::optional<std::vector<ComparedBleu>> compare_bleu(const std::string& references,
                                                      std::span<const std::string> hypotheses) {
  const json answer = ask(references, hypotheses, "--paired-bs");
  if (!answer.is_array() || answer.size() != hypotheses.size()) return std::nullopt;
  std::vector<ComparedBleu> compared;
  for (const json& each : answer) {
    const json& of_system = each.contains("BLEU") ? each["BLEU"] : each;
    const auto bleu = number_at(of_system, "score");
    const auto half_width = number_at(of_system, "ci");
    if (!bleu || !half_width) return std::nullopt;
    compared.push_back({.score = {.bleu = *bleu, .half_width = *half_width},
                        .p_value = number_at(of_system, "p_value")});
  }
  return compared;
}

}  // namespace rotary::lab
