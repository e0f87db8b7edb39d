// SPDX-License-Identifier: Apache-2.0
// Families that do not rotate, and families whose config decides whether they rotate.
#include <array>

#include "model/bias_readers.hpp"
#include "model/encoding_choice.hpp"
#include "model/families.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

constexpr ConfigKeys seq2seq_keys = {.hidden_size = "d_model", .layers = "encoder_layers"};
constexpr ConfigKeys t5_keys = {
    .hidden_size = "d_model", .heads = "num_heads", .layers = "num_layers"};
constexpr ConfigKeys kosmos_keys = {
    .hidden_size = "embed_dim", .heads = "attention_heads", .layers = "layers"};

constexpr SinusoidalForm fairseq = {.of = whisper_sinusoidal, .counts_from = CountsFrom::padding};

// xglm/modeling_xglm.py: the offset is always 2, and the row of the padding token is not special.
SinusoidalSpec xglm_sinusoidal(std::int64_t dim) {
  SinusoidalSpec spec = whisper_sinusoidal(dim);
  spec.position_offset = 2;
  return spec;
}

constexpr Family sinusoidal(std::string_view model_type, const SinusoidalForm& form,
                            const ConfigKeys& keys = {}) {
  return {.model_type = model_type,
          .encoding = LayerEncoding::sinusoidal,
          .keys = keys,
          .sinusoidal = form};
}

// Models with an encoder and a decoder; the layers are the encoder's.
constexpr Family t5(std::string_view model_type, std::string_view note = {}) {
  return {.model_type = model_type,
          .encoding = LayerEncoding::t5_bias,
          .keys = t5_keys,
          .read_bias = t5_encoder_bias,
          .note = note};
}

constexpr std::array other_encodings_rows = {
    Family{.model_type = "bloom",
           .encoding = LayerEncoding::alibi,
           .keys = {.heads = "n_head", .layers = "n_layer"},
           .read_bias = bloom_bias},
    Family{.model_type = "mpt",
           .encoding = LayerEncoding::alibi,
           .choice = {.key = "attn_config", .read = mpt_encoding},
           .keys = {.hidden_size = "d_model", .heads = "n_heads", .layers = "n_layers"},
           .read_bias = mpt_bias},
    // falcon/modeling_falcon.py: the key alibi, false by default in its class.
    Family{.model_type = "falcon",
           .choice = {"alibi", LayerEncoding::alibi, LayerEncoding::rotary, LayerEncoding::rotary},
           .base = {10000},
           .keys = {.heads = "n_head", .layers = "n_layer"},
           .read_bias = falcon_bias,
           .note = "alibi: true has linear biases instead"},
    t5("t5 mt5"),
    t5("umt5", "each layer has its own table"),
    t5("switch_transformers pop2piano"),
    t5("longt5", "its encoder attends within blocks, and to summaries if it is transient-global"),
    Family{.model_type = "pix2struct_text_model",
           .encoding = LayerEncoding::t5_bias,
           .keys = {.heads = "num_heads", .layers = "num_layers"},
           .read_bias = t5_decoder_bias},
    // The class of XLM-RoBERTa has only learned vectors. xlm-roberta-flash-implementation, the code
    // of jina-embeddings-v3, rotates halves.
    Family{.model_type = "xlm-roberta",
           .encoding = LayerEncoding::learned,
           .choice = {.key = "position_embedding_type", .read = rotary_or_learned},
           .base = {.otherwise = 10000, .key = "rotary_emb_base"},
           .note = "rotates if position_embedding_type is rotary, as in jina-embeddings-v3"},
    Family{.model_type = "distilbert",
           .encoding = LayerEncoding::learned,
           .choice = {"sinusoidal_pos_embds", LayerEncoding::sinusoidal, LayerEncoding::learned,
                      LayerEncoding::learned},
           .keys = {.hidden_size = "dim", .heads = "n_heads", .layers = "n_layers"},
           .sinusoidal = {transformer_sinusoidal}},
    // Learned vectors unless sinusoidal_embeddings is true.
    Family{.model_type = "xlm flaubert",
           .encoding = LayerEncoding::learned,
           .choice = {"sinusoidal_embeddings", LayerEncoding::sinusoidal, LayerEncoding::learned,
                      LayerEncoding::learned},
           .keys = {.hidden_size = "emb_dim", .heads = "n_heads", .layers = "n_layers"},
           .sinusoidal = {transformer_sinusoidal}},
    // trocr/modeling_trocr.py: fairseq's sinusoids if use_learned_position_embeddings is false.
    Family{.model_type = "trocr",
           .encoding = LayerEncoding::learned,
           .choice = {"use_learned_position_embeddings", LayerEncoding::learned,
                      LayerEncoding::sinusoidal, LayerEncoding::learned},
           .keys = {.hidden_size = "d_model", .layers = "decoder_layers"},
           .sinusoidal = fairseq},
    sinusoidal("marian pegasus", {marian_sinusoidal}, seq2seq_keys),
    sinusoidal("pegasus_x", {whisper_sinusoidal}, seq2seq_keys),
    sinusoidal("ctrl", {marian_sinusoidal}, gpt_keys),
    sinusoidal("m2m_100 nllb-moe fsmt speech_to_text", fairseq, seq2seq_keys),
    sinusoidal("kosmos_2_text_model kosmos_2_5_text_model", fairseq, kosmos_keys),
    sinusoidal("musicgen_decoder musicgen_melody_decoder", {musicgen_sinusoidal}),
    sinusoidal("videomae", {transformer_sinusoidal}),
    // whisper/modeling_whisper.py: learned vectors in the decoder, sinusoids() in the encoder. The
    // encoder has max_source_positions positions, by default 1500.
    Family{.model_type = "whisper",
           .encoding = LayerEncoding::learned,
           .keys = {.hidden_size = "d_model", .layers = "decoder_layers"},
           .encoder = EncoderForm{.sinusoidal = whisper_sinusoidal, .positions = 1500},
           .note = "its decoder; the encoder has sinusoidal vectors"},
    sinusoidal("xglm", {xglm_sinusoidal},
               {.hidden_size = "d_model", .heads = "attention_heads", .layers = "num_layers"}),
    // esm/modeling_esm.py: absolute (a learned vector) unless position_embedding_type is rotary.
    // Only q and k are float32. Queries are scaled before they are rotated.
    Family{.model_type = "esm",
           .choice = {.key = "position_embedding_type", .read = rotary_or_learned},
           .base = {10000},
           .rounding = Rounding::table,
           .rope = {.dictionaries = Dictionaries::none},
           .note = "rotates if position_embedding_type is rotary, as in ESM-2"},
};

}  // namespace

std::span<const Family> other_encoding_families() {
  return row_for_each_word<other_encodings_rows>;
}

}  // namespace rotary
