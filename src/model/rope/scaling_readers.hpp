// SPDX-License-Identifier: Apache-2.0
// Reads the dictionary that describes scaling: in a config rope_scaling (older files) or
// rope_parameters (since Transformers 5), in a spec scaling. For configs there is one reader for
// each rope_type. It reads the keys that it knows; others are refused by name. Defaults and
// precedence follow modeling_rope_utils.py of Transformers 5. Specs are read by the ParameterFacts
// of each rule.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "model/families.hpp"
#include "model/json/reader.hpp"
#include "rotary/scaling.hpp"

namespace rotary {

enum class Document { config, spec };

// The values outside the dictionary that rules need. original_max_position_embeddings overrides the
// value inside the dictionary; partial_rotary_factor is used if there is none inside.
struct RopeContext {
  std::optional<std::int64_t> max_position_embeddings = {};
  std::optional<std::int64_t> original_max_position_embeddings = {};
  std::optional<double> partial_rotary_factor = {};
  RopeDialect dialect = RopeDialect::transformers;
  bool scales = true;  // false: every rule but default is refused
};

// Reads the rope dictionary of a config or a spec, and has its RopeContext.
class RopeReader : public Reader {
 public:
  RopeReader(Reader dictionary, Document document, const RopeContext& context)
      : Reader(std::move(dictionary)), document_(document), context_(context) {}

  // original_max_position_embeddings: the value outside the dictionary, else the one inside, else
  // the trained context.
  std::int64_t original_context();

  // Warns if a factor is below 1: that is allowed, but a factor should make the context longer.
  void warn_below_one(double factor);

  [[nodiscard]] Document document() const { return document_; }
  [[nodiscard]] const RopeContext& context() const { return context_; }

 private:
  Document document_;
  RopeContext context_;
};

// The meaning of partial_rotary_factor: the part of the head that rotates, or a parameter of a rule
// for the whole head.
enum class PartialRotaryFactor { sets_rotary_dim, is_of_the_rule };

struct RopeParameters {
  Scaling scaling = NoScaling{};
  std::optional<double> rope_theta;
  std::optional<double> partial_rotary_factor;
  PartialRotaryFactor partial_rotary_factor_says = PartialRotaryFactor::sets_rotary_dim;
};

// Reads the dictionary of a config. Errors: unsupported for an unknown rope_type or key,
// malformed_input for a missing or mistyped value. validate(RotarySpec) checks values against the
// rule.
[[nodiscard]] RopeParameters read_rope_parameters(const Reader& dictionary,
                                                  const RopeContext& context);

// Reads the scaling of a spec (rotary/spec_json.hpp): rope_type, which must be given, and its
// rule's keys. Errors as above, but malformed_input for an unknown key.
[[nodiscard]] Scaling read_spec_scaling(const Reader& dictionary);

// Readers that are in files of their own.
[[nodiscard]] Scaling read_longrope(RopeReader& reader);
[[nodiscard]] Scaling read_phi3_yarn(RopeReader& reader);  // "yarn" in RopeDialect::phi3
[[nodiscard]] Scaling read_yarn(RopeReader& reader);

}  // namespace rotary
