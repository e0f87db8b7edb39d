// SPDX-License-Identifier: Apache-2.0

#include "lab/runs/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
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
#include "lab/data/dataset.hpp"
#include "lab/experiment/json_object.hpp"
#include "lab/process/machine.hpp"
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

// Whole, as it always is but where somebody else wrote to it.
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
    throw Failure(ExitCode::usage, fmt::format("{} must be there, beside a checkpoint; give --runs "
                                               "another folder, or remove this one",
                                               path));
  }
  const std::string differs = difference(cli::read_file(path, small_file_limit), config);
  if (differs.empty()) return;
  throw Failure(ExitCode::usage,
                fmt::format("{}: {}; give --runs another folder, or remove this one",
                            directory.path(), differs));
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
  append_to(path_ + "/log.csv", line);
  log_bytes_ += std::ssize(line);
}

void RunDirectory::commit_checkpoint() const {
  // The checkpoint says how long the log is.
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
                       {"loss", optional_number(length.loss)},
                       {"last_quarter", optional_number(length.last_quarter)},
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
                   {"machines", to_json(outcome.machines)}};
  for (const PairInfluence& pair : outcome.pairs) {
    json numbers = {{"layer", pair.layer}, {"pair", pair.pair}};
    for (const auto& [name, number] : named_numbers(pair)) numbers[name] = *number;
    document["pairs"].push_back(numbers);
  }
  write_durably(path_ + "/done.json", document.dump(2) + "\n");
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
  // null: a number that overflowed, such as a perplexity.
  for (const auto& [name, value] : object.at("metrics").items()) {
    if (value.is_number()) outcome.metrics.emplace(name, value.get<double>());
  }
  if (object.has("pairs")) {
    for (const json& each : object.at("pairs")) {
      JsonObject pair(each, file + ": pairs");
      PairInfluence& influence = outcome.pairs.emplace_back();
      influence.layer = pair.integer("layer", 0);
      influence.pair = pair.integer("pair", 0);
      for (const auto& [name, number] : named_numbers(influence)) *number = pair.number(name);
    }
  }
  if (object.has("machines")) outcome.machines = parse_machines(object.at("machines"), file);
  return outcome;
}

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

namespace {

constexpr std::uint64_t log_bytes_limit = 64 << 20;
constexpr std::size_t columns = 8;

// True where the text is numbers with commas between, as many as there are columns.
bool read_numbers(std::string_view text, std::array<double, columns>& numbers) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t column = 0; column < columns; ++column) {
    if (column > 0 && (at == end || *at++ != ',')) return false;
    const auto [stop, error] = std::from_chars(at, end, numbers[column]);
    if (error != std::errc()) return false;
    at = stop;
  }
  return at == end;
}

}  // namespace

std::vector<LogRow> read_log(const std::string& path) {
  const std::string text = cli::read_file(path, log_bytes_limit);
  std::vector<LogRow> rows;
  std::string_view rest = text;
  for (std::size_t line = 1; !rest.empty(); ++line) {
    const std::size_t end = rest.find('\n');
    const std::string_view row = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line == 1) continue;
    std::array<double, columns> numbers = {};
    if (!read_numbers(row, numbers)) {
      throw cli::Failure(
          cli::ExitCode::malformed_input,
          fmt::format("{}: line {} must be {} numbers with commas between", path, line, columns));
    }
    rows.push_back({.step = static_cast<std::int64_t>(numbers[0]),
                    .tokens = static_cast<std::int64_t>(numbers[1]),
                    .train_loss = numbers[2],
                    .validation_loss = numbers[3],
                    .learning_rate = numbers[4],
                    .wall_s = numbers[5],
                    .cpu_s = numbers[6],
                    .tokens_per_s = numbers[7]});
  }
  return rows;
}

}  // namespace rotary::lab
