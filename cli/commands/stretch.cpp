// SPDX-License-Identifier: Apache-2.0
// rotary stretch: settings that let a model read more tokens than it was trained on.
#include "cli/stretch/stretch.hpp"

#include <cmath>

#include "cli/commands/commands.hpp"

namespace rotary::cli {
namespace stretch_call {
namespace {

struct Arguments {
  ModelOptions model;
  std::int64_t tokens = 0;
  std::optional<std::string> drafter;
};

std::string line(std::string_view label, std::string_view text) {
  constexpr std::size_t indent = 16;
  return fmt::format("  {:<14}{}", label, wrapped(text, indent, 88).substr(indent));
}

std::string candidate_text(const StretchCandidate& candidate) {
  std::string text = fmt::format("\n{}\n", candidate.rule);
  if (!candidate.published.empty()) text += line("published", printable(candidate.published));
  // One line, ready to copy.
  text += fmt::format("  {:<14}{}\n", "config.json", printable(dumped(candidate.settings)));
  if (candidate.refusal) return text + line("refused", printable(*candidate.refusal));
  for (const StretchedRotary& each : candidate.rotary) {
    std::string change = each.layer_type ? fmt::format("{}: ", *each.layer_type) : "";
    change += fmt::format("{} of {} pairs; neighbours' angles by up to {:.3g} radians",
                          each.changed_pairs, each.pairs, each.largest_angle_change);
    if (std::abs(each.score_factor - 1) > 1e-12)
      change += fmt::format("; scores grow by {:.4g}", each.score_factor);
    text += line("changes", change);
  }
  text += line("fine-tuning", candidate.fine_tuning);
  for (const StretchedEngine& each : candidate.engines) {
    const bool has_flags = !each.flags.empty();
    if (has_flags) text += fmt::format("  {:<14}{}\n", each.engine, printable(each.flags));
    if (!each.remark.empty() || !has_flags)
      text += line(has_flags ? "" : each.engine,
                   each.remark.empty() ? "by config.json" : printable(each.remark));
  }
  return text;
}

Json candidate_json(const StretchCandidate& candidate) {
  return {{"rule", candidate.rule},
          {"published", text_or_null(candidate.published)},
          {"settings", candidate.settings},
          {"refusal", candidate.refusal},
          {"fine_tuning", candidate.fine_tuning},
          {"rotary", json_array(candidate.rotary,
                                [](const StretchedRotary& each) -> Json {
                                  return {{"layer_type", each.layer_type},
                                          {"pairs", each.pairs},
                                          {"changed_pairs", each.changed_pairs},
                                          {"largest_angle_change", each.largest_angle_change},
                                          {"score_factor", each.score_factor}};
                                })},
          {"engines", json_array(candidate.engines, [](const StretchedEngine& each) -> Json {
             return {{"engine", each.engine},
                     {"flags", text_or_null(each.flags)},
                     {"remark", text_or_null(each.remark)}};
           })}};
}

// A drafter sees its model's positions, but keeps its own base and rule.
std::string drafter_sentence(const std::string& drafter, const ModelOptions& options,
                             std::int64_t tokens) {
  ModelOptions its = options;
  its.config = drafter;
  const Stretch own = stretch_model(its, tokens);
  return fmt::format(
      "The drafter rotates its own queries and keys: its base and rule stay those it was trained "
      "with, whatever the target has. {}",
      own.candidates.empty() ? "It holds that many tokens."
                             : fmt::format("It holds {} tokens, so it must be stretched, too: "
                                           "`rotary stretch {} {}`.",
                                           own.trained_tokens, drafter, tokens));
}

std::string first_sentence(const Stretch& stretch) {
  if (stretch.tokens <= stretch.trained_tokens)
    return fmt::format("The model holds {} tokens: set nothing for {}.", stretch.trained_tokens,
                       stretch.tokens);
  std::string text = fmt::format(
      "The model holds {} tokens; {} are {:.4g} times as many.", stretch.trained_tokens,
      stretch.tokens,
      static_cast<double>(stretch.tokens) / static_cast<double>(stretch.trained_tokens));
  if (stretch.candidates.empty()) return text;
  const StretchCandidate& likeliest = stretch.candidates.front();
  if (likeliest.refusal) return text;
  return text + fmt::format(" The likeliest setting is {}{}{}.", likeliest.rule,
                            likeliest.published.empty() ? "" : ", published by ",
                            likeliest.published);
}

Answer run(const Arguments& arguments, OutputForm form) {
  const Stretch stretch = stretch_model(arguments.model, arguments.tokens);
  const std::string drafter =
      arguments.drafter ? drafter_sentence(*arguments.drafter, arguments.model, arguments.tokens)
                        : "";
  if (form == OutputForm::json)
    return printed({{"schema_version", 1},
                    {"tokens", stretch.tokens},
                    {"trained_context_tokens", stretch.trained_tokens},
                    {"warnings", stretch.warnings},
                    {"remark", text_or_null(stretch.remark)},
                    {"drafter", text_or_null(drafter)},
                    {"candidates", json_array(stretch.candidates, candidate_json)}});
  print_warnings("stretch", stretch.warnings);
  std::string text = wrapped(first_sentence(stretch), 0, 88);
  if (!stretch.remark.empty()) text += wrapped(stretch.remark, 0, 88);
  if (!drafter.empty()) text += wrapped(printable(drafter), 0, 88);
  for (const StretchCandidate& each : stretch.candidates) text += candidate_text(each);
  return text;
}

void declare(OptionParser& parser, Arguments& arguments) {
  parser.add("MODEL", arguments.model.config, std::string(config_help)).required();
  parser
      .add("TOKENS", arguments.tokens, integer({1, std::int64_t{1} << 31}),
           "how many tokens it must read")
      .required();
  parser.add("--drafter CONFIG", arguments.drafter,
             "a model that drafts for this one: whether it must be stretched, too");
  declare_model_options(parser, arguments.model);
  parser.only({"--context"}, "other commands: TOKENS is the context", [] { return false; });
}

}  // namespace
}  // namespace stretch_call

constinit const Command stretch_command{
    .name = "stretch",
    .summary = "Say which settings let a model read more tokens",
    .examples =
        "  rotary stretch qwen2.5-7b 131072\n"
        "  rotary stretch config.json 65536 --json | jq '.candidates[0].settings'\n"
        "  rotary stretch target/config.json 65536 --drafter drafter/config.json\n",
    .declare = declared<stretch_call::declare, stretch_call::run>,
};

}  // namespace rotary::cli
