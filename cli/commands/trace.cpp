// SPDX-License-Identifier: Apache-2.0
// rotary trace: prints the Python adapter that saves q and k before and after rotation. It runs
// beside the model in PyTorch; the tool starts no Python.
#include "cli/commands/commands.hpp"
#include "cli/trace/adapter.hpp"

namespace rotary::cli {
namespace trace_call {
namespace {

void declare(OptionParser& parser, OutputOption& output) {
  declare_output(parser, output, "a file for it; without it, it is printed");
}

std::string run(const OutputOption& output, OutputForm form) {
  const std::string_view adapter = trace_adapter();
  output.check();
  output.write(adapter);
  if (form == OutputForm::json)
    return printed({{"schema_version", 1},
                    {"adapter", output.path ? Json() : Json(adapter)},
                    {"output", output.path}});
  return output.path ? fmt::format("{}\n", printable(*output.path)) : std::string(adapter);
}

}  // namespace
}  // namespace trace_call

constinit const Command trace_command{
    .name = "trace",
    .summary = "Print the adapter that saves q before and after in PyTorch",
    .examples =
        "  rotary trace > trace_rope.py\n"
        "  rotary trace --out trace_rope.py\n",
    .declare = declared<trace_call::declare, trace_call::run>,
};

}  // namespace rotary::cli
