// SPDX-License-Identifier: Apache-2.0
// Reads and writes files. Outputs get their names once all outputs of the command are complete; a
// failure leaves no trace. Failures are I/O failures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/byte_stream.hpp"
#include "cli/standard_streams.hpp"

namespace rotary::cli {

// The name of an input in messages: its path, or "standard input" for "-".
[[nodiscard]] std::string_view input_name(std::string_view path) noexcept;

// Usage failure where more than one of the inputs is "-".
void check_standard_input(std::initializer_list<std::optional<std::string>> inputs);

// "-" is standard input. Opens regular files and pipes of the shell alone, and never waits. Usage
// failure for a file that check_outputs() took for an output.
class InputFile : public ByteStream {
 public:
  explicit InputFile(const std::string& path);

  [[nodiscard]] std::size_t read(std::span<std::byte> bytes) override;

  // Reads at `offset`, independent of read(); a failure counts as the end.
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, std::span<std::byte> bytes) const;

  // Absent unless it is a regular file.
  [[nodiscard]] std::optional<std::uint64_t> size() const;
  [[nodiscard]] std::optional<std::uint64_t> bytes_left() const override;

 private:
  std::string name_;
  Descriptor descriptor_;
};

// All bytes of the file, or of standard input for "-"; a file with more than limit_bytes fails.
[[nodiscard]] std::string read_file(const std::string& path, std::uint64_t limit_bytes);

enum class Overwrite { refuse, allow };

struct OutputFile {
  std::string path;
  std::string bytes;
};

using Write = std::function<void(std::string_view)>;

// A file too large for memory: fill() writes it in pieces.
struct StreamedFile {
  std::string path;
  std::function<void(const Write& write)> fill;
  // Verifies the bytes under their temporary name; throws if they are wrong.
  std::function<void(const std::string& path)> check = {};
};

// Fails when an output could not be written or is an open input; opening it later as an input
// fails. Called before the work, so that a refusal comes at once.
void check_outputs(std::span<const std::string> paths, Overwrite overwrite);

// A replaced file keeps its permissions and, where allowed, its owner. No fsync.
void write_files(std::span<const OutputFile> files, Overwrite overwrite);
void write_files(std::span<const StreamedFile> files, Overwrite overwrite);

}  // namespace rotary::cli
