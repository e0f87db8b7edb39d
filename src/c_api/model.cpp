// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "c_api/handles.hpp"
#include "c_api/status.hpp"
#include "c_api/structs.hpp"

using rotary::Result;
using rotary::c_api::is_given;
using rotary::c_api::null_argument;

namespace {

template <class T>
int64_t size_of(const std::vector<T>& entries) {
  return static_cast<int64_t>(entries.size());
}

// nullptr when there is no such entry.
template <class T>
const T* entry(const std::vector<T>& entries, int64_t index) {
  if (index < 0 || index >= size_of(entries)) return nullptr;
  return &entries[static_cast<std::size_t>(index)];
}

Result<rotary::ResolveOptions> resolve_options(const rotary_resolve_options* from) {
  const auto options = rotary::c_api::read_options("options", from);
  if (!options) return options.error();
  rotary::ResolveOptions result;
  if (options->pairing != 0) result.pairing = static_cast<rotary::Pairing>(options->pairing);
  if (options->context_tokens != 0) result.context_tokens = options->context_tokens;
  return result;
}

}  // namespace

rotary_status rotary_model_resolve(const char* config_json, size_t config_bytes,
                                   const rotary_resolve_options* options, rotary_model** out) {
  return rotary::c_api::make(out, [&]() -> Result<rotary::ModelSpec> {
    if (config_json == nullptr) return null_argument("config_json");
    const auto resolving = resolve_options(options);
    if (!resolving) return resolving.error();
    return rotary::resolve({config_json, config_bytes}, *resolving);
  });
}

void rotary_model_free(rotary_model* model) { delete model; }

int64_t rotary_model_layer_count(const rotary_model* model) {
  return is_given("model", model) ? size_of(model->spec.layers) : 0;
}

int64_t rotary_model_rotary_count(const rotary_model* model) {
  return is_given("model", model) ? size_of(model->spec.rotary) : 0;
}

int64_t rotary_model_rotary_of_layer(const rotary_model* model, int64_t layer) {
  if (!is_given("model", model)) return -1;
  const auto* const found = entry(model->spec.layers, layer);
  return found == nullptr ? -1 : static_cast<int64_t>(found->rotary);
}

int64_t rotary_model_warning_count(const rotary_model* model) {
  return is_given("model", model) ? size_of(model->spec.warnings) : 0;
}

const char* rotary_model_warning(const rotary_model* model, int64_t index) {
  if (!is_given("model", model)) return nullptr;
  const auto* const found = entry(model->spec.warnings, index);
  return found == nullptr ? nullptr : found->c_str();
}

rotary_status rotary_frequencies_of_model(const rotary_model* model, int64_t rotary,
                                          rotary_frequencies** out) {
  return rotary::c_api::make(out, [&]() -> Result<rotary::Frequencies> {
    if (model == nullptr) return null_argument("model");
    const auto* const found = entry(model->spec.rotary, rotary);
    if (found == nullptr) {
      return rotary::invalid_argument("rotary must be in 0..", size_of(model->spec.rotary) - 1,
                                      ", got ", rotary);
    }
    return rotary::make_frequencies(found->spec);
  });
}
