// SPDX-License-Identifier: Apache-2.0
// Files in, whole files out. An output appears under its name only when it is complete, and only
// when every output of the command is; failing leaves no trace. Failures are I/O failures.
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

// Messages call an input so: its path, or "standard input" for "-".
[[nodiscard]] std::string_view input_name(std::string_view path) noexcept;

// Usage failure where more than one of the inputs is "-".
void check_standard_input(std::initializer_list<std::optional<std::string>> inputs);

// From its first byte on; "-" is standard input. Every input is opened here: no path waits, and
// nothing is read of what is neither a regular file nor a pipe of the shell. Usage failure for a
// file that check_outputs() took for an output.
class InputFile : public ByteStream {
 public:
  explicit InputFile(const std::string& path);

  [[nodiscard]] std::size_t read(std::span<std::byte> bytes) override;

  // The bytes from `offset` on, wherever read() is; a failure reads as the end.
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, std::span<std::byte> bytes) const;

  // Absent of what is no regular file.
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

// A file too large for memory: fill() hands its bytes on, piece by piece.
struct StreamedFile {
  std::string path;
  std::function<void(const Write& write)> fill;
  // Reads the bytes back, from the name that they have until they are found right; throws if not.
  std::function<void(const std::string& path)> check = {};
};

// Fails when one of them could not be written, or is an input, by whatever path: opened before, or
// later, when opening it fails. Called before the work, so that nobody waits for a result that is
// then refused.
void check_outputs(std::span<const std::string> paths, Overwrite overwrite);

// An existing file hands on its permissions, and its owner as far as the user may. The bytes are
// with the system then, and not yet on the disk: the same command gives them again.
void write_files(std::span<const OutputFile> files, Overwrite overwrite);
void write_files(std::span<const StreamedFile> files, Overwrite overwrite);

}  // namespace rotary::cli
