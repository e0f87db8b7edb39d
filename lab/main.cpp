// SPDX-License-Identifier: Apache-2.0
#include "apps/failure.hpp"
#include "apps/standard_streams.hpp"
#include "lab/commands/commands.hpp"
#include "lab/process/startup.hpp"

int main(int argument_count, char** arguments) {
  if (!rotary::cli::reserve_standard_descriptors()) {
    return static_cast<int>(rotary::cli::ExitCode::io);
  }
  rotary::lab::prepare_process(arguments);
  return rotary::lab::run(argument_count, arguments);
}
