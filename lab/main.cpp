// SPDX-License-Identifier: Apache-2.0
#include "lab/commands/commands.hpp"
#include "lab/process/startup.hpp"

int main(int argument_count, char** arguments) {
  rotary::lab::prepare_process(arguments);
  return rotary::lab::run(argument_count, arguments);
}
