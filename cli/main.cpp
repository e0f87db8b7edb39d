// SPDX-License-Identifier: Apache-2.0
#include "cli/run.hpp"

int main(int argument_count, char** arguments) {
  return rotary::cli::run(argument_count, arguments);
}
