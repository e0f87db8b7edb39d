// SPDX-License-Identifier: Apache-2.0
// Families that add a learned vector for each position to the embedding of a token or a patch. The
// only size that matters is the number of layers.
#include <array>

#include "model/encoding_choice.hpp"
#include "model/families.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

constexpr ConfigKeys encoder_keys = {.hidden_size = "d_model", .layers = "encoder_layers"};

constexpr Family learned(std::string_view model_types, const ConfigKeys& keys = {}) {
  return {.model_type = model_types, .encoding = LayerEncoding::learned, .keys = keys};
}

constexpr std::array learned_rows = {
    learned("gpt2 gpt_bigcode imagegpt openai-gpt", gpt_keys),
    learned("gpt_neo", {.heads = "num_heads", .layers = "num_layers"}),
    learned("opt biogpt"),
    // Encoder and decoder have the same encoding; the layers are the encoder's.
    learned("bart bigbird_pegasus blenderbot blenderbot-small led mbart mvp plbart", encoder_keys),
    // position_embedding_type absolute means a learned vector.
    Family{.model_type =
               "bert roberta camembert electra albert align_text_model altclip_text_model "
               "bert-generation big_bird blip_text_model bridgetower_text_model "
               "chinese_clip_text_model clap_text_model convbert data2vec-text ernie "
               "flava_text_model git ibert longformer luke megatron-bert mobilebert mra "
               "nystromformer rembert roberta-prelayernorm roc_bert splinter squeezebert "
               "xlm-roberta-xl xmod yoso",
           .encoding = LayerEncoding::learned,
           .choice = {.key = "position_embedding_type", .read = absolute_only}},
    learned("clip_text_model clipseg_text_model groupvit_text_model metaclip_2_text_model "
            "owlv2_text_model owlvit_text_model siglip2_text_model siglip_text_model "
            "xclip_text_model audio-spectrogram-transformer blip_vision_model clip_vision_model "
            "deit dinov2 dinov2_with_registers ijepa siglip2_vision_model siglip_vision_model "
            "vit vit_msn vivit"),
};

}  // namespace

std::span<const Family> learned_families() { return row_for_each_word<learned_rows>; }

}  // namespace rotary
