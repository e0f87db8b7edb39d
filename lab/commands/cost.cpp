// SPDX-License-Identifier: Apache-2.0
// cost: processor time of a step with each encoding of a preset, at several lengths.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "lab/commands/commands.hpp"
#include "lab/commands/progress.hpp"
#include "lab/data/dataset.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/experiment/experiment.hpp"
#include "lab/process/startup.hpp"
#include "lab/torch/measure_cost.hpp"
#include "lab/torch/train_cell.hpp"

namespace rotary::lab {

int print_cost(const RunArguments& run, const CostOptions& options) {
  const Experiment experiment = load_experiment(run.experiment);
  const Preset& preset = find_preset(experiment, run.preset);
  const std::vector<Cell> cells = cells_of(
      experiment,
      {.preset = run.preset, .only = run.only, .seeds = {preset.arms.front().seeds.front()}});
  const Dataset data =
      load_dataset(run.data_folder, run.data.empty() ? std::string(grammar_name) : run.data);
  print_note("{}, {} thread{}\n", blas_in_use(), run.threads, run.threads == 1 ? "" : "s");
  set_threads(run.threads);
  use_device(run.device);
  const auto rows = measure_cost(cells, data, options);
  const auto none = std::ranges::find(
      cells, "none", [](const Cell& cell) -> const std::string& { return cell.name; });
  const bool relative = none != cells.end();
  const auto base = static_cast<std::size_t>(relative ? none - cells.begin() : 0);
  print_answer("milliseconds of processor time of a step of {} tokens{}\n{:<13}",
               cells.front().training.batch * cells.front().model.tokens,
               relative ? ", and how much more than none" : "", "encoding");
  for (const CostRow& row : rows) print_answer(" {:>16}", fmt::format("T={}", row.tokens));
  for (std::size_t n = 0; n < cells.size(); ++n) {
    print_answer("\n{:<13}", cells[n].name);
    for (const CostRow& row : rows) {
      const std::string more =
          relative ? fmt::format(" {:+5.0f} %", 100 * row.overhead(n, base)) : "";
      print_answer(" {:>16}", fmt::format("{:.1f}{}", row.cpu_ms(n), more));
    }
  }
  print_answer("\n");
  return 0;
}

}  // namespace rotary::lab
