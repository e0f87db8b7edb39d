// SPDX-License-Identifier: Apache-2.0
#include "lab/experiment/claim.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/failure.hpp"

namespace rotary::lab {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const JsonObject& object, std::string_view what) {
  throw cli::Failure(cli::ExitCode::malformed_input, fmt::format("{}: {}", object.name(), what));
}

Measure read_measure(const json& value, const std::string& name) {
  if (value.is_string()) return {.encoding = value.get<std::string>()};
  JsonObject object(value, name);
  Measure measure{.encoding = object.text("encoding"),
                  .multiple = object.integer("multiple", 1, 1),
                  .rule = object.has("rule") ? object.text("rule") : "",
                  .last_quarter = false,
                  .metric = object.has("metric") ? object.text("metric") : ""};
  if (object.has("tokens")) {
    measure.last_quarter = object.text("tokens") == "last_quarter";
    if (!measure.last_quarter) refuse(object, "tokens must be last_quarter, where it is given");
  }
  object.finish();
  return measure;
}

PublishedUnit read_unit(JsonObject& object) {
  const std::string name = object.text("unit");
  for (const auto unit : {PublishedUnit::nats, PublishedUnit::perplexity, PublishedUnit::points,
                          PublishedUnit::percent}) {
    if (name == to_string(unit)) return unit;
  }
  refuse(object, fmt::format("unit must be nats, perplexity, points or percent, got '{}'", name));
}

PublishedValue read_value(const JsonObject& object, const json& pair, PublishedUnit unit) {
  if (!pair.is_array() || pair.size() != 2 || !pair[1].is_number()) {
    refuse(object,
           fmt::format("values must be pairs of a measure and a number, got {}", pair.dump()));
  }
  const auto number = pair[1].get<double>();
  if (unit == PublishedUnit::perplexity && !(number > 0))
    refuse(object, fmt::format("a perplexity must be above 0, got {}", number));
  return {.measure = read_measure(pair[0], object.name() + ": values"), .number = number};
}

}  // namespace

std::string_view to_string(PublishedUnit unit) noexcept {
  switch (unit) {
    case PublishedUnit::nats:
      return "nats";
    case PublishedUnit::perplexity:
      return "perplexity";
    case PublishedUnit::points:
      return "points";
    case PublishedUnit::percent:
      break;
  }
  return "percent";
}

Claim read_claim(JsonObject object) {
  Claim claim{.statement = object.text("statement"),
              .lower = read_measure(object.at("lower"), object.name() + ": lower"),
              .higher = read_measure(object.at("higher"), object.name() + ": higher"),
              .margin = object.number("margin")};
  object.finish();
  return claim;
}

PublishedTable read_published(JsonObject object) {
  PublishedTable table{.label = object.text("label"),
                       .source = object.text("source"),
                       .unit = read_unit(object),
                       .values = {}};
  for (const json& pair : object.at("values"))
    table.values.push_back(read_value(object, pair, table.unit));
  if (table.values.empty()) refuse(object, "values must not be empty");
  object.finish();
  return table;
}

}  // namespace rotary::lab
