// SPDX-License-Identifier: Apache-2.0

#include "lab/results/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "lab/experiment/json_object.hpp"
#include "lab/process/machine.hpp"
#include "lab/results/measures.hpp"
#include "lab/runs/run_directory.hpp"

namespace rotary::lab {

std::string_view to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::confirmed:
      return "confirmed";
    case Verdict::not_visible:
      return "not visible at this scale";
    case Verdict::contradicted:
      return "contradicted";
    case Verdict::not_run:
      break;
  }
  return "not run";
}

Verdict judge(std::span<const double> gaps, const std::optional<Interval>& interval,
              double margin) noexcept {
  if (gaps.empty()) return Verdict::not_run;
  const auto [least, greatest] = std::ranges::minmax(gaps);
  // The border that the mean is compared with: no effect, or the worst that is still as good.
  const double border = std::min(margin, 0.0);
  if (least >= margin && (!interval || interval->low >= border)) return Verdict::confirmed;
  const bool opposite = margin > 0 ? greatest <= -margin : greatest < margin;
  if (opposite && (!interval || interval->high < border)) return Verdict::contradicted;
  return Verdict::not_visible;
}

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t file_bytes_limit = 16 << 20;
constexpr std::string_view seed_prefix = "seed-";

json read_object(const fs::path& path) {
  json object = parse_json(cli::read_file(path.string(), file_bytes_limit), path.string());
  if (object.is_object()) return object;
  throw cli::Failure(
      cli::ExitCode::malformed_input,
      fmt::format("{} must be an object, got {}", path.string(), object.type_name()));
}

// 17 for "seed-17"; absent for other names.
std::optional<std::uint64_t> seed_of(std::string_view folder) {
  if (!folder.starts_with(seed_prefix)) return std::nullopt;
  folder.remove_prefix(seed_prefix.size());
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(folder.data(), folder.data() + folder.size(), seed);
  if (error != std::errc() || end != folder.data() + folder.size()) return std::nullopt;
  return seed;
}

std::vector<CellResult> read_cells(const fs::path& folder, const ResultsFilter& filter) {
  std::vector<CellResult> cells;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const auto seed = seed_of(entry.path().filename().string());
    if (!seed) continue;
    if (!filter.seeds.empty() && std::ranges::find(filter.seeds, *seed) == filter.seeds.end())
      continue;
    auto outcome = read_outcome(entry.path().string());
    if (!outcome) continue;
    if (filter.complete) filter.complete(*outcome, entry.path().string());
    const fs::path log = entry.path() / "log.csv";
    cells.push_back({.seed = *seed,
                     .outcome = *std::move(outcome),
                     .curve = fs::exists(log) ? read_log(log.string()) : std::vector<LogRow>(),
                     .config = read_object(entry.path() / "config.json")});
  }
  std::ranges::sort(cells, {}, &CellResult::seed);
  return cells;
}

void check_data(Results& results) {
  std::set<std::string> found;
  for (const ArmResult& arm : results.arms) {
    for (const CellResult& cell : arm.cells) found.insert(cell.config.value("data", json()).dump());
  }
  if (found.size() > 1)
    results.remarks.push_back("cells differ in their data: they are not to be compared");
}

void check_arms(Results& results) {
  for (const ArmResult& arm : results.arms) {
    for (const CellResult& cell : arm.cells) {
      for (const char* key : {"encoding", "model", "training"}) {
        const auto& first = arm.cells.front().config;
        if (first.value(key, json()) == cell.config.value(key, json())) continue;
        results.remarks.push_back(fmt::format("{}: the {} of seed {} is not that of seed {}",
                                              arm.name, key, cell.seed, arm.cells.front().seed));
        break;
      }
    }
  }
}

}  // namespace

bool is_called(const Arm& arm, const std::string& name) {
  return arm.name == name || (!arm.family.empty() && arm.family == name);
}

Results collect_results(const Experiment& experiment, const ResultsFilter& filter) {
  const Preset& preset = find_preset(experiment, filter.preset);
  Results results{.experiment = &experiment, .preset = filter.preset};
  const fs::path folder =
      fs::path(filter.runs) / fmt::format("{}-{}", experiment.name, filter.preset);
  for (const Arm& arm : preset.arms) {
    const auto called = [&](const std::string& name) { return is_called(arm, name); };
    if (!filter.only.empty() && std::ranges::none_of(filter.only, called)) continue;
    results.cells_of_preset += arm.seeds.size();
    std::vector<CellResult> cells = read_cells(folder / arm.name, filter);
    if (cells.empty()) continue;
    results.arms.push_back({.name = arm.name, .family = arm.family, .cells = std::move(cells)});
  }
  check_data(results);
  check_arms(results);
  if (machines_of(results).size() > 1) {
    results.remarks.push_back(
        "cells were made in several ways: processor times of different ones do not compare");
  }
  for (const Claim& claim : experiment.claims)
    results.claims.push_back(judge_claim(results, claim));
  return results;
}

std::vector<std::string> machines_of(const Results& results) {
  std::set<std::string> machines;
  for (const ArmResult& arm : results.arms) {
    for (const CellResult& cell : arm.cells)
      for (const Machine& machine : cell.outcome.machines) machines.insert(text_of(machine));
  }
  return {machines.begin(), machines.end()};
}

std::vector<PublishedRow> beside(const Results& results, const PublishedTable& table) {
  const auto comparable = [&](double number) {
    return table.unit == PublishedUnit::perplexity ? std::log(number) : number;
  };
  std::vector<PublishedRow> rows;
  for (const auto& [measure, number] : table.values) {
    PublishedRow row{.measure = measure, .published = number};
    row.published_difference = comparable(number) - comparable(table.values.front().number);
    const ArmResult* arm = find_arm(results, measure.encoding);
    const auto ours = arm == nullptr ? std::nullopt : summary_of(results, *arm, measure);
    if (ours) row.ours = (table.unit == PublishedUnit::percent ? 100 : 1) * ours->mean;
    const auto& first = rows.empty() ? row.ours : rows.front().ours;
    if (row.ours && first) row.ours_difference = *row.ours - *first;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace rotary::lab
