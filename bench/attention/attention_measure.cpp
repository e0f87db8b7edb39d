// SPDX-License-Identifier: Apache-2.0
#include "bench/attention/attention_measure.hpp"

#include <memory>
#include <utility>

#include "bench/attention/peaks.hpp"
#include "rotary/threads.hpp"

namespace rotary::bench {
namespace {

using Jobs = std::vector<std::unique_ptr<AttentionJob>>;

constexpr double verification_share = 0.3;  // verification's fraction of a group's progress

// About 2 ms: so short that at least one of a few samples is undisturbed.
constexpr std::int64_t peak_steps = 500'000;

double work_of(const AttentionLine& line) {
  return line.step == AttentionStep::prefill ? operations_of(line)
                                             : static_cast<double>(cache_bytes(line));
}

using Part = std::function<void(std::int64_t index)>;
// Runs part(index) for each index below `parts`. A single part runs in this thread.
void run_parts(const Executor& executor, std::int64_t parts, Part part) {
  if (parts == 1) return part(0);
  executor.run(
      executor.context, parts,
      [](void* state, std::int64_t index) { (*static_cast<Part*>(state))(index); }, &part);
}

// Reads the share of the tensor that belongs to thread `index` of `threads`.
void read_part(const Tensor& tensor, std::int64_t index, std::int64_t threads) {
  const std::int64_t begin = tensor.bytes() * index / threads;
  const std::int64_t end = tensor.bytes() * (index + 1) / threads;
  read_bytes(static_cast<const std::byte*>(tensor.view().data) + begin,
             static_cast<std::size_t>(end - begin));
}

// Each call of the roofline stores the operations or bytes of all threads in `work`.
Contender roofline_of(const AttentionGroup& group, const AttentionTensors& tensors,
                      const Executor& executor, double& work) {
  const std::int64_t threads = group.threads;
  if (group.step == AttentionStep::prefill) {
    return [=, &work](std::int64_t calls) {
      for (std::int64_t call = 0; call < calls; ++call) {
        run_parts(executor, threads, [&](std::int64_t index) {
          const double done = multiply_and_add(peak_steps);
          if (index == 0) work = done * static_cast<double>(threads);
        });
      }
      return Status();
    };
  }
  work = static_cast<double>(tensors.k.bytes() + tensors.v.bytes());
  return [=, &tensors](std::int64_t calls) {
    for (std::int64_t call = 0; call < calls; ++call) {
      run_parts(executor, threads, [&](std::int64_t index) {
        for (const Tensor* tensor : {&tensors.k, &tensors.v}) read_part(*tensor, index, threads);
      });
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

// alone: a copy of the first job for one thread; null if the first job itself has one thread.
Status time_all(const Jobs& jobs, const AttentionJob* alone, Contender roofline,
                const GroupBudget& budget, GroupMeasurement& measured) {
  std::vector<Contender> contenders = {std::move(roofline)};
  const auto add = [&](const AttentionJob& job) {
    contenders.emplace_back([&job](std::int64_t calls) { return job.run(calls); });
  };
  for (const auto& job : jobs) add(*job);
  if (alone != nullptr) add(*alone);
  const auto timing =
      interleave(contenders, {.seconds = budget.seconds_per_line * static_cast<double>(jobs.size()),
                              .clock = clock_of(jobs.front()->line().threads),
                              .on_progress = [&budget](double share) {
                                if (budget.on_progress)
                                  budget.on_progress((1 - verification_share) * share);
                              }});
  if (!timing) return timing.error();
  measured.rounds = timing->rounds;
  measured.spread = timing->spread;
  measured.roofline_per_ns = 1 / timing->ns_per_call.front();
  const double base = timing->ns_per_call[1];
  if (alone != nullptr) measured.speedup = timing->ns_per_call.back() / base;
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
  AttentionLine line{.encoding = group.encodings.front(),
                     .step = group.step,
                     .tokens = group.tokens,
                     .shape = group.shape};
  const AttentionTensors tensors(line);
  std::optional<Threads> threads;
  std::unique_ptr<AttentionJob> alone;
  if (group.threads > 1) {
    auto started = Threads::start(group.threads);
    if (!started) return started.error();
    threads = *std::move(started);
    auto job = AttentionJob::make(line, tensors);
    if (!job) return job.error();
    alone = *std::move(job);
  }
  const Executor executor = threads ? threads->executor() : Executor{};
  line.threads = group.threads;
  Jobs jobs;
  for (const BenchEncoding* encoding : group.encodings) {
    line.encoding = encoding;
    auto job = AttentionJob::make(line, tensors, executor);
    if (!job) return job.error();
    jobs.push_back(*std::move(job));
  }
  GroupMeasurement measured;
  if (auto status = verify_all(jobs, budget, measured); !status) return std::move(status).error();
  for (const AttentionMeasurement& each : measured.lines) {
    if (each.verification.wrong > 0) return measured;
  }
  double work = 0;
  auto status =
      time_all(jobs, alone.get(), roofline_of(group, tensors, executor, work), budget, measured);
  if (!status) return std::move(status).error();
  measured.roofline_per_ns *= work;
  return measured;
}

}  // namespace rotary::bench
