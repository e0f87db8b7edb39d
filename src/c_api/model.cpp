// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "c_api/handles.hpp"
#include "c_api/status.hpp"
#include "c_api/structs.hpp"
#include "rotary/gguf.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/spec_json.hpp"

using rotary::Result;
using rotary::Status;
using rotary::c_api::is_given;
using rotary::c_api::null_argument;

struct rotary_model {
  rotary::ModelSpec spec;
  std::optional<std::int64_t> context_tokens;  // from rotary_resolve_options
};

namespace {

template <class T>
int64_t size_of(const std::vector<T>& entries) {
  return static_cast<int64_t>(entries.size());
}

// nullptr if the index is out of range.
template <class T>
const T* entry(const std::vector<T>& entries, int64_t index) {
  if (index < 0 || index >= size_of(entries)) return nullptr;
  return &entries[static_cast<std::size_t>(index)];
}

template <class T>
rotary::Error no_entry(std::string_view name, const std::vector<T>& entries, int64_t index) {
  if (entries.empty()) {
    return rotary::invalid_argument(name, " must be in the model's list, which is empty; got ",
                                    index);
  }
  return rotary::invalid_argument(name, " must be in 0..", size_of(entries) - 1, ", got ", index);
}

Result<rotary::ResolveOptions> resolve_options(const rotary_resolve_options* from) {
  const auto options = rotary::c_api::read_options("options", from);
  if (!options) return options.error();
  rotary::ResolveOptions result;
  if (options->pairing != 0) result.pairing = static_cast<rotary::Pairing>(options->pairing);
  if (options->context_tokens != 0) result.context_tokens = options->context_tokens;
  if (options->part != 0) result.part = static_cast<rotary::ModelPart>(options->part);
  if (options->numerics != 0) result.numerics = static_cast<rotary::Numerics>(options->numerics);
  return result;
}

// A ByteSource of the caller's memory, or one that calls the caller's read_at.
Result<rotary::ByteSource> byte_source_of(const rotary_byte_source& from) {
  if (from.read_at == nullptr) {
    if (from.context == nullptr) return null_argument("source.context");
    return rotary::byte_source({static_cast<const std::byte*>(from.context), from.size_bytes});
  }
  const auto read_at = [](void* context, std::uint64_t offset, std::byte* bytes,
                          std::size_t count) -> std::size_t {
    const auto& source = *static_cast<const rotary_byte_source*>(context);
    return source.read_at(source.context, offset, bytes, count);
  };
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): read_at only reads
  return rotary::ByteSource{.context = const_cast<rotary_byte_source*>(&from),
                            .read_at = read_at,
                            .size_bytes = from.size_bytes};
}

Result<rotary::GgufOptions> gguf_options(const rotary_resolve_options* from) {
  const auto options = resolve_options(from);
  if (!options) return options.error();
  if (options->pairing) {
    return rotary::invalid_argument(
        "options.pairing must be 0, because a GGUF file says how its features pair up; got ",
        static_cast<std::int32_t>(*options->pairing));
  }
  return rotary::GgufOptions{.context_tokens = options->context_tokens,
                             .numerics = options->numerics};
}

Result<rotary::Frequencies> frequencies_of(std::string_view spec_json,
                                           std::optional<std::int64_t> context_tokens) {
  if (spec_json.data() == nullptr) return null_argument("spec_json");
  const auto spec = rotary::parse_rotary_spec(spec_json);
  if (!spec) return spec.error();
  return rotary::make_frequencies(*spec, context_tokens);
}

}  // namespace

rotary_status rotary_model_resolve(const char* config_json, size_t config_bytes,
                                   const rotary_resolve_options* options, rotary_model** out) {
  return rotary::c_api::make(out, [&]() -> Result<rotary_model> {
    if (config_json == nullptr) return null_argument("config_json");
    const auto resolving = resolve_options(options);
    if (!resolving) return resolving.error();
    auto spec = rotary::resolve({config_json, config_bytes}, *resolving);
    if (!spec) return std::move(spec).error();
    return rotary_model{.spec = *std::move(spec), .context_tokens = resolving->context_tokens};
  });
}

rotary_status rotary_model_resolve_gguf(const rotary_byte_source* source,
                                        const rotary_resolve_options* options, rotary_model** out) {
  return rotary::c_api::make(out, [&]() -> Result<rotary_model> {
    const auto from = rotary::c_api::read_struct("source", source);
    if (!from) return from.error();
    const auto bytes = byte_source_of(*from);
    if (!bytes) return bytes.error();
    const auto resolving = gguf_options(options);
    if (!resolving) return resolving.error();
    auto spec = rotary::resolve_gguf(*bytes, *resolving);
    if (!spec) return std::move(spec).error();
    return rotary_model{.spec = *std::move(spec), .context_tokens = resolving->context_tokens};
  });
}

void rotary_model_free(rotary_model* model) { delete model; }

int32_t rotary_model_checkpoint_pairing(const rotary_model* model) {
  if (!is_given("model", model) || !model->spec.gguf) return 0;
  const auto pairing = model->spec.gguf->checkpoint_pairing;
  return pairing ? static_cast<int32_t>(*pairing) : 0;
}

int64_t rotary_model_unstated_count(const rotary_model* model) {
  if (!is_given("model", model) || !model->spec.gguf) return 0;
  return size_of(model->spec.gguf->unstated);
}

const char* rotary_model_unstated(const rotary_model* model, int64_t index) {
  if (!is_given("model", model) || !model->spec.gguf) return nullptr;
  const auto* const found = entry(model->spec.gguf->unstated, index);
  return found == nullptr ? nullptr : found->c_str();
}

int64_t rotary_model_layer_count(const rotary_model* model) {
  return is_given("model", model) ? size_of(model->spec.layers) : 0;
}

int64_t rotary_model_rotary_count(const rotary_model* model) {
  return is_given("model", model) ? size_of(model->spec.rotary) : 0;
}

int64_t rotary_model_rotary_of_layer(const rotary_model* model, int64_t layer) {
  if (!is_given("model", model)) return -1;
  const auto* const found = entry(model->spec.layers, layer);
  if (found == nullptr) return -1;
  if (found->encoding != rotary::LayerEncoding::rotary)
    return -static_cast<int64_t>(found->encoding);
  return static_cast<int64_t>(found->rotary);
}

const char* rotary_model_layer_encoding(const rotary_model* model, int64_t layer) {
  if (!is_given("model", model)) return nullptr;
  const auto* const found = entry(model->spec.layers, layer);
  return found == nullptr ? nullptr : rotary::to_string(found->encoding).data();
}

double rotary_model_query_factor(const rotary_model* model, int64_t layer, int64_t position) {
  double factor = std::numeric_limits<double>::quiet_NaN();
  rotary::c_api::run([&]() -> Status {
    if (model == nullptr) return null_argument("model");
    const auto* const found = entry(model->spec.layers, layer);
    if (found == nullptr) return no_entry("layer", model->spec.layers, layer);
    if (position < 0) return rotary::invalid_argument("position must be >= 0, got ", position);
    factor = rotary::query_factor(found->query_temperature, position);
    return {};
  });
  return factor;
}

const char* rotary_model_layer_type(const rotary_model* model, int64_t rotary) {
  if (!is_given("model", model)) return nullptr;
  const auto* const found = entry(model->spec.rotary, rotary);
  return found == nullptr || !found->layer_type ? nullptr : found->layer_type->c_str();
}

double rotary_model_softmax_factor(const rotary_model* model, int64_t rotary) {
  double factor = std::numeric_limits<double>::quiet_NaN();
  rotary::c_api::run([&]() -> Status {
    if (model == nullptr) return null_argument("model");
    const auto* const found = entry(model->spec.rotary, rotary);
    if (found == nullptr) return no_entry("rotary", model->spec.rotary, rotary);
    factor = found->softmax_factor;
    return {};
  });
  return factor;
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
    if (model->spec.rotary.empty())
      return rotary::unsupported("the model must have a rotary embedding, got none");
    const auto* const found = entry(model->spec.rotary, rotary);
    if (found == nullptr) return no_entry("rotary", model->spec.rotary, rotary);
    return rotary::make_frequencies(found->spec, model->context_tokens);
  });
}

rotary_status rotary_frequencies_of_spec(const char* spec_json, size_t spec_bytes,
                                         rotary_frequencies** out) {
  return rotary::c_api::make(out, [&]() { return frequencies_of({spec_json, spec_bytes}, {}); });
}

rotary_status rotary_frequencies_of_spec_in_context(const char* spec_json, size_t spec_bytes,
                                                    int64_t context_tokens,
                                                    rotary_frequencies** out) {
  return rotary::c_api::make(out, [&]() {
    return frequencies_of({spec_json, spec_bytes}, context_tokens);
  });
}
