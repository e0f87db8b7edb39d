// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "cli/plot/figure.hpp"

namespace rotary::cli::plot {

// Not in an anonymous namespace: the JSON library finds these by argument-dependent lookup.
static void to_json(Json& json, const Axis& axis) {
  json = {{"label", axis.label},
          {"scale", axis.scale == Scale::linear ? "linear" : "logarithmic"},
          {"from", axis.from},
          {"to", axis.to}};
  if (!axis.ticks.empty()) json["ticks"] = axis.ticks;
}

static void to_json(Json& json, const Series& series) {
  constexpr std::array styles = {"line", "dashed", "points", "steps", "band"};
  json = {{"name", series.name},
          {"style", styles.at(static_cast<std::size_t>(series.style))},
          {"color", series.color},
          {"x", series.x},
          {"y", series.y}};
  if (!series.z.empty()) json["z"] = series.z;
  if (!series.lower.empty()) json["lower"] = series.lower;
}

static void to_json(Json& json, const Mark& mark) {
  const bool is_vertical = mark.direction == Mark::Direction::vertical;
  json = {{"direction", is_vertical ? "vertical" : "horizontal"},
          {"at", mark.at},
          {"label", mark.label}};
}

static void to_json(Json& json, const HeatMap& map) {
  const bool is_diverging = map.colors == HeatMap::Colors::diverging;
  json = {{"rows", map.rows},       {"columns", map.columns},
          {"label", map.label},     {"lowest", map.lowest},
          {"highest", map.highest}, {"colors", is_diverging ? "diverging" : "sequential"},
          {"values", Json::array()}};
  for (std::span<const double> rest = map.values; !rest.empty(); rest = rest.subspan(map.columns))
    json["values"].push_back(rest.first(map.columns));
}

static void to_json(Json& json, const Panel& panel) {
  json = {{"title", panel.title}, {"x", panel.x}, {"y", panel.y}};
  if (panel.z) json["z"] = *panel.z;
  json["series"] = panel.series;
  json["marks"] = panel.marks;
  if (panel.map) json["map"] = *panel.map;
  json["aspect"] = panel.aspect == Aspect::equal ? "equal" : "free";
  json["y_direction"] = panel.y_direction == YDirection::up ? "up" : "down";
}

void to_json(Json& json, const Figure& figure) {
  json = {{"name", figure.name},
          {"title", figure.title},
          {"caption", figure.caption},
          {"columns", figure.columns},
          {"panels", figure.panels}};
}

namespace {

// Spreadsheets compute text that begins like a formula. An apostrophe in front prevents this.
std::string field(std::string_view text) {
  constexpr std::string_view formula_starts = "=+-@";
  const bool is_formula = !text.empty() && formula_starts.find(text[0]) != std::string_view::npos;
  std::string plain = fmt::format("{}{}", is_formula ? "'" : "", text);
  if (plain.find_first_of(",\"") == std::string::npos) return plain;
  std::string quoted = "\"";
  for (const char c : plain) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string field(double number) {
  return std::isfinite(number) ? fmt::format("{}", number) : std::string();
}

std::string field(std::span<const double> numbers, std::size_t i) {
  return i < numbers.size() ? field(numbers[i]) : std::string();
}

}  // namespace

std::string csv_of(const Figure& figure) {
  std::string text = "panel,series,x,y,z,lower\n";
  for (std::size_t index = 0; index < figure.panels.size(); ++index) {
    const Panel& panel = figure.panels[index];
    const std::string name = panel.title.empty() ? fmt::format("{}", index) : field(panel.title);
    for (const Series& series : panel.series) {
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        text += fmt::format("{},{},{},{},{},{}\n", name, field(series.name), field(series.x[i]),
                            field(series.y[i]), field(series.z, i), field(series.lower, i));
      }
    }
    if (!panel.map) continue;
    for (std::size_t cell = 0; cell < panel.map->values.size(); ++cell) {
      text += fmt::format("{},cells,{},{},{},\n", name, cell % panel.map->columns,
                          cell / panel.map->columns, field(panel.map->values[cell]));
    }
  }
  return text;
}

}  // namespace rotary::cli::plot
