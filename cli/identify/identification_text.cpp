// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "apps/failure.hpp"
#include "apps/printable.hpp"
#include "cli/arguments.hpp"
#include "cli/identify/identification.hpp"
#include "cli/model_input.hpp"
#include "cli/text_table.hpp"
#include "rotary/spec_json.hpp"

namespace rotary::cli {
namespace {

constexpr std::size_t most_lines = 12;
constexpr std::size_t text_width = 90;

// A single cause becomes the headline.
bool is_told_first(const Identification& found) {
  return found.verdict == Verdict::another_cause && found.explanations.front().causes.size() == 1;
}

std::string_view headline(const Identification& found) {
  if (found.verdict == Verdict::as_configured)
    return "as configured: the config explains the numbers";
  if (found.verdict == Verdict::unexplained)
    return "unexplained: neither the config nor a known mistake, nor two at once, explains the "
           "numbers";
  if (is_told_first(found)) return found.explanations.front().causes.front().sentence;
  return found.verdict == Verdict::described
             ? "described: this rotary embedding explains the numbers"
             : "another cause: the config does not explain the numbers, this does";
}

std::string change_text(const Cause& cause) {
  return (cause.rule.empty() ? "" : fmt::format("{}: ", cause.rule)) + fields_text(cause);
}

std::string causes_text(const Explanation& explanation) {
  if (explanation.causes.empty()) return "as configured";
  return printable(names_text(explanation.causes, change_text, "; and "));
}

std::string_view arithmetic_words(FoundArithmetic arithmetic) {
  if (arithmetic == FoundArithmetic::exact) return "exact";
  if (arithmetic == FoundArithmetic::float32_angles) return "angles in float32";
  return arithmetic == FoundArithmetic::rounded_rows ? "angles in float32, cos and sin rounded"
                                                     : "angles in float32, every step rounded";
}

std::string best_text(const Identification& found) {
  const Explanation& best = found.explanations.front();
  std::string text;
  for (const Cause& cause : best.causes) {
    if (cause.hypothesis->group == CauseGroup::positions && cause.fields.size() > 1) {
      text += "\n";
      for (const FieldDifference& field : cause.fields)
        text += fmt::format("  {}: {} -> {}\n", field.field, field.one, field.other);
    } else {
      text += fmt::format("\n  {}\n", printable(change_text(cause)));
    }
    if (found.verdict == Verdict::described) continue;
    if (!is_told_first(found)) text += wrapped(cause.sentence, 4, text_width);
    text += wrapped(fmt::format("Next: {}", cause.hypothesis->advice), 4, text_width);
  }
  if (found.verdict == Verdict::described && best.spec)
    text += fmt::format("\n  {}\n", value_or_fail(to_json(*best.spec)));
  return text + fmt::format(
                    "\n  residual {:.2g} (rounding explains {:.2g}), {:.1f} % of the bits equal, "
                    "arithmetic: {}\n",
                    best.residual, found.tolerance, 100 * best.bit_equal,
                    arithmetic_words(best.arithmetic));
}

// Lists explanations that fit as well as the first one.
std::string ties_text(const Identification& found) {
  const auto others = std::span(found.explanations).subspan(1, found.tied - 1);
  const std::size_t least = found.explanations.front().causes.size();
  const auto is_listed = [&](const Explanation& each) { return each.causes.size() <= least + 1; };
  std::string text;
  std::size_t shown = 0;
  for (const Explanation& each : others) {
    const bool has_more_causes = each.causes.size() > std::max<std::size_t>(least, 1);
    if (!is_listed(each) || has_more_causes || shown == most_lines) break;
    const std::string dump =
        each.separating_position ? fmt::format("dump a token at p >= {}", *each.separating_position)
        : each.separating_grid   ? "dump tokens of an image: coordinates that differ"
                                 : "the same at every position up to 2^20";
    text += fmt::format("  {:<52} {}\n", causes_text(each), dump);
    ++shown;
  }
  if (shown > 0) text = "\nThese numbers cannot tell it from:\n" + text;
  const std::size_t rest = others.size() - shown;
  if (rest == 0) return text;
  return text + fmt::format("{}{} more explanation{} (--json)\n", shown > 0 ? "  " : "\n", rest,
                            rest == 1 ? " fits" : "s fit");
}

std::string closest_text(const Identification& found) {
  constexpr double far = 0.5;  // half of the input's size is unexplained
  std::string text;
  for (const Explanation& each : found.explanations) {
    if (each.residual > far || std::ranges::count(text, '\n') == 3) break;
    text += fmt::format("  {:<52} residual {:.2g}\n", causes_text(each), each.residual);
  }
  text = text.empty() ? "\nNothing came close.\n" : "\nWhat came closest:\n" + text;
  constexpr double most_rounding = 10;  // tolerances; a rotation changes lengths only by rounding
  if (found.structure && found.structure->deviation > most_rounding * found.tolerance)
    text += wrapped(
        fmt::format("Lengths within pairs changed by {:.2g}: something other than a rotation is "
                    "between the dumps (QK-norm?), or they are not of the same tokens.",
                    found.structure->deviation),
        2, text_width);
  return text + wrapped(
                    "Next: make sure that both dumps are of the same tokens, heads and layer; "
                    "dump float32 if you can, at 8 consecutive positions from 1000 on and at "
                    "position 0; and look at the structure below, which needs no hypothesis.",
                    2, text_width);
}

// Names the rounded steps, if the bits determine them.
std::string rounding_text(const Identification& found) {
  constexpr double known_bits = 0.99;
  const Explanation& best = found.explanations.front();
  const bool is_known = best.bit_equal >= known_bits;
  const std::string text =
      fmt::format("{} in {}", arithmetic_words(best.arithmetic), to_string(found.dtype));
  if (!is_known)
    return fmt::format("no known order; nearest, {:.1f} %: {}", 100 * best.bit_equal, text);
  if (best.arithmetic == FoundArithmetic::rounded_rows) return text + " (--numerics vllm)";
  return text + (best.arithmetic == FoundArithmetic::every_step ? " (Llama in Transformers)" : "");
}

std::string parting_text(const Identification& one, const OtherProgram& other) {
  if (other.parting == Parting::none) return "--after and --other have the same bits.";
  if (other.parting == Parting::rounding)
    return fmt::format("--after and --other differ only by rounding. --after: {}. --other: {}.",
                       rounding_text(one), rounding_text(other.found));
  if (other.parting == Parting::more)
    return fmt::format(
        "--after and --other differ by more than rounding. --after: {}. --other: {}.",
        causes_text(one.explanations.front()), causes_text(other.found.explanations.front()));
  return fmt::format(
      "Nothing explains {}: whether it differs from the other by more than rounding is "
      "not known.",
      one.tied == 0 ? "--after" : "--other");
}

// Names tokens without a position, and tokens with two.
std::string positions_text(const ReadPositions& positions, DType dtype) {
  std::string text;
  if (positions.unread > 0)
    text += fmt::format("no position explains {} of {} tokens\n", positions.unread,
                        positions.batch * positions.tokens);
  const auto alias =
      std::ranges::find_if(positions.aliases, [](double each) { return !std::isnan(each); });
  if (alias == positions.aliases.end()) return text;
  const auto token = alias - positions.aliases.begin();
  return text + fmt::format(
                    "token {} may as well be at {}: {} does not tell; dump float32, or "
                    "a token before it\n",
                    token % positions.tokens, *alias, to_string(dtype));
}

}  // namespace

std::string fields_text(const Cause& cause) {
  const std::string changes = names_text(cause.fields, [](const FieldDifference& field) {
    return fmt::format("{} {} -> {}", field.field, field.one, field.other);
  });
  return changes.empty() ? std::string(cause.hypothesis->name) : changes;
}

Parting parting_of(const Identification& one, const Identification& other) {
  if (one.tied == 0 || other.tied == 0) return Parting::unknown;
  const bool is_alike =
      causes_text(one.explanations.front()) == causes_text(other.explanations.front());
  return is_alike ? Parting::rounding : Parting::more;
}

std::string identification_text(const IdentifyAnswer& answer) {
  const Identification& found = answer.found;
  std::string text = wrapped(headline(found), 0, text_width);
  if (!answer.right_layout.empty())
    text = fmt::format(
        "two readings: with the axes {} as configured, with {} another cause; say --layout\n",
        answer.right_layout, answer.layout);
  for (const std::string& note : answer.notes) text += wrapped("Note: " + note, 0, text_width);
  if (answer.other) text += wrapped(parting_text(found, *answer.other), 0, text_width);
  if (found.tied > 0) text += best_text(found);
  if (found.tied > 1) text += ties_text(found);
  if (found.tied == 0 && !found.explanations.empty()) text += closest_text(found);
  text += "\n";
  if (const auto& structure = found.structure) {
    const HeadWindow& window = structure->window;
    const std::string turning = fmt::format(
        "{} of {} features turn from feature {} on; {}; attention factor {:.6g}; lengths agree "
        "within {:.2g}",
        window.rotary_dim, window.head_dim, window.first_feature, pairing_text(window),
        structure->attention_factor, structure->deviation);
    text += wrapped("structure, from lengths alone: " +
                        (structure->rotated ? turning : std::string("nothing turns")),
                    0, text_width);
  }
  if (found.first_position)
    text += fmt::format("first position: {} (found)\n", *found.first_position);
  if (found.positions) text += positions_text(*found.positions, found.dtype);
  const std::string layout = answer.layout.empty() ? "" : fmt::format(" ({})", answer.layout);
  if (found.checked_tokens > 0)
    text += fmt::format("compared all heads of {} tokens\n", found.checked_tokens);
  text +=
      found.structure
          ? fmt::format("looked at {} {}, {} {} of {}{}", found.tokens,
                        found.tokens == 1 ? "token" : "tokens", found.heads,
                        found.heads == 1 ? "head" : "heads", to_string(found.dtype), layout)
          : fmt::format("compared at {} position{}", found.tokens, found.tokens == 1 ? "" : "s");
  return text + fmt::format("; tried {} mistakes, {} pairs\n", found.hypotheses, found.pairs);
}

}  // namespace rotary::cli
