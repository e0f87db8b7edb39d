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

TEST(RunDirectory, BelongsToOneProcessAtATime) {
  const TemporaryFolder folder;
  const Cell cell = tiny_cells("causal_lm")[0];
  auto first = RunDirectory::claim(folder.path(), cell);
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(RunDirectory::claim(folder.path(), cell).has_value());
  first.reset();
  EXPECT_TRUE(RunDirectory::claim(folder.path(), cell).has_value());
}

TEST(RunDirectory, RefusesAnotherConfiguration) {
  const TemporaryFolder folder;
  Cell cell = tiny_cells("causal_lm")[0];
  EXPECT_TRUE(RunDirectory::claim(folder.path(), cell).has_value());
  cell.training.learning_rate = 1;
  const std::string refused = failure_of([&] { return RunDirectory::claim(folder.path(), cell); });
  EXPECT_NE(refused.find("training.learning_rate must be 0.003"), std::string::npos) << refused;
}

TEST(RunDirectory, CutsTheLogToTheCheckpointsLength) {
  const TemporaryFolder folder;
  auto directory = RunDirectory::claim(folder.path(), tiny_cells("causal_lm")[0]);
  directory->begin_log(0);
  directory->append({.step = 10, .tokens = 5, .train_loss = 0.1F});
  const std::int64_t bytes = directory->log_bytes();
  const std::string log = directory->path() + "/log.csv";
  const std::string kept = read_text(log);
  EXPECT_EQ(static_cast<std::int64_t>(kept.size()), bytes);
  // Nine digits restore the float.
  EXPECT_NE(kept.find("10,5,0.100000001,"), std::string::npos) << kept;
  write_text(log, "20,10,half a li", std::ios::app);
  directory->begin_log(bytes);
  EXPECT_EQ(read_text(log), kept);
  EXPECT_THROW(directory->begin_log(bytes + 1), cli::Failure);
}

}  // namespace
}  // namespace rotary::lab
