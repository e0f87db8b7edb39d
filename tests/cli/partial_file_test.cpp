// SPDX-License-Identifier: Apache-2.0
// Several outputs appear together or not at all. test_interruptions.py tests this under signals.
#include "apps/partial_file.hpp"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "apps/failure.hpp"
#include "apps/files.hpp"

namespace rotary::cli {
namespace {

namespace fs = std::filesystem;

class PartialFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "rotary-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const char* name) const { return folder_ / name; }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

 private:
  fs::path folder_;
};

TEST_F(PartialFileTest, AFailedCheckOfOneOutputChangesNoFile) {
  std::ofstream(path("old")) << "old";
  std::string checked;
  const auto fill = [](const auto& write) { write("new"); };
  const auto refuse = [&checked](const std::string& name) {
    std::getline(std::ifstream(name), checked);
    throw Failure(ExitCode::io, "wrong");
  };
  const std::array outputs = {StreamedFile{.path = path("right"), .fill = fill},
                              StreamedFile{.path = path("old"), .fill = fill, .check = refuse}};
  EXPECT_THROW(write_files(outputs, Overwrite::allow), Failure);
  EXPECT_EQ(checked, "new");
  EXPECT_EQ(files(), 1);
  std::getline(std::ifstream(path("old")), checked);
  EXPECT_EQ(checked, "old");
}

void write_under_nohup(const std::string& target) {
  static_cast<void>(std::signal(SIGHUP, SIG_IGN));
  {
    const RemovalBySignals removal;
    PartialFile file(target);
    static_cast<void>(std::raise(SIGHUP));
    file.write("text");
    file.finish();
    file.take_place();
  }
  static_cast<void>(std::raise(SIGHUP));
  std::_Exit(7);
}

TEST_F(PartialFileTest, IgnoredSignalsStayIgnored) {
  EXPECT_EXIT(write_under_nohup(path("target")), testing::ExitedWithCode(7), "");
  EXPECT_EQ(files(), 1);
}

// The second output appears after its first check, so it cannot take its place.
TEST_F(PartialFileTest, AFailedReplacementUndoesTheOneBefore) {
  for (const char* first : {"old", "new"}) {
    std::ofstream(path("old")) << "old";
    const auto fill = [](const auto& write) { write("text"); };
    const auto appear = [&](const auto&) { std::ofstream(path("second")) << "of another"; };
    const std::array outputs = {
        StreamedFile{.path = path(first), .fill = fill},
        StreamedFile{.path = path("second"), .fill = fill, .check = appear}};
    EXPECT_THROW(write_files(outputs, Overwrite::allow), Failure);
    EXPECT_EQ(fs::file_size(path("old")), 3u);
    EXPECT_EQ(fs::file_size(path("second")), 10u);
    EXPECT_EQ(files(), 2);
    fs::remove(path("second"));
  }
}

}  // namespace
}  // namespace rotary::cli
