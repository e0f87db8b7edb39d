// SPDX-License-Identifier: Apache-2.0
#include "lab/commands/jobs.hpp"

#include <fmt/format.h>

#include <string>

#include "cli/failure.hpp"
#include "lab/commands/progress.hpp"
#include "lab/process/children.hpp"
#include "lab/process/interruption.hpp"
#include "lab/process/rank_environment.hpp"
#include "lab/torch/ranks.hpp"

namespace rotary::lab {
namespace {

bool stopped(const ChildEnd& end) { return end.signal != 0 || end.code == interrupted_exit_code; }

bool failed(const ChildEnd& end) { return !stopped(end) && end.code != 0; }

// How the processes ended, together.
class Ends {
 public:
  void add(const ChildEnd& end) {
    if (failed(end) && first_failure_ == 0) first_failure_ = end.code;
    if (!failed(end) && !stopped(end)) one_finished_ = true;
  }

  // A process that ends with 0 has seen every cell finished, so processes that a signal stopped do
  // not matter then.
  [[nodiscard]] int exit_code() const {
    if (interrupted()) return interrupted_exit_code;
    if (first_failure_ != 0) return first_failure_;
    return static_cast<int>(one_finished_ ? cli::ExitCode::ok : cli::ExitCode::io);
  }

 private:
  bool one_finished_ = false;
  int first_failure_ = 0;
};

}  // namespace

int run_jobs(const Jobs& jobs) {
  const RankStore store;
  Children children;
  for (int rank = 0; rank < jobs.jobs; ++rank)
    children.start(environment_of_rank(rank, jobs.jobs, store.port()));
  JobsDisplay display(jobs.cells, jobs.at_once);
  Ends ends;
  children.watch({.on_line = [&](int job, const std::string& line) { display.take(job, line); },
                  .on_end =
                      [&](int job, const ChildEnd& end) {
                        display.forget(job);
                        ends.add(end);
                        if (failed(end)) display.say_kept(job);
                        if (end.signal == 0) return;
                        display.say(
                            fmt::format("process {} was ended by signal {}", job, end.signal));
                      },
                  .stops =
                      [&] {
                        display.show();
                        return interrupted();
                      }});
  return ends.exit_code();
}

}  // namespace rotary::lab
