// SPDX-License-Identifier: Apache-2.0
#include "lab/runs/start.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "lab/data/dataset.hpp"

namespace rotary::lab {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t config_bytes_limit = 1 << 20;

}  // namespace

Cell with_start(Cell cell, const std::string& runs) {
  if (!cell.start) return cell;
  const fs::path folder = fs::path(runs) / start_folder_of(cell);
  if (!fs::exists(folder / "done.json") || !fs::exists(folder / "checkpoint.pt")) {
    throw cli::Failure(
        cli::ExitCode::usage,
        fmt::format("{} starts from {}, which must be finished: rotary-lab run "
                    "lab/experiments/{}.json --preset {} --only {} --seeds {} --runs {}",
                    folder_of(cell), folder.string(), cell.start->experiment, cell.preset,
                    cell.start->encoding, cell.seed, runs));
  }
  cell.start_sha256 =
      sha256_of(cli::read_file((folder / "config.json").string(), config_bytes_limit));
  return cell;
}

std::string start_checkpoint(const Cell& cell, const std::string& runs) {
  return (fs::path(runs) / start_folder_of(cell) / "checkpoint.pt").string();
}

}  // namespace rotary::lab
