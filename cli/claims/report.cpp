// SPDX-License-Identifier: Apache-2.0
#include "cli/claims/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "cli/failure.hpp"
#include "cli/json_writer.hpp"

namespace rotary::cli::claims {
namespace {

constexpr std::size_t text_width = 98;
constexpr std::size_t name_width = 42;  // of a number

std::string_view words_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "true";
    case Verdict::holds_only_if:
      return "true only if";
    case Verdict::fails:
      return "false";
    case Verdict::needs_training:
      return "needs training";
  }
  return "unknown";
}

std::string_view words_of(Setting setting) {
  switch (setting) {
    case Setting::met:
      return "as claimed";
    case Setting::unmet:
      return "beyond the condition";
    case Setting::aside:
      return "aside";
  }
  return "unknown";
}

// Lines of the text, broken between words, each behind so many blanks.
std::string block(std::string_view text, std::size_t indent) {
  std::string lines;
  std::size_t column = 0;  // 0: a line begins
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (column > 0 && column + 1 + word.size() > text_width) {
      lines += '\n';
      column = 0;
    }
    lines += column == 0 ? std::string(indent, ' ') : " ";
    column += word.size() + (column == 0 ? indent : 1);
    lines += word;
  }
  return lines + '\n';
}

std::string number_text(const Number& number) {
  const auto& [least, most] = number.expected;
  const std::string from = fmt::format("{:.6g}", least);
  const std::string to = fmt::format("{:.6g}", most);
  return fmt::format("       {:<{}} {:>12.6g}   expected {}{}\n", number.name, name_width,
                     number.value, from, from == to ? "" : " to " + to);
}

std::string evidence_text(const Evidence& evidence) {
  std::string text = block(fmt::format("{}: {}", words_of(evidence.setting), evidence.computed), 4);
  const bool decides = evidence.setting != Setting::aside;
  text += block(
      decides ? fmt::format("{}: {}", evidence.relation, evidence.holds ? "holds" : "does not hold")
              : evidence.relation,
      6);
  for (const Number& number : evidence.numbers) text += number_text(number);
  return text;
}

// How to try it; "" where no experiment does.
std::string lab_text(const Claim& claim) {
  if (claim.experiments.empty()) return {};
  const std::string names = fmt::format("{}", fmt::join(claim.experiments, " "));
  return fmt::format("in the lab: rotary-lab run {}, then rotary-lab results {}", names, names);
}

void write_evidence(JsonWriter& json, const Evidence& evidence) {
  json.begin_object();
  json.member("setting", to_string(evidence.setting));
  json.member("computed", evidence.computed);
  json.member("relation", evidence.relation);
  json.member("holds", evidence.holds);
  json.key("numbers");
  json.begin_array();
  for (const Number& number : evidence.numbers) {
    json.begin_object();
    json.member("name", number.name);
    json.member("value", number.value);
    json.array("expected", std::array{number.expected.least, number.expected.most});
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_finding(JsonWriter& json, const Finding& finding) {
  const Claim& claim = finding.claim;
  json.begin_object();
  json.member("number", claim.number);
  json.member("name", claim.name);
  json.member("statement", claim.statement);
  json.member("verdict", to_string(claim.verdict));
  json.member("condition", claim.condition);
  json.key("evidence");
  json.begin_array();
  for (const Evidence& evidence : finding.evidence) write_evidence(json, evidence);
  json.end_array();
  json.key("published");
  json.begin_array();
  for (const auto& [what, source] : claim.published) {
    json.begin_object();
    json.member("what", what);
    json.member("source", source);
    json.end_object();
  }
  json.end_array();
  json.array("experiments", claim.experiments);
  json.end_object();
}

}  // namespace

std::string overview_text(std::span<const Finding> findings) {
  std::string text;
  for (const auto& [claim, evidence, contradictions] : findings) {
    text += fmt::format("{:>2}  {:<14}  {}\n", claim.number, words_of(claim.verdict), claim.name);
    text += block(claim.statement, 20);
    text += block(claim.condition, 22);
    if (claim.verdict == Verdict::needs_training) text += block(lab_text(claim), 22);
  }
  const auto count = [&](Verdict verdict) {
    return std::ranges::count(findings, verdict,
                              [](const Finding& finding) { return finding.claim.verdict; });
  };
  return text + fmt::format(
                    "\n{} claims: {} true, {} true under a condition, {} false, {} for the "
                    "lab. Evidence: rotary claims NUMBER\n",
                    findings.size(), count(Verdict::holds), count(Verdict::holds_only_if),
                    count(Verdict::fails), count(Verdict::needs_training));
}

std::string evidence_text(std::span<const Finding> findings) {
  std::string text;
  for (const auto& [claim, evidence, contradictions] : findings) {
    if (!text.empty()) text += '\n';
    text += fmt::format("{}  {}\n", claim.number, claim.name);
    text += block(fmt::format("claim: {}", claim.statement), 4);
    text += block(fmt::format("{}: {}", words_of(claim.verdict), claim.condition), 4);
    for (const Evidence& each : evidence) text += '\n' + evidence_text(each);
    if (!claim.published.empty()) text += "\n    published:\n";
    for (const auto& [what, source] : claim.published)
      text += block(fmt::format("{} ({})", what, source), 6);
    const std::string lab = lab_text(claim);
    if (!lab.empty()) text += '\n' + block(lab, 4);
  }
  return text;
}

std::string findings_json(std::span<const Finding> findings) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", 1);
  json.key("claims");
  json.begin_array();
  for (const Finding& finding : findings) write_finding(json, finding);
  json.end_array();
  json.end_object();
  return std::move(json).finish();
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
