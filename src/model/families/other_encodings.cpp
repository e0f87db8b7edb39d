// SPDX-License-Identifier: Apache-2.0
// Families that do not rotate, or only if their config says so; each row names its encoding.
#include <array>

#include "model/encoding_choice.hpp"
#include "model/families.hpp"

namespace rotary {
namespace {

constexpr ConfigKeys encoder_keys = {.hidden_size = "d_model", .layers = "encoder_layers"};
constexpr ConfigKeys t5_keys = {.hidden_size = "d_model", .layers = "num_layers"};

constexpr Family encoded(std::string_view model_type, LayerEncoding encoding,
                         ConfigKeys keys = {}) {
  return {.model_type = model_type, .encoding = encoding, .keys = keys};
}

// BERT and similar: position_embedding_type, where absolute means a learned vector.
constexpr Family bert(std::string_view model_type) {
  return {.model_type = model_type,
          .encoding = LayerEncoding::learned,
          .read_encoding = absolute_only,
          .encoding_key = "position_embedding_type"};
}

constexpr std::array other_encodings_rows = {
    encoded("bloom", LayerEncoding::alibi, {.heads = "n_head", .layers = "n_layer"}),
    Family{.model_type = "mpt",
           .encoding = LayerEncoding::alibi,
           .read_encoding = mpt_encoding,
           .encoding_key = "attn_config",
           .keys = {.hidden_size = "d_model", .heads = "n_heads", .layers = "n_layers"}},
    // falcon/modeling_falcon.py: the key alibi, false by default in its class.
    Family{.model_type = "falcon",
           .read_encoding = alibi_or_rotary,
           .encoding_key = "alibi",
           .base = {10000},
           .keys = {.heads = "n_head", .layers = "n_layer"},
           .note = "alibi: true has linear biases instead"},
    encoded("t5", LayerEncoding::t5_bias, t5_keys),
    encoded("mt5", LayerEncoding::t5_bias, t5_keys),
    encoded("umt5", LayerEncoding::t5_bias, t5_keys),
    encoded("gpt2", LayerEncoding::learned, gpt_keys),
    encoded("gpt_bigcode", LayerEncoding::learned, gpt_keys),
    encoded("gpt_neo", LayerEncoding::learned, {.heads = "num_heads", .layers = "num_layers"}),
    encoded("opt", LayerEncoding::learned),
    encoded("biogpt", LayerEncoding::learned),
    encoded("bart", LayerEncoding::learned, encoder_keys),
    encoded("git", LayerEncoding::learned),
    encoded("vit", LayerEncoding::learned),
    Family{.model_type = "clip_vision_model", .encoding = LayerEncoding::learned, .source = "clip"},
    bert("bert"),
    bert("roberta"),
    bert("megatron-bert"),
    // Its class has learned vectors alone; xlm-roberta-flash-implementation, the code that
    // jina-embeddings-v3 comes with, rotates halves.
    Family{.model_type = "xlm-roberta",
           .encoding = LayerEncoding::learned,
           .read_encoding = rotary_or_learned,
           .encoding_key = "position_embedding_type",
           .base = {.otherwise = 10000, .key = "rotary_emb_base"},
           .note = "rotates if position_embedding_type is rotary, as in jina-embeddings-v3"},
    bert("camembert"),
    bert("electra"),
    bert("albert"),
    Family{.model_type = "distilbert",
           .encoding = LayerEncoding::learned,
           .read_encoding = sinusoidal_or_learned,
           .encoding_key = "sinusoidal_pos_embds",
           .keys = {.hidden_size = "dim", .heads = "n_heads", .layers = "n_layers"}},
    encoded("marian", LayerEncoding::sinusoidal, encoder_keys),
    encoded("pegasus", LayerEncoding::sinusoidal, encoder_keys),
    // whisper/modeling_whisper.py: learned vectors in the decoder, fixed ones in the encoder, whose
    // sinusoids() is of 1500 positions unless max_source_positions says another number.
    Family{.model_type = "whisper",
           .encoding = LayerEncoding::learned,
           .keys = {.hidden_size = "d_model", .layers = "decoder_layers"},
           .encoder = EncoderForm{.sinusoidal = whisper_sinusoidal, .positions = 1500},
           .note = "its decoder; the encoder has sinusoidal vectors"},
    encoded("xglm", LayerEncoding::sinusoidal,
            {.hidden_size = "d_model", .heads = "attention_heads", .layers = "num_layers"}),
    // esm/modeling_esm.py: absolute (a learned vector) unless position_embedding_type is rotary. q
    // and k are float32, cos and sin are not. Queries are scaled before they are rotated.
    Family{.model_type = "esm",
           .read_encoding = rotary_or_learned,
           .encoding_key = "position_embedding_type",
           .base = {10000},
           .rounding = Rounding::table,
           .note = "rotates if position_embedding_type is rotary, as in ESM-2"},
};

}  // namespace

std::span<const Family> other_encoding_families() { return other_encodings_rows; }

}  // namespace rotary
