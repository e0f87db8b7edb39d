// SPDX-License-Identifier: Apache-2.0
#include "lab/results/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "lab/results/measures.hpp"

namespace rotary::lab {
namespace {

using cli::plot::Axis;
using cli::plot::Figure;
using cli::plot::Mark;
using cli::plot::Panel;
using cli::plot::Scale;
using cli::plot::Series;
using cli::plot::Style;

// x -> the values of several cells there.
using Points = std::map<double, std::vector<double>>;

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// A line through the means.
Series line_of(std::string name, const Points& points) {
  Series series{.name = std::move(name)};
  for (const auto& [x, values] : points) {
    series.x.push_back(x);
    series.y.push_back(mean(values));
  }
  return series;
}

// Adds the line where there is one. The number is an arm's, which has its colour in every panel.
void add_line(Panel& panel, std::string name, std::size_t number, const Points& points) {
  if (points.size() < 2) return;
  panel.series.push_back(line_of(std::move(name), points));
  panel.series.back().color = number;
}

std::size_t number_of(const Results& results, const ArmResult& arm) {
  return static_cast<std::size_t>(&arm - results.arms.data());
}

// Whether there is something to see: lines that are not all on one number.
bool has_contours(const Panel& panel) {
  std::set<double> values;
  for (const Series& series : panel.series) values.insert(series.y.begin(), series.y.end());
  return values.size() > 1;
}

Panel curves_panel(const Results& results) {
  Panel panel{.title = "losses on the way",
              .x = {.label = "steps"},
              .y = {.label = "validation loss (nats)"}};
  for (const ArmResult& arm : results.arms) {
    Points points;
    for (const CellResult& cell : arm.cells) {
      for (const LogRow& row : cell.curve)
        points[static_cast<double>(row.step)].push_back(row.validation_loss);
    }
    add_line(panel, arm.name, number_of(results, arm), points);
  }
  return panel;
}

Panel lengths_panel(const Results& results) {
  Panel panel{.title = "longer sequences",
              .x = {.label = "length (multiples of the trained one)"},
              .y = {.label = "loss on the last quarter (nats)"}};
  for (const ArmResult& arm : results.arms) {
    Points points;
    for (const CellResult& cell : arm.cells) {
      for (const LengthLoss& length : cell.outcome.lengths) {
        if (length.rule.empty() && length.last_quarter)
          points[static_cast<double>(length.multiple)].push_back(*length.last_quarter);
      }
    }
    add_line(panel, arm.name, number_of(results, arm), points);
  }
  return panel;
}

double rate_of(const CellResult& cell) {
  return cell.config.at("training").at("learning_rate").get<double>();
}

// A line for each family, of what `value` says of a cell.
template <class Value>
Panel rates_panel(const Results& results, std::string label, const Value& value) {
  Panel panel{.title = "", .x = {.label = "learning rate"}, .y = {.label = std::move(label)}};
  std::set<double> rates;
  for (const ArmResult& arm : results.arms) rates.insert(rate_of(arm.cells.front()));
  if (*rates.rbegin() > 20 * *rates.begin()) panel.x.scale = Scale::logarithmic;
  std::vector<std::string> families;
  for (const ArmResult& arm : results.arms) {
    if (std::ranges::find(families, arm.family) == families.end()) families.push_back(arm.family);
  }
  for (const std::string& family : families) {
    Points points;
    for (const ArmResult& arm : results.arms) {
      if (arm.family != family) continue;
      for (const CellResult& cell : arm.cells) {
        if (const std::optional<double> number = value(cell.outcome))
          points[rate_of(cell)].push_back(*number);
      }
    }
    add_line(panel, family, panel.series.size(), points);
  }
  return panel;
}

struct NamedMetric {
  const char* name;
  const char* label;
  double scale = 1;
};

// A metric that has a value for each length.
struct LengthMetric {
  NamedMetric metric;
  Axis lengths;
};

// "overhead" and 512 of "overhead@512"; "accuracy" and 2 of "accuracy@2x".
std::optional<std::pair<std::string, double>> point_of(std::string_view metric) {
  const std::size_t at = metric.find('@');
  if (at == std::string_view::npos) return std::nullopt;
  double x = 0;
  const std::string_view number = metric.substr(at + 1);
  const auto read = std::from_chars(number.data(), number.data() + number.size(), x);
  if (read.ec != std::errc()) return std::nullopt;
  return std::pair{std::string(metric.substr(0, at)), x};
}

std::string task_of(const ArmResult& arm) {
  return arm.cells.front().config.at("model").value("task", "");
}

// A panel for each task, a line for each arm, whose name is then the encoding's alone.
std::vector<Panel> metric_curve_panels(const Results& results, const LengthMetric& of) {
  const auto& [metric, lengths] = of;
  std::vector<Panel> panels;
  for (const ArmResult& arm : results.arms) {
    Points points;
    for (const CellResult& cell : arm.cells) {
      for (const auto& [name, value] : cell.outcome.metrics) {
        const auto point = point_of(name);
        if (point && point->first == metric.name) points[point->second].push_back(value);
      }
    }
    if (points.empty()) continue;
    const std::string task = task_of(arm);
    auto panel = std::ranges::find(panels, task, &Panel::title);
    if (panel == panels.end()) {
      panels.push_back({.title = task, .x = lengths, .y = {.label = metric.label}});
      panel = panels.end() - 1;
    }
    const bool is_of_task = arm.name.starts_with(task + "-");
    add_line(*panel, is_of_task ? arm.name.substr(task.size() + 1) : arm.name, panel->series.size(),
             points);
  }
  if (panels.size() == 1) panels.front().title.clear();
  return panels;
}

// The 95 % of one cell's metric, where the cell says it.
std::optional<Interval> interval_of(const Outcome& outcome, const std::string& metric) {
  const auto number = [&](const std::string& name) -> std::optional<double> {
    const auto found = outcome.metrics.find(name);
    return found == outcome.metrics.end() ? std::nullopt : std::optional(found->second);
  };
  const auto low = number(metric + "_low");
  const auto high = number(metric + "_high");
  if (low && high) return Interval{.low = *low, .high = *high};
  const auto value = number(metric);
  const auto half = number(metric + "_half_width");
  if (value && half) return Interval{.low = *value - *half, .high = *value + *half};
  return std::nullopt;
}

// A vertical line, broken off from the others of the series.
void add_interval(Series& series, double x, const Interval& interval) {
  constexpr double nowhere = std::numeric_limits<double>::quiet_NaN();
  series.x.insert(series.x.end(), {x, x, x});
  series.y.insert(series.y.end(), {interval.low, interval.high, nowhere});
}

// A row for each arm: a point for each seed with a line over its interval, and a line over the
// interval of their mean.
Panel arms_panel(const Results& results, const std::string& metric, std::string label) {
  Panel panel{.title = "", .x = {.label = ""}, .y = {.label = std::move(label)}};
  Series seeds{.name = "seeds", .style = Style::points, .color = 0};
  Series of_seeds{.name = "95 % of one seed", .color = 0};
  Series of_means{.name = "95 % of the seeds' mean", .color = 1};
  for (const ArmResult& arm : results.arms) {
    const Measure measure{.encoding = arm.name, .metric = metric};
    const auto summary = summary_of(results, arm, measure);
    if (!summary) continue;
    const auto place = static_cast<double>(panel.x.ticks.size());
    panel.x.ticks.push_back(arm.name);
    double at = place;
    for (const CellResult& cell : arm.cells) {
      const auto value = value_of(results, cell, measure);
      if (!value) continue;
      at += 0.1;
      seeds.x.push_back(at);
      seeds.y.push_back(*value);
      if (const auto interval = interval_of(cell.outcome, metric))
        add_interval(of_seeds, at, *interval);
    }
    if (summary->interval) add_interval(of_means, place - 0.1, *summary->interval);
  }
  for (Series* const each : {&of_means, &of_seeds, &seeds}) {
    if (!each->x.empty()) panel.series.push_back(std::move(*each));
  }
  panel.x.from = -0.5;
  panel.x.to = static_cast<double>(panel.x.ticks.size()) - 0.5;
  return panel;
}

bool has_metric(const Results& results, std::string_view metric) {
  return std::ranges::any_of(results.arms, [&](const ArmResult& arm) {
    return std::ranges::any_of(arm.cells, [&](const CellResult& cell) {
      return cell.outcome.metrics.contains(std::string(metric));
    });
  });
}

// Metrics of whole cells, in the order in which they are worth looking at.
constexpr std::array metrics_of_cells = {NamedMetric{"bleu", "BLEU"},
                                         NamedMetric{"accuracy", "share that is right"},
                                         NamedMetric{"spearman", "Spearman's correlation"}};

std::vector<LengthMetric> metrics_of_lengths() {
  return {{.metric = {"overhead", "processor time of a step, more (share)"},
           .lengths = {.label = "length (tokens)", .scale = Scale::logarithmic}},
          {.metric = {"accuracy", "symbols that are right (share)"},
           .lengths = {.label = "length (multiples of the trained one)"}}};
}

std::vector<Panel> rate_panels(const Results& results) {
  std::vector<Panel> panels = {
      rates_panel(results, "validation loss at the end (nats)",
                  [](const Outcome& outcome) { return std::optional(outcome.validation_loss); })};
  for (const auto& [name, label, scale] :
       {NamedMetric{"largest_gradient_norm", "largest norm of the gradients"},
        NamedMetric{"loss_spikes", "spikes of the loss in 1,000 steps", 1000}}) {
    Panel panel = rates_panel(results, label, [&](const Outcome& outcome) {
      const auto found = outcome.metrics.find(name);
      return found == outcome.metrics.end() ? std::nullopt : std::optional(scale * found->second);
    });
    if (has_contours(panel)) panels.push_back(std::move(panel));
  }
  return panels;
}

std::vector<Panel> main_panels(const Results& results) {
  if (!results.arms.front().family.empty()) return rate_panels(results);
  std::vector<Panel> panels;
  for (const LengthMetric& metric : metrics_of_lengths())
    std::ranges::move(metric_curve_panels(results, metric), std::back_inserter(panels));
  for (const auto& [name, label, scale] : metrics_of_cells) {
    if (has_metric(results, name)) panels.push_back(arms_panel(results, name, label));
  }
  const bool has_no_metric = panels.empty();
  if (has_no_metric || has_metric(results, "bleu")) panels.push_back(curves_panel(results));
  if (has_no_metric) panels.push_back(lengths_panel(results));
  std::erase_if(panels, [](const Panel& panel) { return panel.series.empty(); });
  return panels;
}

// The mean over the seeds of an arm, a line for each layer, over wavelengths.
template <class Value>
Panel pairs_panel(const ArmResult& arm, std::string label, const Value& value) {
  Panel panel{.title = arm.name, .x = {.label = "pair, the fastest first"}, .y = {.label = {}}};
  panel.y.label = std::move(label);
  std::map<std::int64_t, Points> layers;
  for (const CellResult& cell : arm.cells) {
    for (const PairInfluence& pair : cell.outcome.pairs)
      layers[pair.layer][static_cast<double>(pair.pair)].push_back(value(pair));
  }
  for (const auto& [layer, points] : layers)
    panel.series.push_back(line_of(fmt::format("layer {}", layer), points));
  return panel;
}

void add_pairs_panels(Figure& figure, const ArmResult& arm) {
  figure.panels.push_back(pairs_panel(arm, "energy of q and k", [](const PairInfluence& pair) {
    return pair.q_energy + pair.k_energy;
  }));
  figure.panels.push_back(
      pairs_panel(arm, "loss if it does not turn (nats more)",
                  [](const PairInfluence& pair) { return pair.loss_unturned; }));
  figure.panels.push_back(pairs_panel(arm, "loss without it (nats more)",
                                      [](const PairInfluence& pair) { return pair.loss_removed; }));
  figure.panels.push_back(
      pairs_panel(arm, "attended distance without it (tokens more)",
                  [](const PairInfluence& pair) { return pair.distance_removed; }));
}

}  // namespace

std::vector<Figure> figures_of(const Results& results) {
  if (results.arms.empty()) return {};
  std::vector<Figure> figures;
  Figure whole{.name = results.experiment->name,
               .title = results.experiment->title,
               .caption = "Means of the seeds.",
               .panels = main_panels(results)};
  if (!whole.panels.empty()) figures.push_back(std::move(whole));
  Figure pairs{.name = results.experiment->name + "-pairs",
               .title = "What each pair of a trained model does",
               .caption =
                   "Means of the seeds: how long q and k are there, and what changes if one "
                   "pair of one layer does not turn, or is removed.",
               .columns = 2};
  for (const ArmResult& arm : results.arms) {
    if (!arm.cells.front().outcome.pairs.empty()) add_pairs_panels(pairs, arm);
  }
  if (!pairs.panels.empty()) figures.push_back(std::move(pairs));
  return figures;
}

}  // namespace rotary::lab
