// SPDX-License-Identifier: Apache-2.0
#include "lab/runs/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "lab/experiment/json_object.hpp"
#include "rotary/version.hpp"

namespace rotary::lab {
namespace {

namespace fs = std::filesystem;
using cli::ExitCode;
using cli::Failure;
using nlohmann::json;

constexpr std::uint64_t small_file_limit = 1 << 20;
constexpr std::string_view log_head =
    "step,tokens,train_loss,validation_loss,learning_rate,wall_s,cpu_s,tokens_per_s\n";

[[noreturn]] void fail_errno(const std::string& path, std::string_view verb) {
  throw Failure(ExitCode::io, fmt::format("{}: cannot {} it: {}", path, verb,
                                          std::generic_category().message(errno)));
}

void check_config(const std::string& folder, const std::string& config) {
  const std::string path = folder + "/config.json";
  if (!fs::exists(path)) {
    cli::write_files(std::array{cli::OutputFile{.path = path, .bytes = config}},
                     cli::Overwrite::refuse);
    return;
  }
  const std::string differs = difference(cli::read_file(path, small_file_limit), config);
  if (differs.empty()) return;
  throw Failure(
      ExitCode::usage,
      fmt::format("{}: {}; give --runs another folder, or remove this one", folder, differs));
}

void write_at_end(const std::string& path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) fail_errno(path, "open");
  const ssize_t written = ::write(file, bytes.data(), bytes.size());
  const int error = written == std::ssize(bytes) ? 0 : errno;
  ::close(file);
  errno = error;
  if (written != std::ssize(bytes)) fail_errno(path, "write");
}

json optional_number(const std::optional<double>& number) {
  return number ? json(*number) : json();
}

// NaN is null in JSON.
std::vector<double> numbers_of(const json& list) {
  std::vector<double> numbers;
  for (const json& each : list)
    numbers.push_back(each.is_number() ? each.get<double>()
                                       : std::numeric_limits<double>::quiet_NaN());
  return numbers;
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
  RunDirectory directory(path, lock);
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::nullopt;
    fail_errno(lock_path, "lock");
  }
  check_config(path, config_of(cell));
  return directory;
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, -1)),
      log_bytes_(other.log_bytes_) {}

RunDirectory::~RunDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

bool RunDirectory::has_checkpoint() const { return fs::exists(checkpoint()); }

bool RunDirectory::finished() const { return fs::exists(path_ + "/done.json"); }

void RunDirectory::begin_log(std::int64_t bytes) {
  const std::string log = path_ + "/log.csv";
  if (bytes == 0) {
    fs::remove(log);
    write_at_end(log, log_head);
    log_bytes_ = std::ssize(log_head);
    return;
  }
  std::error_code error;
  const auto size = fs::file_size(log, error);
  if (error || size < static_cast<std::uintmax_t>(bytes)) {
    throw Failure(ExitCode::malformed_input,
                  fmt::format("{} must have the {} bytes that its checkpoint knows of; remove {} "
                              "to begin again",
                              log, bytes, path_));
  }
  fs::resize_file(log, static_cast<std::uintmax_t>(bytes));
  log_bytes_ = bytes;
}

void RunDirectory::append(const LogRow& row) {
  // Nine digits tell two floats apart.
  const std::string line = fmt::format("{},{},{:.9g},{:.9g},{:.6g},{:.3f},{:.3f},{:.0f}\n",
                                       row.step, row.tokens, row.train_loss, row.validation_loss,
                                       row.learning_rate, row.wall_s, row.cpu_s, row.tokens_per_s);
  write_at_end(path_ + "/log.csv", line);
  log_bytes_ += std::ssize(line);
}

void RunDirectory::commit_checkpoint() const {
  const std::string from = pending_checkpoint();
  const int file = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail_errno(from, "open");
  const bool synced = ::fsync(file) == 0;
  ::close(file);
  if (!synced) fail_errno(from, "write");
  std::error_code error;
  fs::rename(from, checkpoint(), error);
  if (error) throw Failure(ExitCode::io, fmt::format("{}: {}", checkpoint(), error.message()));
}

void RunDirectory::finish(const Outcome& outcome) const {
  json lengths = json::array();
  for (const LengthLoss& length : outcome.lengths) {
    lengths.push_back({{"multiple", length.multiple},
                       {"rule", length.rule},
                       {"loss", optional_number(length.loss)},
                       {"last_quarter", optional_number(length.last_quarter)},
                       {"windows", length.windows},
                       {"by_position", length.by_position}});
  }
  const json document = {{"schema_version", 1},
                         {"rotary", ROTARY_VERSION_STRING},
                         {"steps", outcome.steps},
                         {"parameters", outcome.parameters},
                         {"validation_loss", outcome.validation_loss},
                         {"wall_s", outcome.wall_s},
                         {"cpu_s", outcome.cpu_s},
                         {"lengths", lengths},
                         {"metrics", outcome.metrics}};
  cli::write_files(
      std::array{cli::OutputFile{.path = path_ + "/done.json", .bytes = document.dump(2) + "\n"}},
      cli::Overwrite::allow);
}

std::optional<double> value_of(const Outcome& outcome, const Measure& measure) {
  if (!measure.metric.empty()) {
    const auto found = outcome.metrics.find(measure.metric);
    return found == outcome.metrics.end() ? std::nullopt : std::optional(found->second);
  }
  for (const LengthLoss& length : outcome.lengths) {
    if (length.multiple == measure.multiple && length.rule == measure.rule)
      return measure.last_quarter ? length.last_quarter : length.loss;
  }
  return std::nullopt;
}

std::optional<Outcome> read_outcome(const std::string& path) {
  const std::string file = path + "/done.json";
  if (!fs::exists(file)) return std::nullopt;
  const json document = parse_json(cli::read_file(file, small_file_limit), file);
  JsonObject object(document, file);
  Outcome outcome{.steps = object.integer("steps", 0),
                  .parameters = object.integer("parameters", 0),
                  .validation_loss = object.number("validation_loss"),
                  .wall_s = object.number("wall_s"),
                  .cpu_s = object.number("cpu_s"),
                  .lengths = {}};
  for (const json& each : object.at("lengths")) {
    JsonObject length(each, file + ": lengths");
    const auto maybe = [&](std::string_view key) {
      return length.at(key).is_null() ? std::nullopt : std::optional(length.number(key));
    };
    outcome.lengths.push_back({.multiple = length.integer("multiple", 1),
                               .rule = length.has("rule") ? length.text("rule") : "",
                               .loss = maybe("loss"),
                               .last_quarter = maybe("last_quarter"),
                               .windows = numbers_of(length.at("windows")),
                               .by_position = numbers_of(length.at("by_position"))});
  }
  for (const auto& [name, value] : object.at("metrics").items())
    outcome.metrics.emplace(name, value.get<double>());
  return outcome;
}

}  // namespace rotary::lab
