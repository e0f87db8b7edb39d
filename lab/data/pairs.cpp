// SPDX-License-Identifier: Apache-2.0
#include "lab/data/pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "cli/failure.hpp"

namespace rotary::lab {

std::vector<Pair> pairs_of(std::string_view text) {
  std::vector<Pair> pairs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos || line.find('\t', tab + 1) != std::string_view::npos) {
      throw cli::Failure(cli::ExitCode::malformed_input,
                         fmt::format("line {} of the pairs must have one tab", pairs.size() + 1));
    }
    pairs.push_back({.source = line.substr(0, tab), .target = line.substr(tab + 1)});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pairs;
}

}  // namespace rotary::lab
