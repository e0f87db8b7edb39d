// SPDX-License-Identifier: Apache-2.0
// From llama.cpp: set_swa_pattern in src/llama-hparams.cpp, load_swa_pattern in
// src/llama-model.cpp, and src/models/*.cpp.
#include "model/gguf/layers.hpp"

#include <cstddef>
#include <string_view>

namespace rotary {
namespace {

constexpr std::int64_t most_layers = 4096;
constexpr std::string_view pattern_name = "attention.sliding_window_pattern";

bool has_sliding_layers(const GgufKeys& keys, SlidingIf present, std::int64_t layers) {
  const auto window = keys.integer("attention.sliding_window");
  switch (present) {
    case SlidingIf::never:
      return false;
    case SlidingIf::always:
      return true;
    case SlidingIf::windowed:
      return window.or_else(0) > 0;
    case SlidingIf::not_zero:
      return window.or_else(1) != 0;
    case SlidingIf::of_64:
      return layers == 64;
  }
  return false;
}

// Reads a key with a boolean for each layer into a member of every layer.
void read_each(const GgufKeys& keys, std::string_view name, bool GgufLayer::*member,
               GgufLayers& layers) {
  const auto list = keys.one_or_each(name, static_cast<std::int64_t>(layers.each.size()));
  if (!list.value) return;
  layers.origin = Origin::stated;
  layers.key = list.key;
  for (std::size_t i = 0; i < layers.each.size(); ++i)
    layers.each[i].*member = (*list.value)[i] != 0;
}

void read_pattern(const GgufKeys& keys, const SlidingForm& form, GgufLayers& layers) {
  if (keys.is_array(pattern_name)) return read_each(keys, pattern_name, &GgufLayer::slides, layers);
  if (form.period == 0) {
    keys.malformed(keys.full(pattern_name), " must be an array with one entry for each layer, got ",
                   keys.has(pattern_name) ? "a single value" : "none");
    return;
  }
  const auto stated = keys.integer(pattern_name);
  const std::int64_t period = stated.or_else(form.period);
  if (period < 0) {
    keys.malformed(stated.key, " must be >= 0, got ", period);
    return;
  }
  if (stated.value) {
    layers.origin = Origin::stated;
    layers.key = stated.key;
  }
  for (std::size_t i = 0; i < layers.each.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    layers.each[i].slides =
        period == 0 || (form.dense_first ? layer % period != 0 : layer % period < period - 1);
  }
}

// Whether a layer rotates. Most patterns are constants in llama.cpp.
bool rotates(Rotating rotating, const GgufLayers& layers, std::size_t layer) {
  switch (rotating) {
    case Rotating::sliding:
      return !layers.has_sliding || layers.each[layer].slides;
    case Rotating::not_every_fourth:
      return (layer + 1) % 4 != 0;
    case Rotating::not_first_of_four:
      return !layers.has_sliding || layer % 4 != 0;
    case Rotating::all:
    case Rotating::rope_pattern:
    case Rotating::if_finetuned:
      break;
  }
  return true;
}

void read_rotating(const GgufKeys& keys, const GgufArchitecture& row, GgufLayers& layers) {
  if (row.rotating == Rotating::rope_pattern) {
    return read_each(keys, "attention.rope_pattern", &GgufLayer::rotates, layers);
  }
  // Llama 4 without a window rotates every layer.
  const bool is_plain = row.sliding.present == SlidingIf::not_zero && !layers.has_sliding;
  const auto finetuned = keys.boolean("rope.scaling.finetuned");
  const bool is_off = row.rotating == Rotating::if_finetuned && !finetuned.or_else(true);
  if (is_off) {
    layers.origin = Origin::stated;
    layers.key = finetuned.key;
  }
  for (std::size_t i = 0; i < layers.each.size(); ++i) {
    layers.each[i].rotates = !is_off && (is_plain || rotates(row.rotating, layers, i));
  }
}

void read_recurrent(const GgufKeys& keys, const GgufArchitecture& row, GgufLayers& layers) {
  const auto count = static_cast<std::int64_t>(layers.each.size());
  const bool by_interval =
      row.recurrent == Recurrent::interval_4 || row.recurrent == Recurrent::interval_8;
  if (by_interval) {
    const auto list = keys.one_or_each("attention.recurrent_layers", count);
    const auto stated = keys.integer("full_attention_interval");
    const std::int64_t interval = stated.or_else(row.recurrent == Recurrent::interval_4 ? 4 : 8);
    if (interval < 1) return keys.malformed(stated.key, " must be >= 1, got ", interval);
    for (std::size_t i = 0; i < layers.each.size(); ++i) {
      const auto layer = static_cast<std::int64_t>(i);
      layers.each[i].attends = list.value ? (*list.value)[i] == 0 : (layer + 1) % interval == 0;
    }
    layers.origin = list.value ? list.origin : stated.origin;
    layers.key = list.value ? list.key : stated.key;
    return;
  }
  if (!keys.is_array("attention.head_count_kv")) return;
  const auto heads = keys.one_or_each("attention.head_count_kv", count);
  for (std::size_t i = 0; i < layers.each.size() && heads.value; ++i) {
    layers.each[i].attends = (*heads.value)[i] != 0;
    if (layers.each[i].attends) continue;
    layers.origin = heads.origin;
    layers.key = heads.key;
  }
}

}  // namespace

GgufLayers read_gguf_layers(const GgufKeys& keys, const GgufArchitecture& row) {
  GgufLayers layers;
  const auto blocks = keys.count("block_count");
  const auto drafting = keys.integer("nextn_predict_layers");
  if (keys.findings().failed()) return layers;
  const std::int64_t count = *blocks.value - drafting.or_else(0);
  if (*blocks.value > most_layers || drafting.or_else(0) < 0 || count < 1) {
    keys.malformed(blocks.key, " must be at most ", most_layers, " and more than ", drafting.key,
                   ", got ", *blocks.value, " and ", drafting.or_else(0));
    return layers;
  }
  layers.each.resize(static_cast<std::size_t>(count));
  layers.has_sliding = has_sliding_layers(keys, row.sliding.present, count);
  if (layers.has_sliding) read_pattern(keys, row.sliding, layers);
  read_rotating(keys, row, layers);
  read_recurrent(keys, row, layers);
  return layers;
}

}  // namespace rotary
