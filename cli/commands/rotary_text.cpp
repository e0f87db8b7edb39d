// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/rotary_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rotary::cli {
namespace {

std::string count_text(std::size_t embeddings) {
  if (embeddings == 0) return "no rotary embedding";
  if (embeddings == 1) return "one rotary embedding";
  return fmt::format("{} rotary embeddings", embeddings);
}

}  // namespace

std::string summary_text(const ModelSpec& model) {
  std::string text = model.model_type.empty() ? "model of unknown type" : model.model_type;
  if (!model.layers.empty()) text += fmt::format(", {} layers", model.layers.size());
  return fmt::format("{}, {}", text, count_text(model.rotary.size()));
}

double turns_within(double inv_freq, std::int64_t tokens) {
  return std::abs(inv_freq) * static_cast<double>(tokens) / (2 * std::numbers::pi);
}

double wavelength_tokens(double inv_freq) { return 2 * std::numbers::pi / std::abs(inv_freq); }

std::int64_t pairs_that_turn(const Frequencies& frequencies, std::int64_t tokens) {
  return std::ranges::count_if(frequencies.inv_freq, [tokens](double inv_freq) {
    return turns_within(inv_freq, tokens) >= 1;
  });
}

std::string plain(double number) {
  return number >= 1000 && number < 1e12 ? fmt::format("{:.0f}", number)
                                         : fmt::format("{:.4g}", number);
}

std::string window_text(const HeadWindow& window, std::int64_t nope_head_dim) {
  if (window.rotary_dim == window.head_dim) {
    const std::string others =
        nope_head_dim == 0 ? "" : fmt::format(", after {} of the head that do not", nope_head_dim);
    return fmt::format("all {} turn{}", window.head_dim, others);
  }
  return fmt::format("{} of {} turn: {} to {}; the others pass unchanged", window.rotary_dim,
                     window.head_dim, window.first_feature,
                     window.first_feature + window.rotary_dim - 1);
}

std::string contexts_text(const ContextRange& contexts) {
  if (contexts.first == contexts.last) {
    return fmt::format("a context of {} tokens alone", contexts.first);
  }
  if (contexts.last == ContextRange{}.last) {
    return fmt::format("contexts of {} tokens and more", contexts.first);
  }
  return fmt::format("contexts of {} to {} tokens", contexts.first, contexts.last);
}

std::string attention_text(const ModelRotary& rotary, double attention_factor) {
  std::string text =
      attention_factor == 1
          ? "1: scores keep their size"
          : fmt::format("{:.6g} on cos and sin, so scores grow by its square, {:.6g}",
                        attention_factor, attention_factor * attention_factor);
  if (rotary.softmax_factor != 1) {
    text += fmt::format("; softmax scale times {:.6g}", rotary.softmax_factor);
  }
  return text;
}

std::string wavelengths_text(const Frequencies& frequencies) {
  const auto [slowest, fastest] = std::ranges::minmax(
      frequencies.inv_freq, {}, [](double inv_freq) { return std::abs(inv_freq); });
  return fmt::format("{} tokens (fastest pair) to {} (slowest)", plain(wavelength_tokens(fastest)),
                     plain(wavelength_tokens(slowest)));
}

std::string turning_text(const Frequencies& frequencies, std::int64_t tokens) {
  return fmt::format("{} of {} pairs complete a turn within {} tokens",
                     pairs_that_turn(frequencies, tokens), frequencies.inv_freq.size(), tokens);
}

}  // namespace rotary::cli
