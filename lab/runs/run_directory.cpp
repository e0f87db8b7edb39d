// SPDX-License-Identifier: Apache-2.0

#include "lab/runs/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "apps/failure.hpp"
#include "apps/files.hpp"
#include "apps/json.hpp"
#include "lab/data/dataset.hpp"
#include "lab/experiment/json_object.hpp"
#include "lab/runs/durable_file.hpp"

namespace rotary::lab {

namespace {

namespace fs = std::filesystem;
using cli::ExitCode;
using cli::Failure;
using nlohmann::json;

constexpr std::uint64_t small_file_limit = 1 << 20;
constexpr std::string_view log_head =
    "step,tokens,train_loss,validation_loss,learning_rate,wall_s,cpu_s,tokens_per_s\n";

// Whether the file exists and is JSON. The lab itself writes only JSON there.
bool is_json(const std::string& path) {
  return fs::exists(path) && json::accept(cli::read_file(path, small_file_limit));
}

void check_config(const RunDirectory& directory, const std::string& config) {
  const std::string path = directory.path() + "/config.json";
  const bool begun = directory.has_checkpoint() || directory.finished();
  if (!begun && !is_json(path)) {
    write_durably(path, config);
    return;
  }
  if (!fs::exists(path)) {
    throw Failure(ExitCode::usage, fmt::format("{} must exist beside a checkpoint; give --runs "
                                               "another folder, or remove this one",
                                               path));
  }
  const std::string differs = difference(cli::read_file(path, small_file_limit), config);
  if (differs.empty()) return;
  throw Failure(ExitCode::usage,
                fmt::format("{}: {}; give --runs another folder, or remove this one",
                            directory.path(), differs));
}

}  // namespace

std::optional<RunDirectory> RunDirectory::claim(const std::string& root, const Cell& cell) {
  const std::string path = (fs::path(root) / folder_of(cell)).string();
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw Failure(ExitCode::io, fmt::format("{}: {}", path, error.message()));
  const std::string lock_path = path + "/lock";
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0) fail_errno(lock_path, "open");
  RunDirectory directory(root, path, lock);
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::nullopt;
    fail_errno(lock_path, "lock");
  }
  check_config(directory, config_of(cell));
  return directory;
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : runs_(std::move(other.runs_)),
      path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, -1)),
      log_bytes_(other.log_bytes_) {}

RunDirectory::~RunDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

bool RunDirectory::has_checkpoint() const { return fs::exists(checkpoint()); }

bool RunDirectory::finished() const { return is_json(path_ + "/done.json"); }

void RunDirectory::begin_log(std::int64_t bytes) {
  const std::string log = path_ + "/log.csv";
  if (bytes == 0) {
    fs::remove(log);
    append_to(log, log_head);
    log_bytes_ = std::ssize(log_head);
    return;
  }
  std::error_code error;
  const auto size = fs::file_size(log, error);
  if (error || size < static_cast<std::uintmax_t>(bytes)) {
    throw Failure(ExitCode::malformed_input,
                  fmt::format("{} must have the {} bytes that its checkpoint records; remove {} "
                              "to begin again",
                              log, bytes, path_));
  }
  fs::resize_file(log, static_cast<std::uintmax_t>(bytes));
  log_bytes_ = bytes;
}

void RunDirectory::append(const LogRow& row) {
  // Nine digits identify a float.
  const std::string line = fmt::format("{},{},{:.9g},{:.9g},{:.6g},{:.3f},{:.3f},{:.0f}\n",
                                       row.step, row.tokens, row.train_loss, row.validation_loss,
                                       row.learning_rate, row.wall_s, row.cpu_s, row.tokens_per_s);
  append_to(path_ + "/log.csv", line);
  log_bytes_ += std::ssize(line);
}

void RunDirectory::commit_checkpoint() const {
  // The checkpoint records the log's length, so the log must be on disk first.
  flush_to_disk(path_ + "/log.csv");
  rename_durably(pending_checkpoint(), checkpoint());
}

void RunDirectory::keep(std::string_view name, const std::string& bytes) const {
  write_durably(fmt::format("{}/{}", path_, name), bytes);
}

void RunDirectory::finish(const Outcome& outcome) const {
  json lengths = json::array();
  for (const LengthLoss& length : outcome.lengths) {
    lengths.push_back({{"multiple", length.multiple},
                       {"rule", length.rule},
                       {"loss", length.loss},
                       {"last_quarter", length.last_quarter},
                       {"windows", length.windows},
                       {"by_position", length.by_position}});
  }
  json document = {{"schema_version", 1},
                   {"steps", outcome.steps},
                   {"parameters", outcome.parameters},
                   {"validation_loss", outcome.validation_loss},
                   {"wall_s", outcome.wall_s},
                   {"cpu_s", outcome.cpu_s},
                   {"lengths", lengths},
                   {"metrics", outcome.metrics},
                   {"machines", outcome.machines}};
  if (!outcome.pairs.empty()) document["pairs"] = outcome.pairs;
  write_durably(path_ + "/done.json", document.dump(2) + "\n");
}

bool is_finished(const std::string& runs, const std::string& folder) {
  return fs::exists(fs::path(runs) / folder / "done.json");
}

Cell with_start(Cell cell, const std::string& runs) {
  if (!cell.start) return cell;
  const fs::path config = fs::path(runs) / start_folder_of(cell) / "config.json";
  cell.start_sha256 = sha256_of(cli::read_file(config.string(), small_file_limit));
  return cell;
}

std::string start_checkpoint(const Cell& cell, const std::string& runs) {
  return (fs::path(runs) / start_folder_of(cell) / "checkpoint.pt").string();
}

}  // namespace rotary::lab
