// SPDX-License-Identifier: Apache-2.0
// A table of what was tried: engine, releases, family, forms of configs. Its rows are in
// evidence.txt.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/json/json.hpp"
#include "rotary/dialect.hpp"

namespace rotary {

struct EvidenceRow {
  Engine engine;
  EngineVersion first;  // both inclusive; 0.0: the engine has no releases
  EngineVersion last;
  Evidence kind;
  std::string_view cells;  // "form:rule" and properties; " * ": every config
  std::string_view families;
};

[[nodiscard]] std::span<const EvidenceRow> evidence_rows();

// "4.51".
[[nodiscard]] std::string version_text(const EngineVersion& version);

// How it is known that the engine reads the config's object `part` as `model`.
[[nodiscard]] ReadingEvidence evidence_of(const Json& part, const ModelSpec& model,
                                          const Dialect& dialect);

}  // namespace rotary
