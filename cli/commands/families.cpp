// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/families.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "cli/ascii.hpp"
#include "cli/failure.hpp"
#include "cli/json_writer.hpp"
#include "rotary/families.hpp"

namespace rotary::cli {
namespace {

std::string encoding_text(const FamilyInfo& family) {
  if (!family.text_model_type.empty()) return fmt::format("around {}", family.text_model_type);
  return std::string(family.pairing ? to_string(*family.pairing) : to_string(family.encoding));
}

std::vector<FamilyInfo> families_with(std::string_view part) {
  std::vector<FamilyInfo> families = value_or_fail(known_families());
  std::erase_if(families, [part](const FamilyInfo& family) {
    return !contains_ignoring_case(family.model_type, part) &&
           !contains_ignoring_case(encoding_text(family), part) &&
           !contains_ignoring_case(family.note, part);
  });
  return families;
}

std::string base_text(const FamilyInfo& family) {
  if (!family.pairing || !family.text_model_type.empty()) return "-";
  return family.base ? fmt::format("{}", *family.base) : "required";
}

std::optional<std::string_view> or_null(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace

std::string families_text(std::string_view part) {
  const std::vector<FamilyInfo> families = families_with(part);
  std::size_t name_width = std::string_view("model_type").size();
  std::size_t encoding_width = std::string_view("encoding").size();
  for (const FamilyInfo& family : families) {
    name_width = std::max(name_width, family.model_type.size());
    encoding_width = std::max(encoding_width, encoding_text(family).size());
  }
  const auto line = [&](std::string_view name, std::string_view encoding, std::string_view base,
                        std::string_view note) {
    std::string text = fmt::format("{:<{}}  {:<{}}  {:>9}  {}", name, name_width, encoding,
                                   encoding_width, base, note);
    return text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
  };
  std::string text = line("model_type", "encoding", "base", "");
  for (const FamilyInfo& family : families) {
    text += line(family.model_type, encoding_text(family), base_text(family), family.note);
  }
  return text;
}

std::string families_json(std::string_view part) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", 1);
  json.key("families");
  json.begin_array();
  for (const FamilyInfo& family : families_with(part)) {
    json.begin_object();
    json.member("model_type", family.model_type);
    json.member("encoding", to_string(family.encoding));
    json.member("pairing",
                family.pairing ? std::optional(to_string(*family.pairing)) : std::nullopt);
    json.member("base", family.base);
    json.member("text_model_type", or_null(family.text_model_type));
    json.member("note", or_null(family.note));
    json.member("source", or_null(family.source));
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::move(json).finish();
}

}  // namespace rotary::cli
