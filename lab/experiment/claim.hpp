// SPDX-License-Identifier: Apache-2.0
// A claim about an experiment's arms, and the numbers that a paper printed for similar ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lab/experiment/json_object.hpp"

namespace rotary::lab {

// A number of a finished cell: "rope", or {"encoding": "rope", "multiple": 2, "rule": "yarn",
// "tokens": "last_quarter"}, or {"encoding": "rope", "metric": "bleu"}.
struct Measure {
  std::string encoding;  // the name of its arm, or of a family: its best arm
  std::int64_t multiple = 1;
  std::string rule = {};
  bool last_quarter = false;
  std::string metric = {};  // "": the loss
};

// `lower` is below `higher` by at least margin.
struct Claim {
  std::string statement;
  Measure lower;
  Measure higher;
  double margin = 0;  // in the unit of the measure; may be negative: not worse by more
};

enum class PublishedUnit {
  nats = 1,
  perplexity = 2,  // its logarithm is in nats
  points = 3,      // BLEU
  percent = 4,     // accuracy, F1; ours are fractions
};

// "nats", "perplexity", "points", "percent".
[[nodiscard]] std::string_view to_string(PublishedUnit unit) noexcept;

struct PublishedValue {
  Measure measure;  // our number to compare it with
  double number = 0;
};

// {"label": "...", "source": "...", "unit": "nats", "values": [["learned", 2.809], ...]}; the other
// values are compared with the first.
struct PublishedTable {
  std::string label;
  std::string source;
  PublishedUnit unit = {};
  std::vector<PublishedValue> values;  // at least one
};

[[nodiscard]] Claim read_claim(JsonObject object);
[[nodiscard]] PublishedTable read_published(JsonObject object);

}  // namespace rotary::lab
