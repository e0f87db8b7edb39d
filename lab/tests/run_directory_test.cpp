// SPDX-License-Identifier: Apache-2.0
#include "lab/runs/run_directory.hpp"

#include <gtest/gtest.h>

#include <string>

#include "apps/failure.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/tests/temporary_folder.hpp"
#include "lab/tests/tiny.hpp"

namespace rotary::lab {
namespace {

TEST(RunDirectory, CutsTheLogToTheCheckpointsLength) {
  const ScratchFolder folder;
  auto directory = RunDirectory::claim(folder.path(), tiny_cells("causal_lm")[0]);
  directory->begin_log(0);
  directory->append({.step = 10, .tokens = 5, .train_loss = 0.1F});
  const std::int64_t bytes = directory->log_bytes();
  const std::string log = directory->path() + "/log.csv";
  const std::string kept = read_text(log);
  EXPECT_EQ(static_cast<std::int64_t>(kept.size()), bytes);
  // Nine digits restore the float.
  EXPECT_TRUE(has(kept, "10,5,0.100000001,"));
  write_text(log, "20,10,half a li", std::ios::app);
  directory->begin_log(bytes);
  EXPECT_EQ(read_text(log), kept);
  EXPECT_THROW(directory->begin_log(bytes + 1), cli::Failure);
}

}  // namespace
}  // namespace rotary::lab
