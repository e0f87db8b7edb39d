// SPDX-License-Identifier: Apache-2.0
#include "cli/npz/npz.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <cstdint>
#include <memory>
#include <string_view>

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

}  // namespace rotary::cli
