// SPDX-License-Identifier: Apache-2.0
// Fuzzes the NPY reader: any bytes must give an array or an error. Memory is limited to twice the
// file's size plus 8 KiB. An array must be the same after it is written and read again.
#include "apps/npy/npy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "fuzz/check.hpp"
#include "fuzz/target.hpp"
#include "tests/support/counted_new.hpp"

namespace rotary::fuzz {
namespace {

using cli::NpyArray;

constexpr cli::NpyLimit any_number{.elements = UINT64_MAX};

Result<NpyArray> read(std::span<const std::byte> file) {
  cli::MemoryStream stream(file);
  return cli::read_npy(stream, any_number);
}

// The limit is twice the file, plus an error message and a shape of 32 dimensions.
void check_heap(std::int64_t most, std::size_t file_bytes) {
  constexpr std::size_t small = 8192;
  if (most > static_cast<std::int64_t>(2 * file_bytes + small)) {
    fail("reading must not take more memory than twice the file", std::to_string(most));
  }
}

// Every stride of the shape must also fit, so a dimension of 0 hides no overflow.
void check_array(const NpyArray& array) {
  std::uint64_t bytes = cli::size_in_bytes(array.type);
  bool empty = false;
  for (const std::int64_t dimension : array.shape) {
    if (dimension < 0) fail("a dimension must not be negative");
    empty = empty || dimension == 0;
    const auto factor = static_cast<std::uint64_t>(dimension == 0 ? 1 : dimension);
    if (__builtin_mul_overflow(bytes, factor, &bytes)) fail("the shape must fit in 64 bits");
  }
  if (array.data.size() != (empty ? 0 : bytes)) {
    fail("the data must be as large as the shape says");
  }
}

void check_round_trip(const NpyArray& array) {
  const std::string file = cli::write_npy(array.type, array.shape, array.data);
  const auto again = read(std::as_bytes(std::span(file)));
  if (!again) fail("what was written must be read", again.error().message);
  if (again->type != array.type || again->shape != array.shape || again->data != array.data) {
    fail("what was written must be read as it was");
  }
}

// A stream of unknown length with these bytes.
class Pipe : public cli::ByteStream {
 public:
  explicit Pipe(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] std::size_t read(std::span<std::byte> bytes) override {
    const std::size_t count = std::min(bytes.size(), bytes_.size());
    std::ranges::copy(bytes_.first(count), bytes.begin());
    bytes_ = bytes_.subspan(count);
    return count;
  }
  [[nodiscard]] std::optional<std::uint64_t> bytes_left() const override { return {}; }

 private:
  std::span<const std::byte> bytes_;
};

void check_pipe(std::span<const std::byte> file, const Result<NpyArray>& expected) {
  Pipe pipe(file);
  const auto array = cli::read_npy(pipe, any_number);
  if (array.has_value() != expected.has_value())
    fail("a pipe must be accepted exactly if its bytes are");
  if (!array && array.error().code != expected.error().code) {
    fail("a pipe must fail as its bytes do", array.error().message);
  }
  if (array && (array->shape != expected->shape || array->data != expected->data)) {
    fail("a pipe must have the elements of its bytes");
  }
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary;
  test::restart_peak();
  const std::int64_t before = test::live_bytes();
  const auto file = std::as_bytes(std::span(data, size));
  const auto array = fuzz::read(file);
  fuzz::check_heap(test::peak_bytes() - before, size);
  fuzz::check_pipe(file, array);
  if (!array) {
    fuzz::check_error(array.error());
    return 0;
  }
  fuzz::check_array(*array);
  fuzz::check_round_trip(*array);
  return 0;
}
