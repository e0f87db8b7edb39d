// SPDX-License-Identifier: Apache-2.0
// The table of evidence.txt: which engine, releases, families and forms of configs were tried.
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

// The evidence that the engine reads the config's object `part` as `model`.
[[nodiscard]] ReadingEvidence evidence_of(const Json& part, const ModelSpec& model,
                                          const Dialect& dialect);

}  // namespace rotary
