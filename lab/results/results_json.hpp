// SPDX-License-Identifier: Apache-2.0
// Results as JSON, for programs and for the page of rotary-lab report: lab/README.md describes it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/data/dataset.hpp"
#include "lab/results/results.hpp"

namespace rotary::lab {

// manifests: where the origin and licence of the data are looked up.
[[nodiscard]] std::string json_of(const std::vector<Results>& all,
                                  const std::vector<Manifest>& manifests);

}  // namespace rotary::lab
