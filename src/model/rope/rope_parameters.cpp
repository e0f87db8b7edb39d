// SPDX-License-Identifier: Apache-2.0
#include "model/rope/rope_parameters.hpp"

#include <utility>

#include "base/message.hpp"
#include "model/rope/dictionary_reader.hpp"
#include "model/rope/scaling_readers.hpp"

namespace rotary {
namespace {

// rope_type, or type in files from before Transformers 4.43.
std::string read_rope_type(DictionaryReader& reader) {
  const auto name = reader.text("rope_type");
  const auto old_name = reader.text("type");
  if (name && old_name && *name != *old_name) {
    reader.fail(malformed_input(reader.from().path, "rope_type and type must agree, got '", *name,
                                "' and '", *old_name, "'"));
  }
  return name ? *name : old_name.value_or("default");
}

}  // namespace

Result<RopeParameters> read_rope_parameters(const ConfigObject& from, const RopeContext& context) {
  DictionaryReader reader(from, Document::config, context);
  RopeParameters parameters;
  const std::string name = read_rope_type(reader);
  if (reader.error()) return *std::move(reader.error());
  const auto rope_type = find_rope_type(reader, name);
  if (!rope_type) return rope_type.error();
  parameters.rope_theta = reader.number("rope_theta");
  parameters.partial_rotary_factor = reader.number("partial_rotary_factor");
  parameters.partial_rotary_factor_says = (*rope_type)->partial_rotary_factor;
  parameters.scaling = (*rope_type)->read(reader);
  reader.refuse_other_keys(name);
  if (reader.error()) return *std::move(reader.error());
  parameters.warnings = std::move(reader.warnings());
  return parameters;
}

Result<Scaling> read_spec_scaling(const ConfigObject& from) {
  const RopeContext context;
  DictionaryReader reader(from, Document::spec, context);
  const auto name = reader.text("rope_type");
  if (reader.error()) return *std::move(reader.error());
  if (!name) return malformed_input(from.path, "rope_type must be given, got none");
  auto scaling = read_spec_rule(reader, *name);
  if (!scaling) return scaling;
  reader.explain("partial_rotary_factor", "a spec says rotary_dim, beside scaling");
  reader.refuse_other_keys(*name);
  if (reader.error()) return *std::move(reader.error());
  return scaling;
}

}  // namespace rotary
