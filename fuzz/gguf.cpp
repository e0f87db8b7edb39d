// SPDX-License-Identifier: Apache-2.0
// GGUF: any bytes give a model whose every layer is described, or an error, without more memory
// than the window and what the file accounts for.
#include "rotary/gguf.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "fuzz/check.hpp"
#include "fuzz/heap.hpp"
#include "fuzz/target.hpp"
#include "fuzz/use_frequencies.hpp"
#include "rotary/frequencies.hpp"

namespace rotary::fuzz {
namespace {

// A key takes at least 14 bytes of the file and sizeof(GgufKey) here, in a vector that doubles.
void check_heap(std::size_t allocated, std::size_t file_bytes) {
  constexpr std::size_t window = 65536;
  constexpr std::size_t of_each_byte = 8 + 4 * sizeof(GgufKey) / 14;
  if (allocated > window + of_each_byte * file_bytes) {
    fail("reading must not allocate more than the file accounts for", std::to_string(allocated));
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

void check_model(const ModelSpec& model) {
  if (!model.gguf) fail("a model of a GGUF file must say so");
  for (const std::string& warning : model.warnings) check_text(warning);
  for (const std::string& unstated : model.gguf->unstated) check_text(unstated);
  for (const ModelLayer& layer : model.layers) check_layer(model, layer);
  for (const ModelRotary& rotary : model.rotary) {
    if (!std::isfinite(rotary.softmax_factor)) fail("a softmax factor must be finite");
    const auto frequencies =
        make_frequencies(rotary.spec, rotary.trained_context_tokens.value_or(1));
    if (!frequencies) fail("a resolved spec must be valid", frequencies.error().message);
    use_frequencies(*frequencies);
  }
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary;
  const ByteSource source = byte_source(std::as_bytes(std::span(data, size)));
  const std::size_t before = fuzz::allocated_bytes();
  const auto metadata = read_gguf_metadata(source);
  fuzz::check_heap(fuzz::allocated_bytes() - before, size);
  if (!metadata) {
    fuzz::check_error(metadata.error());
    return 0;
  }
  for (const Numerics numerics : {Numerics::exact, Numerics::ggml}) {
    const auto model = resolve_gguf(*metadata, {.numerics = numerics});
    if (!model) {
      fuzz::check_error(model.error());
    } else {
      fuzz::check_model(*model);
    }
  }
  return 0;
}
