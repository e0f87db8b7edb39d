// SPDX-License-Identifier: Apache-2.0
#include "lab/runs/budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/failure.hpp"
#include "apps/files.hpp"
#include "lab/experiment/json_object.hpp"
#include "lab/runs/durable_file.hpp"

namespace rotary::lab {
namespace {

namespace fs = std::filesystem;
using cli::ExitCode;
using cli::Failure;

constexpr std::uint64_t budget_bytes_limit = 4096;

fs::path budget_path(const std::string& runs, const Cell& cell) {
  return fs::path(runs) / fmt::format("{}-{}", cell.experiment, cell.preset) / "budget.json";
}

std::int64_t scaled_number(std::int64_t number, double scale) {
  return std::llround(static_cast<double>(number) * scale);
}

// Cells that only measure cost cannot be shortened.
bool is_shortened(const TrainingConfig& training) { return training.cost_lengths.empty(); }

}  // namespace

double parse_duration(const std::string& text) {
  constexpr std::array units = {std::pair{'s', 1.0}, std::pair{'m', 60.0}, std::pair{'h', 3600.0}};
  for (const auto& [letter, seconds] : units) {
    if (!text.ends_with(letter)) continue;
    const std::string number = text.substr(0, text.size() - 1);
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    const bool is_plain = number.find_first_not_of("0123456789.") == std::string::npos;
    if (is_plain && !number.empty() && *end == '\0' && value > 0) return value * seconds;
  }
  throw Failure(ExitCode::usage,
                fmt::format("--budget must be a time such as 90s, 10m or 1.5h, got '{}'", text));
}

Budget make_budget(double seconds, const std::vector<Cell>& cells,
                   const std::vector<CellTime>& times) {
  double steps_s = 0;
  double fixed_s = 0;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (std::size_t n = 0; n < cells.size(); ++n) {
    const bool is_trained = is_shortened(cells[n].training);
    (is_trained ? steps_s : fixed_s) += times[n].steps_s;
    fixed_s += times[n].fixed_s;
    if (is_trained) fewest = std::min(fewest, cells[n].training.steps);
  }
  const double scale = steps_s > 0 ? std::min(1.0, (seconds - fixed_s) / steps_s) : 1.0;
  const double least =
      std::min(1.0, static_cast<double>(least_scaled_steps) / static_cast<double>(fewest));
  if (scale >= least) return {.seconds = seconds, .scale = scale};
  throw Failure(
      ExitCode::usage,
      fmt::format("--budget must leave every cell {} steps, which takes {:.0f} s of processor "
                  "time for the {} cells, {:.0f} s of them for validation; got {:.0f} s",
                  least_scaled_steps, std::ceil(fixed_s + least * steps_s), cells.size(), fixed_s,
                  seconds));
}

void scale_training(TrainingConfig& training, double scale) {
  if (scale == 1 || !is_shortened(training)) return;
  const auto at_least_one = [&](std::int64_t number) {
    return std::max<std::int64_t>(1, scaled_number(number, scale));
  };
  training.steps = at_least_one(training.steps);
  training.warmup_steps = scaled_number(training.warmup_steps, scale);
  training.validate_every = at_least_one(training.validate_every);
}

std::optional<Budget> read_budget(const std::string& runs, const Cell& cell) {
  const std::string path = budget_path(runs, cell).string();
  if (!fs::exists(path)) return std::nullopt;
  const nlohmann::json document = parse_json(cli::read_file(path, budget_bytes_limit), path);
  JsonObject object(document, path);
  if (object.integer("schema_version", 1) != 1)
    throw Failure(ExitCode::malformed_input, path + ": schema_version must be 1");
  const Budget budget{.seconds = object.number("seconds"), .scale = object.number("scale")};
  object.finish();
  if (budget.scale > 0 && budget.scale <= 1) return budget;
  throw Failure(ExitCode::malformed_input,
                fmt::format("{}: scale must be in (0, 1], got {}", path, budget.scale));
}

bool began_without_budget(const std::string& runs, const Cell& cell) {
  const fs::path path = budget_path(runs, cell);
  if (fs::exists(path)) return false;
  // Only cells have folders. A process killed while it wrote the budget may leave a file.
  std::error_code error;
  const fs::directory_iterator entries(path.parent_path(), error);
  return std::any_of(begin(entries), end(entries),
                     [](const fs::directory_entry& entry) { return entry.is_directory(); });
}

void write_budget(const std::string& runs, const std::vector<Cell>& cells, const Budget& budget) {
  const nlohmann::json document = {
      {"schema_version", 1}, {"seconds", budget.seconds}, {"scale", budget.scale}};
  for (const Cell& cell : cells) {
    const fs::path path = budget_path(runs, cell);
    if (fs::exists(path)) continue;
    fs::create_directories(path.parent_path());
    write_durably(path.string(), document.dump(2) + "\n");
  }
}

}  // namespace rotary::lab
