// SPDX-License-Identifier: Apache-2.0
// config.json: any bytes give a model whose every layer rotates, or an error. The last byte, where
// it is white space, chooses the options: a plain config is an input.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "fuzz/check.hpp"
#include "fuzz/target.hpp"
#include "fuzz/use_frequencies.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::fuzz {
namespace {

ResolveOptions options_of(std::string_view config) {
  switch (config.empty() ? '\0' : config.back()) {
    case ' ':
      return {.pairing = Pairing::half, .context_tokens = 8192};
    case '\t':
      return {.pairing = Pairing::interleaved, .numerics = Numerics::transformers};
    case '\n':
      return {.context_tokens = 100000, .numerics = Numerics::ggml};
    case '\r':
      return {.part = ModelPart::vision};
    default:
      return {};
  }
}

void check_layer(const ModelSpec& model, const ModelLayer& layer) {
  if (to_string(layer.encoding) == "unknown") fail("a layer must have an encoding");
  if (layer.encoding == LayerEncoding::rotary && layer.rotary >= model.rotary.size()) {
    fail("a rotary layer must have its rotary embedding");
  }
  for (const std::int64_t position : {std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}) {
    const double factor = query_factor(layer.query_temperature, position);
    if (!(factor >= 1) || !std::isfinite(factor)) fail("a query factor must be finite and >= 1");
  }
}

void check_model(const ModelSpec& model, const ResolveOptions& options) {
  for (const std::string& warning : model.warnings) check_text(warning);
  for (const ModelLayer& layer : model.layers) check_layer(model, layer);
  for (const ModelRotary& rotary : model.rotary) {
    if (!std::isfinite(rotary.softmax_factor)) fail("a softmax factor must be finite");
    const auto context =
        options.context_tokens ? options.context_tokens : rotary.trained_context_tokens;
    const auto frequencies = make_frequencies(rotary.spec, context.value_or(1));
    if (!frequencies) fail("a resolved spec must be valid", frequencies.error().message);
    use_frequencies(*frequencies);
  }
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary;
  const std::string_view config(reinterpret_cast<const char*>(data), size);
  const ResolveOptions options = fuzz::options_of(config);
  const auto parts = model_parts(config);
  if (!parts) fuzz::check_error(parts.error());
  const auto model = resolve(config, options);
  if (!model) {
    fuzz::check_error(model.error());
  } else {
    fuzz::check_model(*model, options);
  }
  return 0;
}
