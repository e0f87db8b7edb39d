// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/explain/derivation.hpp"
#include "cli/explain/topics.hpp"

namespace rotary::cli::explain {
namespace {

std::vector<Step> derivation_of(const Numbers& numbers) {
  std::vector<Step> steps = steps_of_one_pair(numbers);
  for (Step& step : steps_of_all_pairs(numbers)) steps.push_back(std::move(step));
  for (const Step& step : steps) require(step.check, fmt::format("step {}", step.number));
  return steps;
}

std::string values_text(const std::vector<Value>& values) {
  std::string text;
  for (const Value& each : values) {
    text += fmt::format("       {:<42} {:>14}\n", each.name, number_text(each.value));
  }
  return text;
}

std::string step_text(const Step& step) {
  std::string equation = step.equation;
  for (std::size_t end = equation.find('\n'); end != std::string::npos;
       end = equation.find('\n', end + 5)) {
    equation.insert(end + 1, "    ");
  }
  std::string text = fmt::format("\n{:<4}{}\n    {}\n{}", step.number, step.title, equation,
                                 values_text(step.values));
  if (step.check.bound > 0) {
    text += fmt::format("       {:<42} {:>14}\n", "differs by at most",
                        fmt::format("{:.1e}", step.check.deviation));
  }
  if (step.counterexample) {
    text += fmt::format("    Not so: {}\n{}", step.counterexample->what,
                        values_text(step.counterexample->values));
  }
  return text;
}

std::string text_of(const Numbers& numbers, const std::vector<Step>& steps) {
  std::string text =
      query_text(numbers) + key_text(numbers) + spec_text(numbers) +
      "\nAsked for: functions f(q, m) and f(k, n) whose inner product depends on q, k and\n"
      "m - n alone, with f(x, 0) = x.\n";
  for (const Step& step : steps) text += step_text(step);
  return text + "\nThe argument, by the same numbers: docs/theory/rope.md\n";
}

void write_values(JsonWriter& json, const std::vector<Value>& values) {
  json.key("values");
  json.begin_array();
  for (const Value& each : values) {
    json.begin_object();
    json.member("name", each.name);
    json.member("value", each.value);
    json.end_object();
  }
  json.end_array();
}

std::string json_of(const Numbers& numbers, const std::vector<Step>& steps) {
  JsonWriter json = begin_document("derivation");
  write_query(json, numbers);
  write_key(json, numbers);
  json.key("steps");
  json.begin_array();
  for (const Step& step : steps) {
    json.begin_object();
    json.member("number", step.number);
    json.member("title", step.title);
    json.member("equation", step.equation);
    write_values(json, step.values);
    write_check(json, step.check);
    if (step.counterexample) {
      json.key("counterexample");
      json.begin_object();
      json.member("what", step.counterexample->what);
      write_values(json, step.counterexample->values);
      json.end_object();
    }
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::move(json).finish();
}

}  // namespace

std::string explain_derivation(const Numbers& numbers, OutputForm form) {
  const std::vector<Step> steps = derivation_of(numbers);
  return form == OutputForm::json ? json_of(numbers, steps) : text_of(numbers, steps);
}

}  // namespace rotary::cli::explain
