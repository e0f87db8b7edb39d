// SPDX-License-Identifier: Apache-2.0
#include "lab/data/gzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/failure.hpp"

namespace rotary::lab {
namespace {

constexpr int gzip_alone = 16 + MAX_WBITS;  // a number that inflateInit2 gives this meaning
constexpr std::size_t most_input_at_once = std::size_t{1} << 30;

class Inflation {
 public:
  Inflation() { ready_ = inflateInit2(&stream_, gzip_alone) == Z_OK; }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;
  ~Inflation() {
    if (ready_) inflateEnd(&stream_);
  }

  // Appends to text until the bytes end. False: no gzip, cut short, or more than limit_bytes.
  [[nodiscard]] bool run(std::string_view bytes, std::uint64_t limit_bytes, std::string& text) {
    std::array<char, 1 << 16> block;
    int state = ready_ ? Z_OK : Z_MEM_ERROR;
    while (state == Z_OK || (state == Z_STREAM_END && !bytes.empty())) {
      if (state == Z_STREAM_END && inflateReset(&stream_) != Z_OK) return false;
      const std::size_t given = std::min(bytes.size(), most_input_at_once);
      // zlib's interface is older than const.
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream_.avail_in = static_cast<uInt>(given);
      stream_.next_out = reinterpret_cast<Bytef*>(block.data());
      stream_.avail_out = static_cast<uInt>(block.size());
      state = inflate(&stream_, Z_NO_FLUSH);
      bytes.remove_prefix(given - stream_.avail_in);
      text.append(block.data(), block.size() - stream_.avail_out);
      if (text.size() > limit_bytes) return false;
    }
    return state == Z_STREAM_END;
  }

 private:
  z_stream stream_ = {};
  bool ready_ = false;
};

}  // namespace

bool is_gzip(std::string_view bytes) noexcept { return bytes.starts_with("\x1f\x8b"); }

std::string decompress_gzip(std::string_view bytes, std::uint64_t limit_bytes,
                            const std::string& name) {
  std::string text;
  if (Inflation().run(bytes, limit_bytes, text)) return text;
  throw cli::Failure(
      cli::ExitCode::malformed_input,
      fmt::format("{} must be a whole gzip file of at most {} bytes", name, limit_bytes));
}

}  // namespace rotary::lab
