// SPDX-License-Identifier: Apache-2.0
// Fuzzes GGUF: any bytes must give an error, or a model that describes every layer. Memory is
// limited to the reader's window and a multiple of the file's size.
#include "rotary/gguf.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "fuzz/check.hpp"
#include "fuzz/target.hpp"
#include "fuzz/use_frequencies.hpp"
#include "tests/support/counted_new.hpp"

namespace rotary::fuzz {
namespace {

// A key takes at least 14 bytes of the file. A growing vector takes at most 4 times its keys.
void check_heap(std::int64_t most, std::size_t file_bytes) {
  constexpr std::size_t window = 65536;
  constexpr std::size_t of_each_byte = 8 + 4 * sizeof(GgufKey) / 14;
  if (most > static_cast<std::int64_t>(window + of_each_byte * file_bytes)) {
    fail("reading must not take more memory than the file's size allows", std::to_string(most));
  }
}

void check_gguf_model(const ModelSpec& model) {
  if (!model.gguf) fail("a model of a GGUF file must say so");
  for (const std::string& unstated : model.gguf->unstated) check_text(unstated);
  check_model(model, {});
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary;
  const ByteSource source = byte_source(std::as_bytes(std::span(data, size)));
  test::restart_peak();
  const std::int64_t before = test::live_bytes();
  const auto metadata = read_gguf_metadata(source);
  fuzz::check_heap(test::peak_bytes() - before, size);
  if (!metadata) {
    fuzz::check_error(metadata.error());
    return 0;
  }
  for (const Numerics numerics : {Numerics::exact, Numerics::ggml}) {
    const auto model = resolve_gguf(*metadata, {.numerics = numerics});
    if (!model) {
      fuzz::check_error(model.error());
    } else {
      fuzz::check_gguf_model(*model);
    }
  }
  return 0;
}
