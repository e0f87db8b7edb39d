// SPDX-License-Identifier: Apache-2.0
#include "cli/plot/figure_json.hpp"

#include <span>
#include <string_view>

namespace rotary::cli::plot {
namespace {

std::string_view name_of(Style style) {
  switch (style) {
    case Style::line:
      return "line";
    case Style::dashed:
      return "dashed";
    case Style::points:
      return "points";
    case Style::steps:
      return "steps";
    case Style::band:
      return "band";
  }
  return {};
}

void write(JsonWriter& json, std::string_view name, const Axis& axis) {
  json.key(name);
  json.begin_object();
  json.member("label", axis.label);
  json.member("scale", axis.scale == Scale::linear ? "linear" : "logarithmic");
  json.member("from", axis.from);
  json.member("to", axis.to);
  if (!axis.ticks.empty()) json.array("ticks", axis.ticks);
  json.end_object();
}

void write(JsonWriter& json, const Series& series) {
  json.begin_object();
  json.member("name", series.name);
  json.member("style", name_of(series.style));
  json.member("color", series.color);
  json.array("x", series.x);
  json.array("y", series.y);
  if (!series.z.empty()) json.array("z", series.z);
  if (!series.lower.empty()) json.array("lower", series.lower);
  json.end_object();
}

void write(JsonWriter& json, const Mark& mark) {
  json.begin_object();
  json.member("direction", mark.direction == Mark::Direction::vertical ? "vertical" : "horizontal");
  json.member("at", mark.at);
  json.member("label", mark.label);
  json.end_object();
}

void write(JsonWriter& json, const HeatMap& map) {
  json.begin_object();
  json.member("rows", map.rows);
  json.member("columns", map.columns);
  json.member("label", map.label);
  json.member("lowest", map.lowest);
  json.member("highest", map.highest);
  json.member("colors", map.colors == HeatMap::Colors::diverging ? "diverging" : "sequential");
  json.key("values");
  json.begin_array();
  for (std::size_t row = 0; row < map.rows; ++row) {
    json.value(std::span(map.values).subspan(row * map.columns, map.columns));
  }
  json.end_array();
  json.end_object();
}

template <class Element>
void write_all(JsonWriter& json, std::string_view name, const std::vector<Element>& elements) {
  json.key(name);
  json.begin_array();
  for (const Element& element : elements) write(json, element);
  json.end_array();
}

void write(JsonWriter& json, const Panel& panel) {
  json.begin_object();
  json.member("title", panel.title);
  write(json, "x", panel.x);
  write(json, "y", panel.y);
  if (panel.z) write(json, "z", *panel.z);
  write_all(json, "series", panel.series);
  write_all(json, "marks", panel.marks);
  if (panel.map) {
    json.key("map");
    write(json, *panel.map);
  }
  json.member("aspect", panel.aspect == Aspect::equal ? "equal" : "free");
  json.member("y_direction", panel.y_direction == YDirection::up ? "up" : "down");
  json.end_object();
}

}  // namespace

void write_figure(JsonWriter& json, const Figure& figure) {
  json.begin_object();
  json.member("name", figure.name);
  json.member("title", figure.title);
  json.member("caption", figure.caption);
  json.member("columns", figure.columns);
  json.key("panels");
  json.begin_array();
  for (const Panel& panel : figure.panels) write(json, panel);
  json.end_array();
  json.end_object();
}

}  // namespace rotary::cli::plot
