// SPDX-License-Identifier: Apache-2.0
// Other programs, called without a shell.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace rotary::lab {

// The program's standard output; standard error is dropped. The program is looked for on the PATH
// if its name has no slash. Absent: there is no such program, or it ended with another code than 0.
// folder: its working directory; "": this one.
[[nodiscard]] std::optional<std::string> output_of(std::vector<std::string> command,
                                                   const std::string& folder = {});

}  // namespace rotary::lab
