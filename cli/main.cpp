// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>
#include <exception>

#include "cli/exit_code.hpp"
#include "cli/partial_file.hpp"
#include "cli/run.hpp"
#include "cli/standard_streams.hpp"

namespace {

// Instead of abort(): where memory runs out inside a function that cannot fail (destructors of
// the JSON library allocate, some functions of the command line's, too), no exception reaches
// run().
[[noreturn]] void end_as_a_failure() noexcept {
  rotary::cli::PartialFile::remove_all();
  static_cast<void>(rotary::cli::write_all(
      STDERR_FILENO, "rotary: this is a bug in rotary, or the machine is out of memory\n"));
  std::_Exit(static_cast<int>(rotary::cli::ExitCode::internal));
}

}  // namespace

int main(int argument_count, char** arguments) {
  using namespace rotary::cli;
  std::set_terminate(end_as_a_failure);
  if (!reserve_standard_descriptors()) return static_cast<int>(ExitCode::io);
  return run(argument_count, arguments);
}
