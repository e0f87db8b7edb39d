// SPDX-License-Identifier: Apache-2.0
#include "lab/generate/sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/utf8.hpp"

namespace rotary::lab {

std::int64_t choose(std::span<const float> logits, const Sampling& sampling, Random& random) {
  std::vector<std::int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto logit = [&](std::int64_t index) { return logits[static_cast<std::size_t>(index)]; };
  std::ranges::stable_sort(order, std::greater(), logit);
  if (sampling.temperature == 0) return order.front();
  if (sampling.top_k > 0 && sampling.top_k < std::ssize(order))
    order.resize(static_cast<std::size_t>(sampling.top_k));
  std::vector<double> weights;
  for (const std::int64_t index : order) {
    const double below = static_cast<double>(logit(index)) - logit(order.front());
    weights.push_back(std::exp(below / sampling.temperature));
  }
  double rest = random.uniform() * std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t n = 0; n < weights.size(); ++n) {
    rest -= weights[n];
    if (rest < 0) return order[n];
  }
  return order.front();  // where roundings leave something of the rest
}

std::string escaped(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const auto first = static_cast<unsigned char>(bytes.front());
    const bool control = (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
    // U+0080 to U+009F are control characters, too: C2 80 to C2 9F.
    const std::size_t length = control ? 0 : cli::utf8_sequence_length(bytes);
    const bool high_control =
        length == 2 && first == 0xc2 && static_cast<unsigned char>(bytes[1]) < 0xa0;
    if (length == 0 || high_control) {
      text += fmt::format("\\x{:02x}", first);
      bytes.remove_prefix(1);
    } else {
      text += bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
  }
  return text;
}

}  // namespace rotary::lab
