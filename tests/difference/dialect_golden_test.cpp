// SPDX-License-Identifier: Apache-2.0
// Compares with engines that conformance/golden/dialects.py ran. read_as() must give the recorded
// frequencies, and compare_models() the first position at which recorded rows differ.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "rotary/dialect.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/model_difference.hpp"
#include "support/result.hpp"
#include "support/source_path.hpp"

namespace rotary {
namespace {

using Cases = std::vector<nlohmann::json>;

Cases recorded_cases() {
  std::ifstream file(test::source_path("tests/golden/dialects.json"));
  return nlohmann::json::parse(file).at("cases").get<Cases>();
}

// The relative tolerance. llama.cpp: 2 · 64 · 2^-24, because ggml multiplies up to 63 times by a
// rounded step and rounds each time. Other engines: 8 ulp, as in golden_file.hpp.
double tolerance_of(const nlohmann::json& recorded) {
  return recorded.at("engine") == "llama.cpp" ? 0x1p-17 : 0x1p-20;
}

std::vector<Dialect> dialects_of(const nlohmann::json& recorded) {
  const auto engine = recorded.at("engine").get<std::string>();
  if (!recorded.contains("first")) return {test::value_of(parse_dialect(engine))};
  std::vector<Dialect> found;
  for (const char* end : {"first", "last"}) {
    const std::string name = engine + "@" + recorded.at(end).get<std::string>();
    found.push_back(test::value_of(parse_dialect(name)));
  }
  return found;
}

DialectReading reading_of(const nlohmann::json& recorded, const Dialect& dialect) {
  return test::value_of(read_as(recorded.at("config").dump(), dialect));
}

std::int64_t original_of(const nlohmann::json& config) {
  for (const auto* object : {&config, &config.at("rope_scaling")}) {
    const auto found = object->find("original_max_position_embeddings");
    if (found != object->end()) return found->get<std::int64_t>();
  }
  return config.at("max_position_embeddings").get<std::int64_t>();
}

Frequencies frequencies_after(const DialectReading& reading, const nlohmann::json& recorded,
                              std::size_t calls) {
  const RotarySpec& spec = reading.model.rotary.front().spec;
  if (!depends_on_context(spec.scaling)) return test::value_of(make_frequencies(spec));
  const auto all = recorded.at("calls").get<std::vector<std::int64_t>>();
  const auto length = length_in_force(reading.lengths, original_of(recorded.at("config")),
                                      std::span(all).first(calls));
  return test::value_of(make_frequencies(spec, test::value_of(length)));
}

void expect_same(const nlohmann::json& recorded, const Dialect& dialect) {
  const DialectReading reading = reading_of(recorded, dialect);
  EXPECT_EQ(reading.refusal.has_value(), !recorded.at("missing").get<std::string>().empty())
      << reading.refusal.value_or("runs");
  if (reading.refusal) return;
  const double tolerance = tolerance_of(recorded);
  for (std::size_t call = 0; call < recorded.at("inv_freq").size(); ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    const auto wanted = recorded.at("inv_freq")[call].get<std::vector<double>>();
    const Frequencies got = frequencies_after(reading, recorded, call + 1);
    ASSERT_EQ(got.inv_freq.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      EXPECT_NEAR(got.inv_freq[i], wanted[i], tolerance * std::abs(wanted[i])) << "pair " << i;
    const auto factor = recorded.at("factor").get<double>();
    EXPECT_NEAR(got.attention_factor, factor, tolerance * factor);
  }
}

TEST(DialectGolden, FrequenciesAgreeWithTheEngines) {
  for (const auto& recorded : recorded_cases()) {
    for (const Dialect& dialect : dialects_of(recorded)) {
      SCOPED_TRACE(test::value_of(to_string(dialect)) + ": " +
                   recorded.at("title").get<std::string>());
      expect_same(recorded, dialect);
    }
  }
}

// The first position at which rows differ, found by computing and comparing every row.
std::optional<std::int64_t> first_of_a_look_at_each(const nlohmann::json& one,
                                                    const nlohmann::json& other, std::size_t call,
                                                    std::int64_t tokens) {
  const auto mine = one.at("inv_freq")[call].get<std::vector<double>>();
  const auto theirs = other.at("inv_freq")[call].get<std::vector<double>>();
  const auto a = one.at("factor").get<double>();
  const auto b = other.at("factor").get<double>();
  for (std::int64_t p = 0; p < tokens; ++p) {
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const double x = static_cast<double>(p) * mine[i];
      const double y = static_cast<double>(p) * theirs[i];
      const double apart = std::max(std::abs(a * std::cos(x) - b * std::cos(y)),
                                    std::abs(a * std::sin(x) - b * std::sin(y)));
      if (apart > row_tolerance) return p;
    }
  }
  return std::nullopt;
}

bool has_rows(const nlohmann::json& recorded) {
  return recorded.at("missing").get<std::string>().empty();
}

ModelDifference difference_of(const nlohmann::json& one, const nlohmann::json& other) {
  const DialectReading mine = reading_of(one, dialects_of(one).back());
  const DialectReading theirs = reading_of(other, dialects_of(other).back());
  return test::value_of(
      compare_models(mine.model, theirs.model, {.one = mine.lengths, .other = theirs.lengths}));
}

struct Parting {
  const nlohmann::json* one;
  const nlohmann::json* other;
};

// Pairs to compare: successive ranges of Transformers releases; Transformers and another engine.
std::vector<Parting> partings(const Cases& cases) {
  std::vector<Parting> found;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (std::size_t j = i + 1; j < cases.size(); ++j) {
      const bool both = cases[i].at("title") == cases[j].at("title") && has_rows(cases[i]) &&
                        has_rows(cases[j]) && cases[i].at("engine") == "transformers";
      if (!both || (cases[j].contains("first") && j != i + 1)) continue;
      found.push_back({&cases[i], &cases[j]});
    }
  }
  return found;
}

TEST(DialectGolden, FirstDifferingPositionsAgreeWithTheEnginesRows) {
  const Cases cases = recorded_cases();
  int disagreements = 0;
  for (const auto& [one, other] : partings(cases)) {
    SCOPED_TRACE(test::value_of(to_string(dialects_of(*one).back())) + " and " +
                 test::value_of(to_string(dialects_of(*other).back())) + ": " +
                 one->at("title").get<std::string>());
    if (one->at("inv_freq")[0].size() != other->at("inv_freq")[0].size()) continue;
    // Up to the original length, a growing sequence keeps the rows of the first call. The other
    // limit keeps angle errors below half the tolerance, since no frequency is above 1.
    const double rounded = std::max(tolerance_of(*one), tolerance_of(*other));
    const std::int64_t tokens = std::min(static_cast<std::int64_t>(row_tolerance / 2 / rounded),
                                         original_of(one->at("config")));
    const auto wanted = first_of_a_look_at_each(*one, *other, 0, tokens);
    const RowsDifference rows = difference_of(*one, *other).rotary.front().rows;
    if (wanted) {
      EXPECT_EQ(rows.first_position, wanted);
    } else {
      EXPECT_GE(rows.first_position.value_or(tokens), tokens);
    }
    disagreements += wanted.has_value() ? 1 : 0;
  }
  EXPECT_GE(disagreements, 15);
}

}  // namespace
}  // namespace rotary
