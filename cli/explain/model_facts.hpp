// SPDX-License-Identifier: Apache-2.0
// A model as a list of facts with names, so that two models can be compared and the difference
// told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/json.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli::explain {

struct Fact {
  std::string name;        // as in `rotary inspect --json`: "base", "rotary_dim", ...
  std::string layer_type;  // of one rotary embedding among several; else empty
  Json value;              // a number, a word or a list of numbers
};
void to_json(Json& json, const Fact& fact);

// For a context of so many tokens, else for the trained one, else for one token.
[[nodiscard]] std::vector<Fact> facts_of(const ModelSpec& model,
                                         std::optional<std::int64_t> context_tokens);

// null: the fact is not one of that model. Of lists there is no from, and to says how many elements
// are others, and by which factors.
struct FactChange {
  std::string name;
  std::string layer_type;
  Json from;
  Json to;
};
void to_json(Json& json, const FactChange& change);

[[nodiscard]] std::vector<FactChange> changes(const std::vector<Fact>& from,
                                              const std::vector<Fact>& to);

// "base 500000", and "base 500000 -> 10000".
[[nodiscard]] std::string fact_text(const Fact& fact);
[[nodiscard]] std::string change_text(const FactChange& change);

}  // namespace rotary::cli::explain
