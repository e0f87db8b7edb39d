// SPDX-License-Identifier: Apache-2.0
// What a report is about: the configs, and of each the encodings that its layers use, with what is
// said of them and which figures matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/plot/figures.hpp"
#include "cli/report/keys.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli::page {

// A config, under the name by which it was given.
struct NamedModel {
  std::string name;
  std::string json;        // the config's text
  ResolveOptions options;  // and what it does not say
  ModelSpec model;         // that it was resolved to
};

// What a config says, value by value, and what each value does: a row of the page's table.
struct Field {
  std::string label;    // the same in every config that has the field
  std::string value;    // what this one says
  std::string meaning;  // what the value does
};

// A figure and the part of the page that it belongs to: "context", "scaling", "position",
// "distance" or "accuracy".
struct PlacedFigure {
  std::string_view section;
  plot::Figure figure;
};

// What holds for these lengths of the context; all there are where no rule depends on them.
struct ContextFigures {
  ContextRange contexts;
  std::vector<double> inv_freq = {};  // of a rotary embedding
  std::vector<PlacedFigure> figures = {};
};

// One encoding of one config.
struct Encoding {
  std::string name;  // of the config, with the layer type where it has several
  LayerEncoding kind = LayerEncoding::rotary;
  std::optional<std::int64_t> trained_context_tokens = {};
  std::vector<Field> fields = {};
  std::vector<ContextFigures> ranges = {};  // by length, none overlapping
};

struct Card {
  std::string name;
  std::string summary;
  std::vector<std::string> sentences;
  std::vector<std::string> layers;  // what they do, where they do not all do the same
  std::vector<std::string> warnings;
  std::vector<KeyRow> keys;
};

struct Contents {
  std::int64_t context_tokens = 0;     // what the page begins with
  std::vector<std::int64_t> contexts;  // that it offers, in order
  std::vector<Card> cards;
  std::vector<Encoding> encodings;
  std::vector<std::string> remarks;  // about configs beside one another
};

// context_tokens: what was asked for. Throws Failure.
[[nodiscard]] Contents make_contents(const std::vector<NamedModel>& models,
                                     std::optional<std::int64_t> context_tokens);

// What the script of the page reads. Figures as `rotary plot --json` writes them, with 7 digits:
// they are drawn.
[[nodiscard]] std::string json_of(const Contents& contents);

// fields.cpp: of the layers that use model.rotary[index], or have an encoding that does not rotate.
[[nodiscard]] std::vector<Field> rotary_fields(const ModelSpec& model, std::size_t index,
                                               const Frequencies& frequencies);
[[nodiscard]] std::vector<Field> encoding_fields(const ModelSpec& model, LayerEncoding encoding);

}  // namespace rotary::cli::page
