// SPDX-License-Identifier: Apache-2.0
// A paper's printed numbers beside those that the cells reached. Sizes differ by orders of
// magnitude, so differences are compared.
#pragma once

#include <optional>
#include <vector>

#include "lab/results/results.hpp"

namespace rotary::lab {

struct PublishedRow {
  Measure measure;
  double published = 0;
  double published_difference = 0;  // to the table's first row; of perplexities in nats
  std::optional<double> ours = {};  // mean over seeds, in per cent where published in them; absent:
                                    // not run, or not measured
  std::optional<double> ours_difference = {};
};

[[nodiscard]] std::vector<PublishedRow> beside(const Results& results, const PublishedTable& table);

}  // namespace rotary::lab
