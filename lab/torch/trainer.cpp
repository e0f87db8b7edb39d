// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/trainer.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "apps/failure.hpp"
#include "lab/experiment/json_object.hpp"
#include "lab/torch/learner.hpp"
#include "lab/torch/views.hpp"

namespace rotary::lab {
namespace {

using torch::optim::AdamW;
using torch::optim::AdamWOptions;
using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::unique_ptr<AdamW> make_optimizer(torch::nn::Module& model, const TrainingConfig& training) {
  std::vector<at::Tensor> matrices;
  std::vector<at::Tensor> others;
  for (const auto& parameter : model.named_parameters()) {
    const bool of_encoding = parameter.key().find("positions.") != std::string::npos;
    const bool decays = parameter.value().dim() >= 2 && !of_encoding;
    (decays ? matrices : others).push_back(parameter.value());
  }
  const auto options = [&](double weight_decay) {
    return std::make_unique<AdamWOptions>(AdamWOptions(training.learning_rate)
                                              .betas({0.9, training.beta2})
                                              .weight_decay(weight_decay));
  };
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::move(matrices), options(training.weight_decay));
  groups.emplace_back(std::move(others), options(0));
  return std::make_unique<AdamW>(std::move(groups), AdamWOptions(training.learning_rate));
}

}  // namespace

double cpu_seconds() {
  timespec time = {};
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void require_finite(double loss, std::int64_t steps) {
  if (std::isfinite(loss)) return;
  throw cli::Failure(cli::ExitCode::check_failed,
                     fmt::format("the loss must be finite, got {} at step {}", loss, steps));
}

Trainer::Trainer(const Cell& cell, const Dataset& data)
    : training_(cell.training),
      learner_(make_learner(cell, data)),
      optimizer_(make_optimizer(learner_->model(), cell.training)) {}

double Trainer::step() {
  const double wall = wall_seconds();
  const double cpu = cpu_seconds();
  for (auto& group : optimizer_->param_groups()) {
    static_cast<AdamWOptions&>(group.options()).lr(learning_rate_at(training_, counts_.step));
  }
  optimizer_->zero_grad();
  const double loss = backward();
  const double norm =
      torch::nn::utils::clip_grad_norm_(learner_->model().parameters(), training_.clip_norm);
  if (!is_watched()) {
    require_finite(loss, counts_.step + 1);
  } else if (std::isfinite(loss) && std::isfinite(norm)) {
    series_.losses.push_back(loss);
    series_.gradient_norms.push_back(norm);
  } else {
    return std::numeric_limits<double>::quiet_NaN();
  }
  optimizer_->step();
  counts_.step += 1;
  counts_.loss_sum += loss;
  counts_.wall_s += wall_seconds() - wall;
  cpu_of_last_step_s_ = cpu_seconds() - cpu;
  if (ranks_ == nullptr) counts_.cpu_s += cpu_of_last_step_s_;
  return loss;
}

double Trainer::backward() {
  if (ranks_ == nullptr) {
    const auto [sum, count] = learner_->training_loss(counts_.step, {});
    const auto loss = sum / count;
    loss.backward();
    return loss.item<double>();
  }
  const auto [sum, count] =
      learner_->training_loss(counts_.step, {.part = ranks_->rank(), .parts = ranks_->size()});
  sum.backward();
  const StepTotals totals = add_up(learner_->model().parameters(),
                                   {.loss_sum = sum.item<double>(),
                                    .targets = static_cast<double>(count),
                                    .cpu_s = cpu_of_last_step_s_,
                                    .stop_asked = asks_to_stop_ ? 1.0 : 0.0},
                                   *ranks_);
  counts_.cpu_s += totals.cpu_s;
  stop_asked_ = totals.stop_asked > 0;
  return totals.loss_sum / totals.targets;
}

void Trainer::share_with(Ranks& ranks) {
  std::ostringstream state;
  OutputArchive mine;
  write_state(mine);
  mine.save_to(state);
  std::istringstream first(ranks.broadcast(std::move(state).str()));
  InputArchive theirs;
  theirs.load_from(first, device());
  read_state(theirs);
  ranks_ = &ranks;
}

void Trainer::record(const nlohmann::json& machine) {
  if (machines_.empty() || machines_.back() != machine) machines_.push_back(machine);
}

std::int64_t Trainer::parameter_count() const {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : learner_->model().parameters()) count += parameter.numel();
  return count;
}

void Trainer::save(const RunDirectory& directory) {
  counts_.log_bytes = directory.log_bytes();
  OutputArchive archive;
  write_state(archive);
  archive.save_to(directory.pending_checkpoint());
  directory.commit_checkpoint();
}

void Trainer::write_state(OutputArchive& archive) {
  OutputArchive model(archive.compilation_unit());
  OutputArchive optimizer(archive.compilation_unit());
  learner_->model().save(model);
  optimizer_->save(optimizer);
  archive.write("model", model);
  archive.write("optimizer", optimizer);
  const nlohmann::json state = {{"counts", counts_}, {"series", series_}, {"machines", machines_}};
  archive.write("state", c10::IValue(state.dump()));
}

void Trainer::load(const std::string& path) {
  try {
    InputArchive archive;
    archive.load_from(path, device());
    read_state(archive);
  } catch (const c10::Error& error) {
    throw cli::Failure(cli::ExitCode::malformed_input,
                       fmt::format("{} must be a checkpoint of this cell: {}", path,
                                   error.what_without_backtrace()));
  }
}

void Trainer::read_state(InputArchive& archive) {
  InputArchive model;
  InputArchive optimizer;
  archive.read("model", model);
  archive.read("optimizer", optimizer);
  learner_->model().load(model);
  optimizer_->load(optimizer);
  c10::IValue value;
  archive.read("state", value);
  const nlohmann::json state = parse_json(value.toStringRef(), "the checkpoint");
  state.at("counts").get_to(counts_);
  state.at("series").get_to(series_);
  machines_ = state.at("machines");
}

}  // namespace rotary::lab
