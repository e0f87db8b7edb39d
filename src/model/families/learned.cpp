// SPDX-License-Identifier: Apache-2.0
// Families that add a learned vector of each position to a token's or a patch's embedding; no key
// but the number of layers matters. For images the rows are patches, resized where sizes differ.
#include <array>

#include "model/encoding_choice.hpp"
#include "model/families.hpp"

namespace rotary {
namespace {

constexpr ConfigKeys encoder_keys = {.hidden_size = "d_model", .layers = "encoder_layers"};

constexpr Family learned(std::string_view model_type, std::string_view source = {}) {
  return {.model_type = model_type, .encoding = LayerEncoding::learned, .source = source};
}

constexpr Family with_keys(Family family, const ConfigKeys& keys) {
  family.keys = keys;
  return family;
}

// BART's relatives: the same in encoder and decoder; the layers are the encoder's.
constexpr Family bart_like(std::string_view model_type, std::string_view source = {}) {
  return with_keys(learned(model_type, source), encoder_keys);
}

// BERT and similar: position_embedding_type, where absolute means a learned vector.
constexpr Family bert(std::string_view model_type, std::string_view source = {}) {
  Family family = learned(model_type, source);
  family.read_encoding = absolute_only;
  family.encoding_key = "position_embedding_type";
  return family;
}

constexpr std::array learned_rows = {
    with_keys(learned("gpt2"), gpt_keys),
    with_keys(learned("gpt_bigcode"), gpt_keys),
    with_keys(learned("imagegpt"), gpt_keys),
    with_keys(learned("openai-gpt", "openai"), gpt_keys),
    with_keys(learned("gpt_neo"), {.heads = "num_heads", .layers = "num_layers"}),
    learned("opt"),
    learned("biogpt"),
    bart_like("bart"),
    bart_like("bigbird_pegasus"),
    bart_like("blenderbot"),
    bart_like("blenderbot-small", "blenderbot_small"),
    bart_like("led"),
    bart_like("mbart"),
    bart_like("mvp"),
    bart_like("plbart"),
    bert("bert"),
    bert("roberta"),
    bert("camembert"),
    bert("electra"),
    bert("albert"),
    bert("align_text_model", "align"),
    bert("altclip_text_model", "altclip"),
    bert("bert-generation", "bert_generation"),
    bert("big_bird"),
    bert("blip_text_model", "blip"),
    bert("bridgetower_text_model", "bridgetower"),
    bert("chinese_clip_text_model", "chinese_clip"),
    bert("clap_text_model", "clap"),
    bert("convbert"),
    bert("data2vec-text", "data2vec"),
    bert("ernie"),
    bert("flava_text_model", "flava"),
    bert("git"),
    bert("ibert"),
    bert("longformer"),
    bert("luke"),
    bert("megatron-bert", "megatron_bert"),
    bert("mobilebert"),
    bert("mra"),
    bert("nystromformer"),
    bert("rembert"),
    bert("roberta-prelayernorm", "roberta_prelayernorm"),
    bert("roc_bert"),
    bert("splinter"),
    bert("squeezebert"),
    bert("xlm-roberta-xl", "xlm_roberta_xl"),
    bert("xmod"),
    bert("yoso"),
    learned("clip_text_model", "clip"),
    learned("clipseg_text_model", "clipseg"),
    learned("groupvit_text_model", "groupvit"),
    learned("metaclip_2_text_model", "metaclip_2"),
    learned("owlv2_text_model", "owlv2"),
    learned("owlvit_text_model", "owlvit"),
    learned("siglip2_text_model", "siglip2"),
    learned("siglip_text_model", "siglip"),
    learned("xclip_text_model", "x_clip"),
    learned("audio-spectrogram-transformer", "audio_spectrogram_transformer"),
    learned("blip_vision_model", "blip"),
    learned("clip_vision_model", "clip"),
    learned("deit"),
    learned("dinov2"),
    learned("dinov2_with_registers"),
    learned("ijepa"),
    learned("siglip2_vision_model", "siglip2"),
    learned("siglip_vision_model", "siglip"),
    learned("vit"),
    learned("vit_msn"),
    learned("vivit"),
};

}  // namespace

std::span<const Family> learned_families() { return learned_rows; }

}  // namespace rotary
