// SPDX-License-Identifier: Apache-2.0
#include "bench/attention/attention_measure.hpp"

#include <memory>
#include <utility>

#include "bench/attention/peaks.hpp"

namespace rotary::bench {
namespace {

using Jobs = std::vector<std::unique_ptr<AttentionJob>>;

constexpr double verification_share = 0.3;  // of a group's progress

// About 2 ms: short enough that the shortest of a few samples is undisturbed.
constexpr std::int64_t peak_steps = 500'000;

double work_of(const AttentionLine& line) {
  return line.step == AttentionStep::prefill ? operations_of(line)
                                             : static_cast<double>(cache_bytes(line));
}

// Each call of the roofline stores its operations or bytes in work.
Contender roofline_of(const AttentionGroup& group, const AttentionTensors& tensors, double& work) {
  if (group.step == AttentionStep::prefill) {
    return [&work](std::int64_t calls) {
      for (std::int64_t call = 0; call < calls; ++call) work = multiply_and_add(peak_steps);
      return Status();
    };
  }
  work = static_cast<double>(tensors.k.bytes() + tensors.v.bytes());
  return [&tensors](std::int64_t calls) {
    for (std::int64_t call = 0; call < calls; ++call) {
      for (const Tensor* tensor : {&tensors.k, &tensors.v}) {
        read_bytes(static_cast<const std::byte*>(tensor->view().data),
                   static_cast<std::size_t>(tensor->bytes()));
      }
    }
    return Status();
  };
}

Status verify_all(const Jobs& jobs, const GroupBudget& budget, GroupMeasurement& measured) {
  for (const auto& job : jobs) {
    const auto verification = verify(*job);
    if (!verification) return verification.error();
    measured.lines.push_back(
        {.line = job->line(), .verification = *verification, .memory_bytes = job->memory_bytes()});
    if (budget.on_progress)
      budget.on_progress(verification_share / static_cast<double>(jobs.size()));
  }
  return {};
}

Status time_all(const Jobs& jobs, Contender roofline, const GroupBudget& budget,
                GroupMeasurement& measured) {
  std::vector<Contender> contenders = {std::move(roofline)};
  for (const auto& job : jobs)
    contenders.emplace_back([&job](std::int64_t calls) { return job->run(calls); });
  const auto timing =
      interleave(contenders, {.seconds = budget.seconds_per_line * static_cast<double>(jobs.size()),
                              .clock = Clock::thread_cpu,
                              .turns = TurnOrder::there_and_back,
                              .on_progress = [&budget](double share) {
                                if (budget.on_progress)
                                  budget.on_progress((1 - verification_share) * share);
                              }});
  if (!timing) return timing.error();
  measured.rounds = timing->rounds;
  measured.spread = timing->spread;
  measured.roofline_per_ns = 1 / timing->ns_per_call.front();
  const double base = timing->ns_per_call[1];
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    measured.lines[i].ns_per_call = timing->ns_per_call[i + 1];
    measured.lines[i].ratio = timing->ns_per_call[i + 1] / base;
  }
  return {};
}

}  // namespace

double GroupMeasurement::share(const AttentionMeasurement& line) const {
  return work_of(line.line) / line.ns_per_call / roofline_per_ns;
}

Result<GroupMeasurement> measure(const AttentionGroup& group, const GroupBudget& budget) {
  AttentionLine line{.step = group.step, .tokens = group.tokens, .shape = group.shape};
  const AttentionTensors tensors(line);
  Jobs jobs;
  for (const BenchEncoding* encoding : group.encodings) {
    line.encoding = encoding;
    auto job = AttentionJob::make(line, tensors);
    if (!job) return job.error();
    jobs.push_back(*std::move(job));
  }
  GroupMeasurement measured;
  if (auto status = verify_all(jobs, budget, measured); !status) return std::move(status).error();
  for (const AttentionMeasurement& each : measured.lines) {
    if (each.verification.wrong > 0) return measured;
  }
  double work = 0;
  auto status = time_all(jobs, roofline_of(group, tensors, work), budget, measured);
  if (!status) return std::move(status).error();
  measured.roofline_per_ns *= work;
  return measured;
}

}  // namespace rotary::bench
