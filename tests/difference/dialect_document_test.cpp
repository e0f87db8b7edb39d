// SPDX-License-Identifier: Apache-2.0
// docs/theory/dialects.md has the table of rules as the library has it.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "rotary/dialect.hpp"
#include "support/source_path.hpp"

namespace rotary {
namespace {

std::string text_of(const EngineVersion& version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

std::string versions_of(const DialectRule& rule) {
  if (rule.last == EngineVersion{}) return "all";
  if (rule.first == rule.last) return text_of(rule.first);
  return text_of(rule.first) + " – " + text_of(rule.last);
}

std::string section_of(Engine engine) {
  std::string text = "## " + std::string(to_string(engine)) + "\n\n";
  text += "Source: " + std::string(facts_of(engine).source) + ".\n\n";
  text += "| rule | versions | what it does |\n|---|---|---|\n";
  for (const DialectRule& rule : rules_of(engine)) {
    text.append("| `").append(rule.name).append("` | ").append(versions_of(rule));
    if (rule.evidence == Evidence::read) text.append(", read");
    text.append(" | ").append(rule.sentence).append(" |\n");
  }
  return text;
}

TEST(DialectDocument, HasTheTableOfRules) {
  std::ifstream file(test::source_path("docs/theory/dialects.md"));
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  for (const Engine engine : all_engines) {
    const std::string section = section_of(engine);
    EXPECT_NE(document.find(section), std::string::npos) << section;
  }
}

}  // namespace
}  // namespace rotary
