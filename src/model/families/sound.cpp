// SPDX-License-Identifier: Apache-2.0
// Parts of audio models: encoders, codecs, talkers and decoders. Positions are frames or tokens.
#include <array>

#include "model/families.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

constexpr Family whole_head_of_sound(std::string_view model_type, double base,
                                     std::int64_t head_dim) {
  return {.model_type = model_type, .base = {base}, .head = {.dim = head_dim}};
}

constexpr Family part_of_sound(std::string_view model_type, double fraction) {
  return {.model_type = model_type,
          .base = {10000},
          .part = {.given_by = PartialRotary::fraction, .fraction = fraction}};
}

// rope: the class's default rope_parameters. Only they state the fraction.
constexpr Family with_fraction(std::string_view model_type, std::string_view rope) {
  Family family = part_of_sound(model_type, 1);
  family.rope.otherwise = rope;
  return family;
}

constexpr std::string_view half_rope =
    R"({"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5})";

constexpr Family moonshine_streaming() {
  Family family = with_fraction(
      "moonshine_streaming",
      R"({"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.8})");
  family.pairing = Pairing::interleaved;
  family.note = "the decoder's layers";
  return family;
}

constexpr std::string_view higgs_audio_v2_rope =
    R"({"rope_type": "llama3", "rope_theta": 500000.0, "factor": 32.0, "high_freq_factor": 0.5,
        "low_freq_factor": 0.125, "original_max_position_embeddings": 1024})";

constexpr Family higgs_audio_v2() {
  Family family = whole_head_of_sound("higgs_audio_v2", 10000, 128);
  family.rope.otherwise = higgs_audio_v2_rope;
  family.note = "without rope_parameters, its class has its own scaling";
  return family;
}

// For talkers, whose positions have several axes.
constexpr Family with_axes(Family family, const AxesForm& axes) {
  family.axes = axes;
  return family;
}

constexpr AxesForm talker_in_chunks = {.given_by = AxisShares::sections, .otherwise = {16, 24, 24}};
constexpr AxesForm talker_in_turn = {.given_by = AxisShares::sections,
                                     .otherwise = {24, 20, 20},
                                     .arrangement = AxisArrangement::interleaved};

// Whisper's encoder, and encoders derived from it.
constexpr Family like_whisper(std::string_view model_type) {
  return {.model_type = model_type,
          .encoding = LayerEncoding::sinusoidal,
          .keys = {.hidden_size = "d_model", .layers = "encoder_layers"},
          .sinusoidal = {whisper_sinusoidal}};
}

constexpr std::array sound_rows = {
    like_whisper("audioflamingo3_encoder qwen2_5_omni_audio_encoder qwen2_audio_encoder "
                 "qwen3_omni_moe_audio_encoder voxtral_encoder"),
    from("csm", whole_head_of_sound("csm_depth_decoder_model", 500000, 0)),
    whole_head_of_sound("dia_encoder dia_decoder", 10000, 128),
    whole_head_of_sound("gradium_phonon_tts", 10000, 64),
    whole_head_of_sound("kyutai_speech_to_text lasr_encoder mimi neucodec", 10000, 0),
    whole_head_of_sound("pocket_tts pocket_tts_audio_tokenizer", 10000, 64),
    from("qwen2_5_omni",
         with_axes(whole_head_of_sound("qwen2_5_omni_talker", 1e6, 128), talker_in_chunks)),
    from("qwen2_5_omni", whole_head_of_sound("qwen2_5_omni_dit", 10000, 64)),
    from("qwen3_omni_moe",
         with_axes(whole_head_of_sound("qwen3_omni_moe_talker_text", 10000, 0), talker_in_turn)),
    from("qwen3_omni_moe", whole_head_of_sound("qwen3_omni_moe_talker_code_predictor", 10000, 128)),
    whole_head_of_sound("timesfm2_5", 10000, 80),
    whole_head_of_sound("voxtral_realtime_encoder", 10000, 64),
    whole_head_of_sound("xcodec2", 10000, 0),
    part_of_sound("dots3_note_audio_encoder glmasr_encoder", 0.5),
    from("nemotron3_5_transcribe",
         with_fraction("nemotron3_5_transcribe_asr_audio nemotron3_5_transcribe_word_timestamp",
                       half_rope)),
    from("nemotron3_diarization", part_of_sound("nemotron3_diarization_audio", 1)),
    moonshine_streaming(),
    // pe_audio/modeling_pe_audio.py multiplies by [[cos, -sin], [sin, cos]].
    Family{.model_type = "pe_audio_encoder pe_audio_video_encoder pe_video_encoder",
           .pairing = Pairing::interleaved,
           .base = {20000},
           .head = {.dim = 128}},
    higgs_audio_v2(),
};

}  // namespace

std::span<const Family> sound_families() { return row_for_each_word<sound_rows>; }

}  // namespace rotary
