// SPDX-License-Identifier: Apache-2.0
// Options of encodings that several commands have. Apart from what reads them.
#pragma once

#include <fmt/format.h>

#include <string>

#include "cli/bias_input.hpp"
#include "cli/option_parser.hpp"
#include "cli/sinusoidal_input.hpp"

namespace rotary::cli {

// --layout, --spacing, --base, --padding-idx: all but --offset, which commands use for tables, too.
inline void declare_sinusoidal_options(OptionParser& parser, SinusoidalOptions& options) {
  parser.add("--layout interleaved|sin_then_cos|cos_then_sin", options.layout,
             "of sinusoidal: where the sine and the cosine of a pair stand");
  parser.add("--spacing even|ends", options.spacing,
             "of sinusoidal: even, frequencies base^(-2k/d), or ends, base^(-k/(d/2 - 1))");
  parser.add("--base B", options.base, "of the sinusoidal frequencies (10000)");
  parser.add("--padding-idx N", options.padding_idx,
             "of fairseq: positions begin at N + 1, and the token at position -1 is padding, "
             "whose row is 0");
}

// --heads and --parameters. Commands declare --set, which may serve something else, too.
inline void declare_bias_options(OptionParser& parser, BiasOptions& options) {
  parser.add("--heads H", options.heads, "how many; --parameters say it, too, but those of fire");
  parser.add("--parameters FILE", options.parameters,
             "what is learned, NPY of f32 or f64. t5: [buckets, heads]; alibi: [heads] "
             "slopes; fire: c, threshold, hidden_weight [W], hidden_bias [W], output_weight "
             "[heads, W], output_bias [heads], in one row; others: the lists that --set has, "
             "in its order, each of all heads");
}

// The values of --set, for help.
[[nodiscard]] inline std::string bias_settings_help() {
  return fmt::format(
      "t5: direction=bidirectional|causal, buckets=32, max_distance=128, "
      "rounding=transformers|ggml. alibi: bias_max=8, form=causal|symmetric|key_position, "
      "model_heads and first_head for a part of the heads. fire: epsilon=1e-6. sandwich: dim, "
      "base=10000. One number, or one for each head: {}",
      bias_lists_help());
}

}  // namespace rotary::cli
