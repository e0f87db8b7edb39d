// SPDX-License-Identifier: Apache-2.0
// libzip opens the archives that the tool writes.
#include "cli/npz/npz.hpp"

#include <gtest/gtest.h>
#include <zip.h>

#include <string>
#include <vector>

namespace rotary::cli {
namespace {

const std::vector<NpzEntry> entries = {{.name = "cos", .npy = std::string(5000, 'c')},
                                       {.name = "sin", .npy = "s"}};

std::string content_of(zip_t* archive, const std::string& name, std::size_t size) {
  std::string content(size, '\0');
  zip_file_t* file = zip_fopen(archive, name.c_str(), 0);
  if (file == nullptr) return "cannot open " + name;
  EXPECT_EQ(zip_fread(file, content.data(), size), static_cast<zip_int64_t>(size));
  zip_fclose(file);
  return content;
}

TEST(WriteNpz, StoresTheEntriesWithoutCompression) {
  const std::string bytes = write_npz(entries);
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  zip_t* archive = zip_open_from_source(source, ZIP_CHECKCONS, &error);
  ASSERT_NE(archive, nullptr);
  EXPECT_EQ(zip_get_num_entries(archive, 0), 2);
  for (const NpzEntry& entry : entries) {
    const std::string name = entry.name + ".npy";
    zip_stat_t status;
    ASSERT_EQ(zip_stat(archive, name.c_str(), 0, &status), 0);
    EXPECT_EQ(status.comp_method, ZIP_CM_STORE);
    EXPECT_EQ(content_of(archive, name, entry.npy.size()), entry.npy);
  }
  zip_discard(archive);
}

TEST(WriteNpz, WritesTheSameBytesEachTime) { EXPECT_EQ(write_npz(entries), write_npz(entries)); }

}  // namespace
}  // namespace rotary::cli
