// SPDX-License-Identifier: Apache-2.0
// rotary bench in a tool built without GNU MPFR, which the benchmark needs.
#include "cli/commands/commands.hpp"

namespace rotary::cli {
namespace {

Run declare(OptionParser& parser) {
  parser.ignore_what_follows();
  return [](OutputForm) -> std::string {
    fail(ExitCode::unsupported,
         "this rotary was built without bench: build it with -DROTARY_TOOL_BENCH=ON");
  };
}

}  // namespace

constinit const Command bench_command{
    .name = "bench",
    .summary = "Not in this build (ROTARY_TOOL_BENCH=OFF)",
    .examples = "  rotary bench\n",
    .declare = declare,
};

}  // namespace rotary::cli
