// SPDX-License-Identifier: Apache-2.0
// A signal that arrives while outputs are written leaves no files behind.
#include "apps/partial_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

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

// If the check of one output fails, the other one does not appear either.
TEST_F(PartialFileTest, AFailedCheckKeepsTheOldFiles) {
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

class PartialFileDeathTest : public PartialFileTest {};

void write_no_core() {
  const ::rlimit none{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

// Raises the signal after one file is complete and another is begun.
void write_and_raise(const std::string& one, const std::string& other, int signal) {
  write_no_core();
  const RemovalBySignals removal;
  PartialFile first(one);
  first.write("first");
  first.finish();
  PartialFile second(other);
  second.write("sec");
  static_cast<void>(std::raise(signal));
  std::_Exit(0);
}

TEST_F(PartialFileDeathTest, SignalsRemoveFilesAndEndTheProcess) {
  std::ofstream(path("old")) << "old";
  for (const int signal : RemovalBySignals::signals) {
    EXPECT_EXIT(write_and_raise(path("old"), path("new"), signal), testing::KilledBySignal(signal),
                "")
        << signal;
    EXPECT_EQ(files(), 1) << signal;
  }
}

void exchange_and_raise(const std::string& target) {
  const RemovalBySignals removal;
  PartialFile file(target);
  file.write("new");
  file.finish();
  const SignalsBlocked blocked;
  static_cast<void>(std::raise(SIGTERM));
  file.take_place();
}

// The signal is blocked until the names are exchanged. Then it removes the old file.
TEST_F(PartialFileDeathTest, ASignalDuringAnExchangeIsDeliveredAfterIt) {
  std::ofstream(path("target")) << "old";
  EXPECT_EXIT(exchange_and_raise(path("target")), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EQ(files(), 1);
  std::string text;
  std::ifstream(path("target")) >> text;
  EXPECT_EQ(text, "new");
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

TEST_F(PartialFileDeathTest, IgnoredSignalsStayIgnored) {
  EXPECT_EXIT(write_under_nohup(path("target")), testing::ExitedWithCode(7), "");
  EXPECT_EQ(files(), 1);
}

void write_then_raise(const std::string& target) {
  {
    const RemovalBySignals removal;
    PartialFile file(target);
    file.finish();
    file.take_place();
  }
  static_cast<void>(std::raise(SIGTERM));
}

TEST_F(PartialFileDeathTest, LaterSignalsRemoveNothing) {
  EXPECT_EXIT(write_then_raise(path("target")), testing::KilledBySignal(SIGTERM), "");
  EXPECT_TRUE(fs::exists(path("target")));
}

TEST_F(PartialFileTest, GiveBackRestoresTheTarget) {
  std::ofstream(path("old")) << "old";
  for (const char* name : {"old", "new"}) {
    PartialFile file(path(name));
    file.write("text");
    file.finish();
    file.take_place();
    EXPECT_EQ(fs::file_size(path(name)), 4u);
    EXPECT_TRUE(file.give_back());
  }
  EXPECT_EQ(fs::file_size(path("old")), 3u);
  EXPECT_EQ(files(), 1);
}

TEST_F(PartialFileTest, AFileThatAppearsMeanwhileIsNotReplaced) {
  PartialFile file(path("target"));
  file.write("text");
  file.finish();
  std::ofstream(path("target")) << "of another";
  EXPECT_ANY_THROW(file.take_place());
  EXPECT_EQ(fs::file_size(path("target")), 10u);
}

}  // namespace
}  // namespace rotary::cli
