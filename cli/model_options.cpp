// SPDX-License-Identifier: Apache-2.0
#include "cli/model_options.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "cli/arguments.hpp"
#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "cli/model_input.hpp"
#include "cli/utf8.hpp"

namespace rotary::cli {
namespace {

std::optional<std::int64_t> parse_context(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const std::int64_t tokens = parse_int64("--context", *text);
  if (tokens >= 1) return tokens;
  throw Failure(ExitCode::usage, fmt::format("--context must be at least 1 token, got {}", tokens));
}

Numerics parse_numerics(const std::optional<std::string>& text) {
  if (!text) return Numerics::exact;
  return choose<Numerics>("--numerics", *text,
                          {{"exact", Numerics::exact},
                           {"transformers", Numerics::transformers},
                           {"ggml", Numerics::ggml}});
}

ConfigOverride parse_setting(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw Failure(
        ExitCode::usage,
        fmt::format("--set must be KEY=VALUE, such as rope_theta=500000, got '{}'", text));
  }
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = utf8_sequence_length(rest);
    if (length == 0) throw Failure(ExitCode::usage, "--set must be UTF-8");
    rest.remove_prefix(length);
  }
  return {.key = text.substr(0, equals), .value = text.substr(equals + 1)};
}

}  // namespace

void declare_model_options(OptionParser& parser, ModelOptions& options) {
  parser.add("--pairing half|interleaved|interleaved_to_half", options.pairing,
             "which features turn together, for a model whose family is not known");
  parser.add("--context N", options.context,
             "how many tokens the context has, for rules that depend on it (dynamic, longrope)");
  parser.add("--numerics exact|transformers|ggml", options.numerics,
             "whose arithmetic (exact); ggml is llama.cpp");
  parser.add("--set KEY=VALUE", options.settings, std::string(config_settings_help));
}

ResolveOptions resolve_options(const ModelOptions& options) {
  ResolveOptions result{.pairing = parse_pairing(options.pairing),
                        .context_tokens = parse_context(options.context),
                        .numerics = parse_numerics(options.numerics),
                        .overrides = {}};
  for (const std::string& setting : options.settings) {
    result.overrides.push_back(parse_setting(setting));
  }
  return result;
}

ModelSpec read_model(const ModelOptions& options) {
  return read_model(options.config, resolve_options(options));
}

Frequencies frequencies_of(const ModelSpec& model, std::size_t index, const ModelOptions& options) {
  const RotarySpec& spec = model.rotary[index].spec;
  const auto context_tokens = parse_context(options.context);
  if (!context_tokens && depends_on_context(spec.scaling)) {
    throw Failure(ExitCode::usage,
                  fmt::format("--context is required: the frequencies of rope_type {} depend on "
                              "how many tokens the context has",
                              rope_type(spec.scaling)));
  }
  return value_or_fail(make_frequencies(spec, context_tokens), input_name(options.config));
}

}  // namespace rotary::cli
