// SPDX-License-Identifier: Apache-2.0
// Fuzzes config.json: any bytes must give a valid model or an error. A last byte of white space
// chooses the options, so that a plain config is an input.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/check.hpp"
#include "fuzz/target.hpp"
#include "fuzz/use_frequencies.hpp"
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
    fuzz::check_model(*model, options.context_tokens);
  }
  return 0;
}
