// SPDX-License-Identifier: Apache-2.0
#include "cli/npz/npz.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "cli/failure.hpp"

namespace rotary::cli {
namespace {

// 1980-01-01 00:00: the first moment of a zip archive.
constexpr std::uint16_t dos_date = (1 << 5) | 1;
constexpr std::uint16_t dos_time = 0;

[[noreturn]] void fail_zip(std::string_view what, const char* why) {
  throw Failure(ExitCode::internal, fmt::format("libzip cannot {}: {}", what, why));
}

struct ArchiveDiscarder {
  void operator()(zip_t* archive) const noexcept { zip_discard(archive); }
};
struct SourceFreer {
  void operator()(zip_source_t* source) const noexcept { zip_source_free(source); }
};
using Archive = std::unique_ptr<zip_t, ArchiveDiscarder>;
using Source = std::unique_ptr<zip_source_t, SourceFreer>;

void add_entry(zip_t* archive, const NpzEntry& entry) {
  const std::string name = entry.name + ".npy";
  Source data(zip_source_buffer(archive, entry.npy.data(), entry.npy.size(), 0));
  if (!data) fail_zip("hold " + name, zip_strerror(archive));
  const zip_int64_t index = zip_file_add(archive, name.c_str(), data.get(), ZIP_FL_ENC_UTF_8);
  if (index < 0) fail_zip("add " + name, zip_strerror(archive));
  static_cast<void>(data.release());  // the archive owns it now
  const auto entry_index = static_cast<zip_uint64_t>(index);
  if (zip_set_file_compression(archive, entry_index, ZIP_CM_STORE, 0) != 0 ||
      zip_file_set_dostime(archive, entry_index, dos_time, dos_date, 0) != 0) {
    fail_zip("describe " + name, zip_strerror(archive));
  }
}

constexpr zip_int64_t most_entries = 64;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;

[[noreturn]] void fail_archive(const std::string& name, std::string_view why) {
  throw Failure(ExitCode::malformed_input,
                fmt::format("{}: must be a zip archive of .npy files, got {}", name, why));
}

struct EntryCloser {
  void operator()(zip_file_t* file) const noexcept { static_cast<void>(zip_fclose(file)); }
};

// Reads as many bytes as there are, not as many as the directory announces.
std::string entry_bytes(zip_t* archive, zip_uint64_t index, std::uint64_t limit,
                        const std::string& name) {
  const std::unique_ptr<zip_file_t, EntryCloser> file(zip_fopen_index(archive, index, 0));
  if (!file) fail_archive(name, zip_strerror(archive));
  std::string bytes;
  std::string block(std::size_t{1} << 16, '\0');
  for (;;) {
    const zip_int64_t count = zip_fread(file.get(), block.data(), block.size());
    if (count < 0) fail_archive(name, zip_file_strerror(file.get()));
    if (count == 0) return bytes;
    bytes.append(block, 0, static_cast<std::size_t>(count));
    if (bytes.size() > limit) fail_archive(name, "more than 1 GiB");
  }
}

std::string bytes_of(zip_source_t* source) {
  zip_stat_t status;
  zip_stat_init(&status);
  if (zip_source_stat(source, &status) != 0 || zip_source_open(source) != 0) {
    fail_zip("read the archive", zip_error_strerror(zip_source_error(source)));
  }
  std::string bytes(status.size, '\0');
  const zip_int64_t count = zip_source_read(source, bytes.data(), bytes.size());
  zip_source_close(source);
  if (count < 0 || static_cast<std::uint64_t>(count) != bytes.size()) {
    fail_zip("read the archive", zip_error_strerror(zip_source_error(source)));
  }
  return bytes;
}

}  // namespace

std::string write_npz(std::span<const NpzEntry> entries) {
  zip_error_t error;
  zip_error_init(&error);
  const Source memory(zip_source_buffer_create(nullptr, 0, 0, &error));
  if (!memory) fail_zip("make a buffer", zip_error_strerror(&error));
  Archive archive(zip_open_from_source(memory.get(), ZIP_CREATE | ZIP_TRUNCATE, &error));
  if (!archive) fail_zip("make an archive", zip_error_strerror(&error));
  zip_source_keep(memory.get());  // closing the archive gives up one reference
  for (const NpzEntry& entry : entries) add_entry(archive.get(), entry);
  if (zip_close(archive.get()) != 0) fail_zip("write the archive", zip_strerror(archive.get()));
  static_cast<void>(archive.release());
  return bytes_of(memory.get());
}

std::vector<NpzEntry> read_npz(std::string_view bytes, const std::string& name) {
  zip_error_t error;
  zip_error_init(&error);
  Source memory(zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error));
  if (!memory) fail_zip("hold " + name, zip_error_strerror(&error));
  const Archive archive(zip_open_from_source(memory.get(), ZIP_RDONLY, &error));
  if (!archive) fail_archive(name, zip_error_strerror(&error));
  static_cast<void>(memory.release());  // the archive owns it now
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  if (count > most_entries) fail_archive(name, fmt::format("{} entries", count));
  std::vector<NpzEntry> entries;
  std::uint64_t left = most_bytes;
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    const char* const found = zip_get_name(archive.get(), index, ZIP_FL_ENC_RAW);
    const std::string_view file = found == nullptr ? "" : found;
    if (!file.ends_with(".npy")) continue;
    std::string npy = entry_bytes(archive.get(), index, left, name);
    left -= npy.size();
    entries.push_back({std::string(file.substr(0, file.size() - 4)), std::move(npy)});
  }
  return entries;
}

}  // namespace rotary::cli
