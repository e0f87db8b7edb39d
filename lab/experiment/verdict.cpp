// SPDX-License-Identifier: Apache-2.0
#include "lab/experiment/verdict.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace rotary::lab {

std::string_view to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::confirmed:
      return "confirmed";
    case Verdict::not_visible:
      return "not visible at this scale";
    case Verdict::contradicted:
      return "contradicted";
    case Verdict::not_run:
      break;
  }
  return "not run";
}

Verdict judge(const std::vector<double>& gaps, double margin) noexcept {
  if (gaps.empty()) return Verdict::not_run;
  const auto [least, greatest] = std::ranges::minmax(gaps);
  if (least >= margin) return Verdict::confirmed;
  if (greatest <= -margin) return Verdict::contradicted;
  return Verdict::not_visible;
}

}  // namespace rotary::lab
