// SPDX-License-Identifier: Apache-2.0
// config.json: any bytes give a model whose every layer rotates, or an error. The last byte, where
// it is white space, chooses the options: a plain config is an input.
#include <cstddef>
#include <cstdint>
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
      return {.pairing = Pairing::interleaved};
    default:
      return {};
  }
}

void check_model(const ModelSpec& model) {
  if (model.rotary.empty()) fail("a model must have a rotary embedding");
  for (const std::string& warning : model.warnings) check_text(warning);
  for (const ModelLayer& layer : model.layers) {
    if (layer.rotary >= model.rotary.size()) fail("a layer must have its rotary embedding");
  }
  for (const ModelRotary& rotary : model.rotary) {
    const auto frequencies = make_frequencies(rotary.spec);
    if (!frequencies) fail("a resolved spec must be valid", frequencies.error().message);
    use_frequencies(*frequencies);
  }
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary;
  const std::string_view config(reinterpret_cast<const char*>(data), size);
  const auto model = resolve(config, fuzz::options_of(config));
  if (!model) {
    fuzz::check_error(model.error());
  } else {
    fuzz::check_model(*model);
  }
  return 0;
}
