// SPDX-License-Identifier: Apache-2.0
#include "lab/results/verdict.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

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

Verdict judge(std::span<const double> gaps, const std::optional<Interval>& interval,
              double margin) noexcept {
  if (gaps.empty()) return Verdict::not_run;
  const auto [least, greatest] = std::ranges::minmax(gaps);
  // The border that the mean is compared with: no effect, or the worst that is still as good.
  const double border = std::min(margin, 0.0);
  if (least >= margin && (!interval || interval->low >= border)) return Verdict::confirmed;
  const bool opposite = margin > 0 ? greatest <= -margin : greatest < margin;
  if (opposite && (!interval || interval->high < border)) return Verdict::contradicted;
  return Verdict::not_visible;
}

}  // namespace rotary::lab
