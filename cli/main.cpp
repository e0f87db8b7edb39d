// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.hpp"
#include "cli/run.hpp"
#include "cli/standard_streams.hpp"

int main(int argument_count, char** arguments) {
  using namespace rotary::cli;
  if (!reserve_standard_descriptors()) return static_cast<int>(ExitCode::io);
  return run(argument_count, arguments);
}
