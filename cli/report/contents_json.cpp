// SPDX-License-Identifier: Apache-2.0
#include "cli/report/contents_json.hpp"

#include <optional>
#include <utility>

#include "cli/json_writer.hpp"
#include "cli/plot/figure_json.hpp"
#include "rotary/version.hpp"

namespace rotary::cli::page {
namespace {

constexpr int figure_digits = 7;

void write(JsonWriter& json, const KeyEffect& effect);
void write(JsonWriter& json, const KeyRow& key);
void write(JsonWriter& json, const Card& card);
void write(JsonWriter& json, const Field& field);
void write(JsonWriter& json, const PlacedFigure& placed);
void write(JsonWriter& json, const ContextFigures& range);
void write(JsonWriter& json, const Encoding& encoding);

template <class Element>
void write_all(JsonWriter& json, std::string_view name, const std::vector<Element>& elements) {
  json.key(name);
  json.begin_array();
  for (const Element& element : elements) write(json, element);
  json.end_array();
}

void write(JsonWriter& json, const KeyEffect& effect) {
  json.begin_object();
  json.member("change", effect.change);
  json.array("results", effect.results);
  json.end_object();
}

void write(JsonWriter& json, const KeyRow& key) {
  json.begin_object();
  json.member("path", key.path);
  json.member("value", key.value);
  json.member("meaning", key.meaning);
  json.member("use", key.use);
  write_all(json, "effects", key.effects);
  json.end_object();
}

void write(JsonWriter& json, const Card& card) {
  json.begin_object();
  json.member("name", card.name);
  json.member("summary", card.summary);
  json.array("sentences", card.sentences);
  json.array("layers", card.layers);
  json.array("warnings", card.warnings);
  write_all(json, "keys", card.keys);
  json.end_object();
}

void write(JsonWriter& json, const Field& field) {
  json.begin_object();
  json.member("label", field.label);
  json.member("value", field.value);
  json.member("meaning", field.meaning);
  json.end_object();
}

void write(JsonWriter& json, const PlacedFigure& placed) {
  JsonWriter figure(figure_digits);
  plot::write_figure(figure, placed.figure);
  json.begin_object();
  json.member("section", placed.section);
  json.key("figure");
  json.document(std::move(figure).finish());
  json.end_object();
}

void write(JsonWriter& json, const ContextFigures& range) {
  json.begin_object();
  json.member("first", range.contexts.first);
  json.member("last", range.contexts.last == ContextRange{}.last
                          ? std::nullopt
                          : std::optional(range.contexts.last));
  json.array("inv_freq", range.inv_freq);
  write_all(json, "figures", range.figures);
  json.end_object();
}

void write(JsonWriter& json, const Encoding& encoding) {
  json.begin_object();
  json.member("name", encoding.name);
  json.member("kind", to_string(encoding.kind));
  json.member("trained_context_tokens", encoding.trained_context_tokens);
  write_all(json, "fields", encoding.fields);
  write_all(json, "ranges", encoding.ranges);
  json.end_object();
}

}  // namespace

std::string json_of(const Contents& contents) {
  JsonWriter json;
  json.begin_object();
  json.member("version", ROTARY_VERSION_STRING);
  json.member("context", contents.context_tokens);
  json.array("stops", contents.contexts);
  write_all(json, "configs", contents.cards);
  write_all(json, "subjects", contents.encodings);
  json.array("remarks", contents.remarks);
  json.end_object();
  return std::move(json).finish();
}

}  // namespace rotary::cli::page
