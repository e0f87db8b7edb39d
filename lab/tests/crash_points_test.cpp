// SPDX-License-Identifier: Apache-2.0
// Kills a process before each of its file changes, and in the middle of writes. Training the cell
// again must end with the bits of a training that was never killed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "lab/runs/run_directory.hpp"
#include "lab/tests/forked.hpp"
#include "lab/tests/temporary_folder.hpp"
#include "lab/tests/tiny.hpp"
#include "lab/torch/train_cell.hpp"

namespace {

// File changes before this process is killed; below 0: it is never killed.
int changes_left = -1;
int changes_made = 0;
int last_written = -1;  // a file descriptor

bool ends_here() {
  ++changes_made;
  return changes_left >= 0 && changes_left-- == 0;
}

template <class... Arguments>
long change(long number, Arguments... arguments) {
  if (ends_here()) (void)raise(SIGKILL);
  last_written = -1;
  return syscall(number, arguments...);
}

// The first of consecutive writes to a file has two crash points: before it and in its middle.
void before_write(int file, const auto& write_half) {
  if (file == last_written) return;
  if (ends_here()) (void)raise(SIGKILL);
  if (ends_here()) {
    write_half();
    (void)raise(SIGKILL);
  }
  last_written = file;
}

}  // namespace

// These replace the C library's functions in this program, to kill it at a change.
extern "C" {
int rename(const char* from, const char* to) noexcept {
  return static_cast<int>(change(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int fsync(int file) { return static_cast<int>(change(SYS_fsync, file)); }
int truncate(const char* path, off_t size) noexcept {
  return static_cast<int>(change(SYS_truncate, path, size));
}
int remove(const char* path) noexcept {
  return static_cast<int>(change(SYS_unlinkat, AT_FDCWD, path, 0));
}
int close(int file) {
  last_written = -1;
  return static_cast<int>(syscall(SYS_close, file));
}
ssize_t write(int file, const void* bytes, std::size_t size) {
  before_write(file, [&] { (void)syscall(SYS_write, file, bytes, size / 2); });
  return syscall(SYS_write, file, bytes, size);
}
ssize_t writev(int file, const iovec* parts, int count) {
  before_write(file, [&] { (void)syscall(SYS_writev, file, parts, 1); });
  return syscall(SYS_writev, file, parts, count);
}
}

namespace rotary::lab {
namespace {

double final_loss(const std::string& path) {
  return nlohmann::json::parse(read_text(path + "/done.json"))["validation_loss"];
}

std::optional<double> train(const std::string& folder, const Cell& cell, const Dataset& data) {
  RunDirectory directory = *RunDirectory::claim(folder, cell);
  if (directory.finished()) return final_loss(directory.path());
  const auto outcome = train_cell(cell, data, directory, {.checkpoint_every_s = 0});
  return outcome ? std::optional(outcome->validation_loss) : std::nullopt;
}

TEST(CrashPoints, ATrainingKilledAtAnyPointEndsWithTheSameBits) {
  set_threads(1);
  const Dataset& data = small_data();
  const Cell cell = tiny_cells("causal_lm", {"rope"}, 2)[0];
  const ScratchFolder folder;
  changes_made = 0;
  const auto whole = train(folder / "whole", cell, data);
  const int moments = changes_made;
  ASSERT_TRUE(whole.has_value());
  const auto losses = losses_of(folder / "whole/" + folder_of(cell));
  // config.json, the log, two checkpoints and done.json, each with several changes.
  ASSERT_GT(moments, 25);
  for (int n = 0; n < moments; ++n) {
    SCOPED_TRACE(n);
    const std::string name = folder / std::to_string(n);
    const pid_t process = fork_with([&] {
      changes_left = n;
      return train(name, cell, data) ? 0 : 1;
    });
    ASSERT_EQ(end_of(process), -SIGKILL);
    const auto again = train(name, cell, data);
    EXPECT_EQ(again, whole);
    EXPECT_EQ(losses_of(name + "/" + folder_of(cell)), losses);
    EXPECT_EQ(final_loss(name + "/" + folder_of(cell)), whole);
  }
}

}  // namespace
}  // namespace rotary::lab
