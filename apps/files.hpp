// SPDX-License-Identifier: Apache-2.0
// Reads and writes files. A command's outputs get their names only when all are complete, so a
// failure leaves no new files. Functions throw I/O failures unless their comments name others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "apps/byte_stream.hpp"
#include "apps/standard_streams.hpp"

namespace rotary::cli {

// An input's name in messages: its path, or "standard input" for "-".
[[nodiscard]] std::string_view input_name(std::string_view path) noexcept;

// Fails as wrong usage if more than one input is "-".
void check_standard_input(std::initializer_list<std::optional<std::string>> inputs);

// A file, or standard input for "-". Opens only regular files and pipes of the shell, without
// waiting. Fails as wrong usage for a file that check_outputs() registered as an output.
class InputFile : public ByteStream {
 public:
  explicit InputFile(const std::string& path);

  [[nodiscard]] std::size_t read(std::span<std::byte> bytes) override;

  // Reads at `offset`, independent of read(). A failure counts as the end of the file.
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, std::span<std::byte> bytes) const;

  // Absent unless the input is a regular file.
  [[nodiscard]] std::optional<std::uint64_t> size() const;
  [[nodiscard]] std::optional<std::uint64_t> bytes_left() const override;

 private:
  std::string name_;
  Descriptor descriptor_;
};

// All bytes of the file, or of standard input for "-". Fails above limit_bytes.
[[nodiscard]] std::string read_file(const std::string& path, std::uint64_t limit_bytes);

enum class Overwrite { refuse, allow };

using Write = std::function<void(std::string_view)>;

// fill() writes in pieces, because the file may exceed the memory.
struct StreamedFile {
  std::string path;
  std::function<void(const Write& write)> fill;
  // Checks the bytes under the temporary name. Throws if they are wrong.
  std::function<void(const std::string& path)> check = {};
};

// Refuses an output that exists (unless allowed), is no regular file, has other hard links, or is
// an open input. Afterwards no output can be opened as an input. Commands call this first.
void check_outputs(std::span<const std::string> paths, Overwrite overwrite);

// A replaced file keeps its permissions and, if allowed, its owner. Does not call fsync.
void write_files(std::span<const StreamedFile> files, Overwrite overwrite);

}  // namespace rotary::cli
