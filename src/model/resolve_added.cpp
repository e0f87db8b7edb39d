// SPDX-License-Identifier: Apache-2.0
#include <string_view>
#include <utility>
#include <variant>

#include "base/message.hpp"
#include "model/resolve_json.hpp"

namespace rotary {
namespace {

void check_width(const ModelConfig& config, const SinusoidalSpec& spec, std::string_view dim_key) {
  if (const auto table = make_sinusoidal(spec); !table) {
    config.reader.findings().fail(
        blamed(ErrorCode::malformed_input, message("config (", dim_key, "): "), table.error()));
  }
}

// The id of the padding token, from which fairseq's tables count. Its default is 1 in every class.
std::int64_t read_padding(const ModelConfig& config, Sources& sources) {
  constexpr std::string_view key = "pad_token_id";
  constexpr std::int64_t largest = 0x7fff'ffff;
  const auto id = config.reader.integer(key);
  if (id && (*id < 0 || *id > largest)) {
    config.reader.malformed(key, " must be in 0..", largest, ", got ", *id);
  }
  note(sources, "position_offset", stated_if(id.has_value()), key);
  return id.value_or(1);
}

void resolve_encoder(const ModelConfig& config, ModelSpec& model) {
  if (!config.family.encoder) return;
  const EncoderForm& form = *config.family.encoder;
  Reader& reader = config.reader;
  const auto layers = reader.integer(form.layers_key);
  const std::string_view dim_key = config.family.keys.hidden_size;
  const auto dim = reader.integer(dim_key);
  if (!layers || !dim) {
    reader.warn(layers ? dim_key : form.layers_key,
                " is absent, so the encoder's sinusoids are not shown");
    return;
  }
  const auto positions = reader.integer(form.positions_key);
  if (*layers < 1 || *layers > max_layers || positions.value_or(1) < 1) {
    reader.malformed(form.layers_key, " must be in 1..", max_layers, " and ", form.positions_key,
                     " >= 1, got ", *layers, " and ", text_or_none(positions));
  }
  ModelEncoder encoder{.layers = *layers,
                       .sinusoidal = form.sinusoidal(*dim),
                       .positions = positions.value_or(form.positions)};
  check_width(config, encoder.sinusoidal, dim_key);
  note(encoder.sources, "layers", Origin::stated, form.layers_key);
  note(encoder.sources, "dim", Origin::stated, dim_key);
  note(encoder.sources, "positions", stated_if(positions.has_value()), form.positions_key);
  note(encoder.sources, "sinusoidal", Origin::family);
  model.encoder = std::move(encoder);
}

void resolve_sinusoidal(const ModelConfig& config, ModelSpec& model) {
  const Family& family = config.family;
  if (config.encoding != LayerEncoding::sinusoidal || family.sinusoidal.of == nullptr) return;
  const auto dim = read_size(config, hidden_size_facts, model.sources);
  if (!dim) return;
  model.sinusoidal = family.sinusoidal.of(*dim);
  note(model.sources, "sinusoidal", Origin::family);
  note(model.sources, "position_offset", Origin::family);
  if (family.sinusoidal.counts_from == CountsFrom::padding) {
    const std::int64_t padding = read_padding(config, model.sources);
    model.sinusoidal->position_offset = padding + 1;
    model.sinusoidal->zero_position = -1;
  }
  check_width(config, *model.sinusoidal, family.keys.hidden_size);
}

// Checks a bias without its learned numbers; T5's table has no data here.
Status check(const RelativeBias& bias) {
  const auto* const t5 = std::get_if<T5Bias>(&bias);
  if (t5 == nullptr) return validate(bias);
  const auto bucket = t5_bucket(0, t5->buckets);
  return bucket ? Status() : Status(bucket.error());
}

void resolve_bias(const ModelConfig& config, ModelSpec& model) {
  const bool is_bias =
      config.encoding == LayerEncoding::alibi || config.encoding == LayerEncoding::t5_bias;
  if (!is_bias || config.family.read_bias == nullptr) return;
  auto bias = config.family.read_bias(config, model.sources);
  if (!bias || config.reader.failed()) return;
  if (const auto status = check(*bias); !status) {
    config.reader.findings().fail(blamed(
        ErrorCode::malformed_input, message("config, ", to_string(*bias), ": "), status.error()));
  }
  model.relative_bias = std::move(bias);
}

}  // namespace

void resolve_added(const ModelConfig& config, ModelSpec& model) {
  resolve_encoder(config, model);
  resolve_sinusoidal(config, model);
  resolve_bias(config, model);
}

}  // namespace rotary
