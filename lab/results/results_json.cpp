// SPDX-License-Identifier: Apache-2.0
#include "lab/results/results_json.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "lab/results/measures.hpp"
#include "lab/results/results.hpp"
#include "rotary/version.hpp"

namespace rotary::lab {
namespace {

// Keys in the order of writing: the page shows metrics in theirs.
using json = nlohmann::ordered_json;

json maybe(const std::optional<double>& number) {
  return number && std::isfinite(*number) ? json(*number) : json();
}

json interval_json(const std::optional<Interval>& interval) {
  return interval ? json::array({interval->low, interval->high}) : json();
}

json summary_json(const std::optional<Summary>& summary) {
  if (!summary) return {};
  return {{"mean", summary->mean},
          {"interval", interval_json(summary->interval)},
          {"seeds", summary->seeds}};
}

json curve_json(const std::vector<LogRow>& curve) {
  json columns = {{"step", json::array()},     {"tokens", json::array()},
                  {"training", json::array()}, {"validation", json::array()},
                  {"cpu_s", json::array()},    {"wall_s", json::array()}};
  for (const LogRow& row : curve) {
    columns["step"].push_back(row.step);
    columns["tokens"].push_back(row.tokens);
    columns["training"].push_back(row.train_loss);
    columns["validation"].push_back(row.validation_loss);
    columns["cpu_s"].push_back(row.cpu_s);
    columns["wall_s"].push_back(row.wall_s);
  }
  return columns;
}

json cell_json(const CellResult& cell) {
  const Outcome& outcome = cell.outcome;
  json lengths = json::array();
  for (const LengthLoss& length : outcome.lengths) {
    lengths.push_back({{"multiple", length.multiple},
                       {"rule", length.rule},
                       {"loss", maybe(length.loss)},
                       {"last_quarter", maybe(length.last_quarter)},
                       {"by_position", length.by_position}});
  }
  return {{"seed", cell.seed},
          {"steps", outcome.steps},
          {"parameters", outcome.parameters},
          {"loss", outcome.validation_loss},
          {"wall_s", outcome.wall_s},
          {"cpu_s", outcome.cpu_s},
          {"metrics", outcome.metrics},
          {"lengths", std::move(lengths)},
          {"curve", curve_json(cell.curve)}};
}

// The arm whose end others are compared with by the steps to reach it: of the baselines that the
// papers have, the first that was run.
std::string target_of(const Results& results) {
  for (const char* name : {"learned", "sinusoidal", "none"}) {
    const ArmResult* arm = find_arm(results, name);
    const bool trained = arm != nullptr && !arm->cells.front().curve.empty();
    if (trained && results.arms.size() > 1) return arm->name;
  }
  return {};
}

json arm_json(const Results& results, const ArmResult& arm, const std::string& target) {
  json cells = json::array();
  for (const CellResult& cell : arm.cells) cells.push_back(cell_json(cell));
  json metrics = json::object();
  for (const auto& [name, value] : arm.cells.front().outcome.metrics) {
    metrics[name] = summary_json(summary_of(results, arm, {.encoding = arm.name, .metric = name}));
  }
  const auto& config = arm.cells.front().config;
  const bool best = arm.family.empty() || find_arm(results, arm.family) == &arm;
  return {
      {"name", arm.name},
      {"family", arm.family},
      {"best_of_family", best},
      {"encoding", config.value("encoding", nlohmann::json())},
      {"model", config.value("model", nlohmann::json())},
      {"training", config.value("training", nlohmann::json())},
      {"start", config.value("start", nlohmann::json())},
      {"loss", summary_json(loss_summary(arm))},
      {"steps_to_target",
       target.empty() ? json()
                      : summary_json(summary_of(
                            results, arm, {.encoding = arm.name, .metric = "steps_to@" + target}))},
      {"metrics", std::move(metrics)},
      {"cells", std::move(cells)}};
}

json claim_json(const ClaimResult& judged) {
  json gaps = json::array();
  double sum = 0;
  for (const Gap& gap : judged.gaps) {
    gaps.push_back({{"seed", gap.seed}, {"lower", gap.lower}, {"higher", gap.higher}});
    sum += gap.higher - gap.lower;
  }
  const json mean =
      judged.gaps.empty() ? json() : json(sum / static_cast<double>(judged.gaps.size()));
  const json over = judged.interval ? json(judged.over_windows ? "windows" : "seeds") : json();
  return {{"statement", judged.claim.statement},
          {"verdict", to_string(judged.verdict)},
          {"lower", text_of(judged.claim.lower)},
          {"lower_arm", judged.lower_arm},
          {"higher", text_of(judged.claim.higher)},
          {"higher_arm", judged.higher_arm},
          {"margin", judged.claim.margin},
          {"gaps", std::move(gaps)},
          {"gap", mean},
          {"interval", interval_json(judged.interval)},
          {"interval_over", over}};
}

json published_json(const Results& results, const PublishedTable& table) {
  json rows = json::array();
  for (const PublishedRow& row : beside(results, table)) {
    rows.push_back({{"measure", text_of(row.measure)},
                    {"published", row.published},
                    {"published_difference", row.published_difference},
                    {"ours", maybe(row.ours)},
                    {"ours_difference", maybe(row.ours_difference)}});
  }
  return {{"label", table.label},
          {"source", table.source},
          {"unit", to_string(table.unit)},
          {"rows", std::move(rows)}};
}

// Each data set once.
json data_json(const Results& results, const std::vector<Manifest>& manifests) {
  json found = json::array();
  for (const ArmResult& arm : results.arms) {
    for (const CellResult& cell : arm.cells) {
      const auto data = cell.config.value("data", nlohmann::json::object());
      json one = {{"name", data.value("name", "")}, {"sha256", data.value("sha256", "")}};
      const auto manifest =
          std::ranges::find(manifests, data.value("sha256", ""), &Manifest::sha256);
      const bool known = manifest != manifests.end();
      one["origin"] = known ? json(manifest->origin) : json();
      one["licence"] = known ? json(manifest->licence) : json();
      if (std::ranges::find(found, one) == found.end()) found.push_back(std::move(one));
    }
  }
  return found;
}

json experiment_json(const Results& results, const std::vector<Manifest>& manifests) {
  const Experiment& experiment = *results.experiment;
  const std::string target = target_of(results);
  std::size_t finished = 0;
  json arms = json::array();
  for (const ArmResult& arm : results.arms) {
    finished += arm.cells.size();
    arms.push_back(arm_json(results, arm, target));
  }
  json claims = json::array();
  for (const ClaimResult& claim : results.claims) claims.push_back(claim_json(claim));
  json tables = json::array();
  for (const PublishedTable& table : experiment.published)
    tables.push_back(published_json(results, table));
  return {{"name", experiment.name},
          {"title", experiment.title},
          {"mirrors", experiment.mirrors},
          {"preset", results.preset},
          {"cells", {{"finished", finished}, {"of_preset", results.cells_of_preset}}},
          {"data", data_json(results, manifests)},
          {"machines", machines_of(results)},
          {"remarks", results.remarks},
          {"target", target},
          {"arms", std::move(arms)},
          {"claims", std::move(claims)},
          {"published", std::move(tables)}};
}

}  // namespace

std::string json_of(const std::vector<Results>& all, const std::vector<Manifest>& manifests) {
  json experiments = json::array();
  for (const Results& results : all) experiments.push_back(experiment_json(results, manifests));
  const json document = {{"schema_version", 1},
                         {"rotary", ROTARY_VERSION_STRING},
                         {"experiments", std::move(experiments)}};
  // In ASCII, so that no character of a name can end a line or an element of the page.
  return document.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace) + "\n";
}

}  // namespace rotary::lab
