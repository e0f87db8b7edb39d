// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.hpp"

#include <utility>
#include <vector>

#include "rotary/threads.hpp"

namespace rotary::bench {

Result<Measurement> measure(const Job& job, std::int64_t threads, double seconds) {
  const auto verification = job.verify();
  if (!verification) return verification.error();
  Measurement measurement{.verification = *verification, .timing = {}};
  if (verification->wrong > 0) return measurement;
  std::vector<Contender> contenders = {job.run};
  const bool has_roofline = !job.roofline.empty();
  if (has_roofline) {
    contenders.emplace_back([&job](std::int64_t calls) {
      job.roofline.run(calls);
      return Status();
    });
  }
  const Clock clock = clock_of(threads);
  const auto timing = interleave(contenders, {.seconds = seconds, .clock = clock});
  if (!timing) return timing.error();
  measurement.timing = {.clock = clock,
                        .rounds = timing->rounds,
                        .spread = timing->spread,
                        .ns_per_call = timing->ns_per_call.front(),
                        .roofline_ns_per_call = {}};
  if (has_roofline) measurement.timing->roofline_ns_per_call = timing->ns_per_call.back();
  return measurement;
}

Result<Measurement> measure(const Line& line, double seconds) {
  auto frequencies = frequencies_of(line);
  if (!frequencies) return frequencies.error();
  std::optional<Threads> threads;
  if (line.threads > 1) {
    auto started = Threads::start(line.threads);
    if (!started) return started.error();
    threads = *std::move(started);
  }
  const auto job =
      line.operation->prepare({.line = line,
                               .frequencies = *std::move(frequencies),
                               .executor = threads ? threads->executor() : Executor{}});
  if (!job) return job.error();
  return measure(*job, line.threads, seconds);
}

}  // namespace rotary::bench
