// SPDX-License-Identifier: Apache-2.0
// The prompt of rotary positions. Each option adds a group, in the order of the command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "rotary/m_rope.hpp"

namespace rotary::cli {

// "--text" "5".
struct PromptOption {
  std::string name, value;
};

struct Prompt {
  // An option's patches before merging.
  struct Grid {
    PromptOption option;
    std::int64_t rows = 0, columns = 0, frames = 0;
  };

  std::vector<TokenGroup> groups;
  std::vector<PromptOption> options;  // one for each group
  std::vector<Grid> grids;
};

void declare_prompt(OptionParser& parser, Prompt& prompt);

// Refuses a grid that the merge size does not divide. The library rounds down, as models do.
void check_grids(const Prompt& prompt, const MRopeConvention& by);

}  // namespace rotary::cli
