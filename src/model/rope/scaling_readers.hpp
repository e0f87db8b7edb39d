// SPDX-License-Identifier: Apache-2.0
// Reads the dictionary that describes scaling: rope_scaling or rope_parameters in a config, scaling
// in a spec. Configs have a reader for each rope_type, with the defaults and precedence of
// modeling_rope_utils.py in Transformers 5. Specs are read by the ParameterFacts of each rule.
// Unknown keys are refused.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/described.hpp"
#include "model/families.hpp"
#include "model/json/config_json.hpp"
#include "model/json/reader.hpp"
#include "rotary/scaling.hpp"

namespace rotary {

enum class Document { config, spec };

// Values outside the dictionary that rules need. original_max_position_embeddings overrides the
// value inside the dictionary; partial_rotary_factor does not.
struct RopeContext {
  std::optional<std::int64_t> max_position_embeddings = {};
  std::optional<std::int64_t> original_max_position_embeddings = {};
  std::optional<double> partial_rotary_factor = {};
  RopeDialect dialect = RopeDialect::transformers;
  bool scales = true;  // false: every rule but default is refused
};

class RopeReader : public Reader {
 public:
  RopeReader(Reader dictionary, Document document, const RopeContext& context)
      : Reader(std::move(dictionary)), document_(document), context_(context) {}

  // original_max_position_embeddings outside the dictionary, else inside, else the trained context.
  std::int64_t original_context();

  // Warns if a factor is below 1, which is allowed but makes the context shorter.
  void warn_below_one(double factor);

  [[nodiscard]] Document document() const { return document_; }
  [[nodiscard]] const RopeContext& context() const { return context_; }

 private:
  Document document_;
  RopeContext context_;
};

// Whether partial_rotary_factor sets rotary_dim or is a parameter of the rule.
enum class PartialRotaryFactor { sets_rotary_dim, is_of_the_rule };

struct RopeParameters {
  Scaling scaling = NoScaling{};
  std::optional<double> rope_theta;
  std::optional<double> partial_rotary_factor;
  PartialRotaryFactor partial_rotary_factor_says = PartialRotaryFactor::sets_rotary_dim;
};

// Reads the dictionary of a config. Errors: unsupported for an unknown rope_type or key;
// malformed_input for a missing or mistyped value. validate(RotarySpec) checks the values.
[[nodiscard]] RopeParameters read_rope_parameters(const Reader& dictionary,
                                                  const RopeContext& context);

// Reads the scaling of a spec (rotary/spec_json.hpp), whose rope_type must be given. Errors as
// above, but malformed_input for an unknown key.
[[nodiscard]] Scaling read_spec_scaling(const Reader& dictionary);

// The enumerator that the key names; `otherwise` if the key is absent. Another name is an error.
template <class Enum>
[[nodiscard]] Enum read_enumerator(Reader& reader, std::string_view key, Enum otherwise,
                                   std::string_view choices = enumerator_names<Enum>()) {
  const auto name = reader.text(key);
  if (!name) return otherwise;
  for (const auto& each : Describe<Enum>::enumerators)
    if (each.name == *name) return each.value;
  reader.malformed(key, " must be ", choices, ", got ", describe(*name));
  return otherwise;
}

// Readers in other source files.
[[nodiscard]] Scaling read_longrope(RopeReader& reader);
[[nodiscard]] Scaling read_phi3_yarn(RopeReader& reader);  // "yarn" in RopeDialect::phi3
[[nodiscard]] Scaling read_yarn(RopeReader& reader);

}  // namespace rotary
