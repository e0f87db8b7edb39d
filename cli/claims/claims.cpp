// SPDX-License-Identifier: Apache-2.0
#include "cli/claims/claims.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstddef>

#include "apps/failure.hpp"
#include "apps/json.hpp"
#include "cli/text_table.hpp"

namespace rotary::cli::claims {
namespace {

struct SettingWords {
  std::string_view name, text;
};

// The entry of index i is for Setting i.
constexpr std::array<SettingWords, 3> settings = {{{"condition_met", "as claimed"},
                                                   {"condition_unmet", "beyond the condition"},
                                                   {"aside", "aside"}}};

// "true only if", with blanks in place of underscores.
std::string words_of(Verdict verdict) {
  std::string words(to_string(verdict));
  std::ranges::replace(words, '_', ' ');
  return words;
}

std::string block(std::string_view text, std::size_t indent) { return wrapped(text, indent, 98); }

std::string text_of(const Evidence& evidence) {
  std::string relation = evidence.relation;
  if (evidence.setting != Setting::aside) {
    relation += evidence.holds ? ": holds" : ": does not hold";
  }
  std::string text =
      block(fmt::format("{}: {}", settings[static_cast<std::size_t>(evidence.setting)].text,
                        evidence.computed),
            4) +
      block(relation, 6);
  for (const auto& [name, value, expected] : evidence.numbers) {
    const std::string from = fmt::format("{:.6g}", expected.least);
    const std::string to = fmt::format("{:.6g}", expected.most);
    text += fmt::format("       {:<42} {:>12.6g}   expected {}{}\n", name, value, from,
                        from == to ? "" : " to " + to);
  }
  return text;
}

// The rotary-lab experiments that test the claim; "" if there are none.
std::string lab_text(const Claim& claim, std::size_t indent) {
  if (claim.experiments.empty()) return {};
  const std::string names = fmt::format("{}", fmt::join(claim.experiments, " "));
  return block(
      fmt::format("in the lab: rotary-lab run {}, then rotary-lab results {}", names, names),
      indent);
}

Json evidence_json(const Evidence& evidence) {
  return {
      {"setting", settings[static_cast<std::size_t>(evidence.setting)].name},
      {"computed", evidence.computed},
      {"relation", evidence.relation},
      {"holds", evidence.holds},
      {"numbers", json_array(evidence.numbers, [](const Number& number) {
         const auto& [least, most] = number.expected;
         return Json{{"name", number.name}, {"value", number.value}, {"expected", {least, most}}};
       })}};
}

Json finding_json(const Finding& finding) {
  const Claim& claim = finding.claim;
  return {{"number", claim.number},
          {"name", claim.name},
          {"statement", claim.statement},
          {"verdict", to_string(claim.verdict)},
          {"condition", claim.condition},
          {"evidence", json_array(finding.evidence, evidence_json)},
          {"published",
           json_array(claim.published,
                      [](const Published& published) {
                        return Json{{"what", published.what}, {"source", published.source}};
                      })},
          {"experiments", claim.experiments}};
}

}  // namespace

std::string_view to_string(Verdict verdict) noexcept {
  static constexpr std::string_view names[] = {"true", "true_only_if", "false", "needs_training"};
  return names[static_cast<std::size_t>(verdict)];
}

std::optional<Verdict> verdict_of(const std::vector<Evidence>& evidence) {
  int held = 0;
  int failed = 0;
  int against_condition = 0;  // holds although the condition is unmet, or fails although it is met
  for (const Evidence& each : evidence) {
    if (each.setting == Setting::aside) continue;
    ++(each.holds ? held : failed);
    if (each.holds != (each.setting == Setting::met)) ++against_condition;
  }
  if (held + failed == 0) return Verdict::needs_training;
  if (failed == 0) return Verdict::holds;
  if (held == 0) return Verdict::fails;
  if (against_condition == 0) return Verdict::holds_only_if;
  return std::nullopt;
}

Finding examine(const Claim& claim) {
  Finding finding{.claim = claim, .evidence = claim.examine(), .contradictions = {}};
  for (const Evidence& each : finding.evidence) {
    if (each.setting == Setting::aside && !each.holds) {
      finding.contradictions.push_back(fmt::format("{}: must hold and does not", each.relation));
    }
    for (const auto& [name, value, expected] : each.numbers) {
      if (expected.contains(value)) continue;
      finding.contradictions.push_back(fmt::format("{} must be in [{:.9g}, {:.9g}], got {:.9g}",
                                                   name, expected.least, expected.most, value));
    }
  }
  const std::optional<Verdict> verdict = verdict_of(finding.evidence);
  if (verdict != claim.verdict) {
    finding.contradictions.push_back(
        fmt::format("the verdict must be {}, got {}", to_string(claim.verdict),
                    verdict ? to_string(*verdict) : "evidence that does not follow the condition"));
  }
  return finding;
}

std::span<const Claim> all_claims() {
  static const std::vector<Claim> all = [] {
    std::vector<Claim> claims;
    for (const auto of_topic : {encoding_claims, rotary_claims, similarity_claims, frequency_claims,
                                model_claims, sentence_claims}) {
      for (const Claim& claim : of_topic()) claims.push_back(claim);
    }
    std::ranges::sort(claims, {}, &Claim::number);
    return claims;
  }();
  return all;
}

std::string overview_text(std::span<const Finding> findings) {
  const auto count = [&](Verdict verdict) {
    return std::ranges::count(findings, verdict,
                              [](const Finding& finding) { return finding.claim.verdict; });
  };
  std::string text = fmt::format(
      "{} claims: {} true, {} true under a condition, {} false, {} for the lab. "
      "Evidence: rotary claims NUMBER\n\n",
      findings.size(), count(Verdict::holds), count(Verdict::holds_only_if), count(Verdict::fails),
      count(Verdict::needs_training));
  for (const auto& [claim, evidence, contradictions] : findings) {
    text += fmt::format("{:>2}  {}\n", claim.number, claim.name) +
            block(fmt::format("claim: {}", claim.statement), 4) +
            block(fmt::format("{}: {}", words_of(claim.verdict), claim.condition), 4);
    if (claim.verdict == Verdict::needs_training) text += lab_text(claim, 4);
  }
  return text;
}

std::string evidence_text(std::span<const Finding> findings) {
  std::string text;
  for (const auto& [claim, evidence, contradictions] : findings) {
    text += fmt::format("{}{}  {}\n", text.empty() ? "" : "\n", claim.number, claim.name);
    text += block(fmt::format("claim: {}", claim.statement), 4);
    text += block(fmt::format("{}: {}", words_of(claim.verdict), claim.condition), 4);
    for (const Evidence& each : evidence) text += '\n' + text_of(each);
    if (!claim.published.empty()) text += "\n    published:\n";
    for (const auto& [what, source] : claim.published) {
      text += block(fmt::format("{} ({})", what, source), 6);
    }
    const std::string lab = lab_text(claim, 4);
    if (!lab.empty()) text += '\n' + lab;
  }
  return text;
}

std::string findings_json(std::span<const Finding> findings) {
  return printed({{"schema_version", 1}, {"claims", json_array(findings, finding_json)}});
}

void check(std::span<const Finding> findings) {
  std::string message;
  for (const Finding& finding : findings) {
    for (const std::string& contradiction : finding.contradictions) {
      message += fmt::format("{}claim {} ({}) is contradicted: {}", message.empty() ? "" : "; ",
                             finding.claim.number, finding.claim.name, contradiction);
    }
  }
  if (!message.empty()) throw Failure(ExitCode::check_failed, message);
}

}  // namespace rotary::cli::claims
