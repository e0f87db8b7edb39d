// SPDX-License-Identifier: Apache-2.0
#include "cli/shared_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

#include "apps/failure.hpp"

namespace rotary::cli {

void OutputOption::check(std::initializer_list<std::string_view> endings) const {
  if (!path) return;
  const auto ends = [this](std::string_view ending) { return path->ends_with(ending); };
  require(endings.size() == 0 || std::ranges::any_of(endings, ends),
          "--out must end in {}, got '{}'", fmt::join(endings, " or "), *path);
  check_outputs(std::span(&*path, 1), overwrite);
}

void OutputOption::write(std::string_view bytes) const {
  if (!path) return;
  const StreamedFile file{.path = *path, .fill = [bytes](const Write& write) { write(bytes); }};
  write_files(std::span(&file, 1), overwrite);
}

void OutputOption::write(const NpyView& array) const {
  if (!path) return;
  const StreamedFile file{.path = *path,
                          .fill = [&](const Write& write) { write_npy(array, write); }};
  write_files(std::span(&file, 1), overwrite);
}

DeclaredOption declare_output(OptionParser& parser, OutputOption& output, std::string help) {
  declare_force(parser, output.overwrite);
  parser.only({"--force"}, "--out", {"--out"});
  return parser.add("-o,--out FILE", output.path, std::move(help));
}

void declare_force(OptionParser& parser, Overwrite& overwrite) {
  parser.add_flag("--force", "replace an existing output",
                  [&overwrite] { overwrite = Overwrite::allow; });
}

void declare_layer_type(OptionParser& parser, std::optional<std::string>& layer_type) {
  parser.add("--layer-type T", layer_type,
             "the config's name for the kind of layer, if a model has several");
}

void declare_sinusoidal_options(OptionParser& parser, SinusoidalOptions& options) {
  parser.add("--layout", options.layout, one_of(all_sinusoidal_layouts),
             "of sinusoidal: the order of sines and cosines");
  parser.add("--spacing", options.spacing, one_of(all_sinusoidal_spacings),
             "of sinusoidal: even, frequencies base^(-2k/d), or ends, base^(-k/(d/2 - 1))");
  parser.add("--base B", options.base, number(), "of the sinusoidal frequencies (10000)");
  parser.add("--padding-idx N", options.padding_idx, integer({0, INT64_MAX - 1}),
             "of fairseq: positions begin at N + 1, and the token at position -1 is padding, "
             "whose row is 0");
}

void declare_bias_options(OptionParser& parser, BiasOptions& options) {
  parser.add("--heads H", options.heads, integer({1, most_heads}),
             "number of heads (from --parameters, except for fire)");
  parser.add("--parameters FILE", options.parameters,
             "learned numbers, NPY of f32 or f64. t5: [buckets, heads]; alibi: [heads] "
             "slopes; fire: c, threshold, hidden_weight [W], hidden_bias [W], output_weight "
             "[heads, W], output_bias [heads], in one row; others: the lists of --set, "
             "in that order, each for all heads");
}

std::string bias_settings_help() {
  return fmt::format(
      "t5: direction=bidirectional|causal, buckets=32, max_distance=128, "
      "rounding=transformers|ggml. alibi: bias_max=8, form=causal|symmetric|key_position, "
      "model_heads and first_head for a part of the heads. fire: epsilon=1e-6. sandwich: dim, "
      "base=10000. One number, or one for each head: {}",
      bias_lists_help());
}

}  // namespace rotary::cli
