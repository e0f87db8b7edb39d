// SPDX-License-Identifier: Apache-2.0
// What a report is about: the configs, and of each the encodings that its layers use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/plot/figure.hpp"
#include "cli/report/fields.hpp"
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

}  // namespace rotary::cli::page
