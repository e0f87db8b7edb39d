// SPDX-License-Identifier: Apache-2.0
// Fuzzes the safetensors reader: any bytes must give a header or an error. Reading may hold at most
// 16 times the file's size plus 16 KiB. The tensors of a header must cover the data. A header
// written again from the same tensors and metadata must be accepted.
#include "apps/safetensors/safetensors.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "apps/json.hpp"
#include "fuzz/check.hpp"
#include "fuzz/strided.hpp"
#include "fuzz/target.hpp"
#include "tests/support/counted_new.hpp"

namespace rotary::fuzz {
namespace {

using cli::SafetensorsHeader;
using cli::SafetensorsTensor;

// A tensor takes at least 40 bytes of the file. The reader's memory holds its facts and its name.
void check_heap(std::int64_t most, std::size_t file_bytes) {
  constexpr std::size_t small = std::size_t{16} << 10;
  if (most > static_cast<std::int64_t>(16 * file_bytes + small)) {
    fail("reading must not take more memory than 16 times the file", std::to_string(most));
  }
}

void check_tensor(const SafetensorsTensor& tensor) {
  auto bits = static_cast<int128>(tensor.type.bits);
  for (const std::uint64_t dimension : tensor.shape) {
    if (dimension == 0) bits = 0;
    if (bits == 0) break;
    bits *= static_cast<int128>(dimension);
    if (bits > int128{1} << 64) fail("a tensor must have fewer than 2^64 bits");
  }
  if (bits != static_cast<int128>(tensor.size_in_bytes()) * 8)
    fail("a tensor must have its shape's bytes");
}

void check_header(const SafetensorsHeader& header, std::uint64_t data_bytes) {
  std::uint64_t covered = 0;
  for (const SafetensorsTensor& tensor : header.tensors) {
    check_tensor(tensor);
    if (tensor.begin != covered) fail("tensors must follow one another without holes");
    covered = tensor.end;
  }
  if (covered != data_bytes) fail("the tensors must cover the data");
}

// The header as another program would write it: other key order, and padding.
std::string written(const SafetensorsHeader& header) {
  cli::Json json = cli::Json::object();
  for (const auto& [key, value] : header.metadata) json["__metadata__"][key] = value;
  for (const SafetensorsTensor& tensor : header.tensors) {
    json[tensor.name] = {{"data_offsets", {tensor.begin, tensor.end}},
                         {"shape", tensor.shape},
                         {"dtype", tensor.type.name}};
  }
  return json.dump() + "   ";
}

void check_round_trip(const SafetensorsHeader& header, std::uint64_t data_bytes) {
  const auto again = cli::parse_safetensors_header(written(header), data_bytes);
  if (!again) fail("what was written must be read", again.error().message);
  if (again->tensors.size() != header.tensors.size() ||
      again->metadata.size() != header.metadata.size()) {
    fail("what was written must be read as it was");
  }
  check_header(*again, data_bytes);
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary;
  test::restart_peak();
  const std::int64_t before = test::live_bytes();
  cli::MemoryStream file(std::as_bytes(std::span(data, size)));
  const auto start = cli::read_safetensors_start(file);
  fuzz::check_heap(test::peak_bytes() - before, size);
  if (!start) {
    fuzz::check_error(start.error());
    return 0;
  }
  const std::uint64_t data_bytes = size - start->bytes.size();
  fuzz::check_header(start->header, data_bytes);
  fuzz::check_round_trip(start->header, data_bytes);
  return 0;
}
