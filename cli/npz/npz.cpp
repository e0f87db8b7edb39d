// SPDX-License-Identifier: Apache-2.0
#include "cli/npz/npz.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "apps/failure.hpp"
#include "apps/files.hpp"

namespace rotary::cli {
namespace {

// 1980-01-01 00:00, the earliest time of a zip archive.
constexpr std::uint16_t dos_date = (1 << 5) | 1;
constexpr std::uint16_t dos_time = 0;

[[noreturn]] void fail_zip(std::string_view what, const char* why) {
  fail(ExitCode::internal, "libzip cannot {}: {}", what, why);
}

template <auto close>
struct Closer {
  void operator()(auto* handle) const noexcept { static_cast<void>(close(handle)); }
};
using Archive = std::unique_ptr<zip_t, Closer<zip_discard>>;
using Source = std::unique_ptr<zip_source_t, Closer<zip_source_free>>;

constexpr zip_int64_t most_entries = 64;
constexpr std::uint64_t most_unpacked_times = 64;  // tables of cos and sin shrink at most 10 times
constexpr std::uint64_t most_unpacked_of_any = std::uint64_t{4} << 20;

[[noreturn]] void fail_archive(const std::string& name, std::string_view why) {
  fail(ExitCode::malformed_input, "{}: must be a zip archive of .npy files, got {}", name, why);
}

// A zip64 directory may have any number of entries, and libzip reads all before it counts them.
void refuse_zip64(const InputFile& file, std::uint64_t size, const std::string& name) {
  constexpr std::size_t locator_bytes = 20;
  std::string tail(std::min<std::uint64_t>(size, 65535 + 22 + locator_bytes), '\0');
  tail.resize(file.read_at(size - tail.size(), std::as_writable_bytes(std::span(tail))));
  for (std::size_t at = 0; (at = tail.find("PK\5\6", at)) != std::string::npos; ++at) {
    if (at >= locator_bytes && tail.compare(at - locator_bytes, 4, "PK\6\7") == 0)
      fail_archive(name, "one with a zip64 directory");
  }
}

// Unpacks an entry and ignores the size that the directory announces.
class EntryStream : public ByteStream {
 public:
  EntryStream(zip_t* archive, zip_uint64_t index, std::uint64_t most_bytes, const std::string& name)
      : file_(zip_fopen_index(archive, index, 0)), left_(most_bytes), name_(name) {
    if (!file_) fail_archive(name, zip_strerror(archive));
  }

  [[nodiscard]] std::size_t read(std::span<std::byte> bytes) override {
    std::size_t filled = 0;
    while (filled < bytes.size()) {
      const auto rest = bytes.subspan(filled);
      const zip_int64_t count = zip_fread(file_.get(), rest.data(), rest.size());
      if (count < 0) fail_archive(name_, zip_file_strerror(file_.get()));
      if (count == 0) break;
      filled += static_cast<std::size_t>(count);
    }
    if (filled > left_) {
      fail_archive(name_, fmt::format("an entry that unpacks to more than {} MiB and {} times the "
                                      "archive",
                                      most_unpacked_of_any >> 20, most_unpacked_times));
    }
    left_ -= filled;
    return filled;
  }
  [[nodiscard]] std::optional<std::uint64_t> bytes_left() const override { return {}; }

 private:
  std::unique_ptr<zip_file_t, Closer<zip_fclose>> file_;
  std::uint64_t left_;
  const std::string& name_;
};

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
  zip_source_keep(memory.get());  // closing the archive releases one reference
  for (const auto& [array, npy] : entries) {
    const std::string name = array + ".npy";
    Source data(zip_source_buffer(archive.get(), npy.data(), npy.size(), 0));
    if (!data) fail_zip("hold " + name, zip_strerror(archive.get()));
    const zip_int64_t added =
        zip_file_add(archive.get(), name.c_str(), data.get(), ZIP_FL_ENC_UTF_8);
    if (added < 0) fail_zip("add " + name, zip_strerror(archive.get()));
    static_cast<void>(data.release());  // the archive owns it now
    const auto index = static_cast<zip_uint64_t>(added);
    if (zip_set_file_compression(archive.get(), index, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive.get(), index, dos_time, dos_date, 0) != 0)
      fail_zip("describe " + name, zip_strerror(archive.get()));
  }
  if (zip_close(archive.get()) != 0) fail_zip("write the archive", zip_strerror(archive.get()));
  static_cast<void>(archive.release());
  return bytes_of(memory.get());
}

NpzFile::NpzFile(const std::string& path) : path_(path) {
  const InputFile file(path);
  bytes_ = file.size().value_or(0);
  refuse_zip64(file, bytes_, path);
  int code = 0;
  zip_t* const archive = zip_open(path.c_str(), ZIP_RDONLY, &code);
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    fail_archive(path, zip_error_strerror(&error));
  }
  archive_.reset(archive, Closer<zip_discard>());
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  if (count > most_entries) fail_archive(path, fmt::format("{} entries", count));
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    const char* const found = zip_get_name(archive, index, ZIP_FL_ENC_RAW);
    const std::string_view name = found == nullptr ? "" : found;
    if (!name.ends_with(".npy")) continue;
    names_.emplace_back(name.substr(0, name.size() - 4));
    indices_.push_back(index);
  }
}

NpyArray NpzFile::read(std::size_t index, const NpyLimit& limit) const {
  EntryStream entry(static_cast<zip_t*>(archive_.get()), indices_[index],
                    most_unpacked_of_any + most_unpacked_times * bytes_, path_);
  return value_or_fail(read_npy(entry, limit), fmt::format("{}: {}", path_, names_[index]));
}

}  // namespace rotary::cli
