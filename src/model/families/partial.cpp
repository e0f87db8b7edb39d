// SPDX-License-Identifier: Apache-2.0
// Families that rotate only a part of the head, also under rope_type default. All use rotate_half.
#include <array>

#include "model/families.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

constexpr std::array partial_rows = {
    Family{.model_type = "glm4_moe nemotron",
           .base = {10000},
           .part = {.given_by = PartialRotary::fraction, .fraction = 0.5}},
    // gpt_neox/configuration_gpt_neox.py: outside the dictionary, rotary_emb_base and rotary_pct.
    Family{.model_type = "gpt_neox",
           .base = {.otherwise = 10000, .key = "rotary_emb_base"},
           .part = {.given_by = PartialRotary::fraction, .fraction = 0.25, .key = "rotary_pct"}},
    Family{.model_type = "phi",
           .base = {10000},
           .part = {.given_by = PartialRotary::fraction,
                    .fraction = 0.5,
                    .rotary_dim_key = RotaryDimKey::stands_in},
           .keys = gpt_keys},
    Family{.model_type = "phi3 phi4_multimodal",
           .base = {10000},
           .part = {.given_by = PartialRotary::fraction},
           .rope = {.dialect = RopeDialect::phi3},
           .note = "rope_type su and yarn are LongRoPE"},
    Family{
        .model_type = "stablelm",
        .base = {10000},
        .part = {.given_by = PartialRotary::fraction, .fraction = 0.25, .other_key = "rope_pct"}},
    // Released with base 25000, which is no default in Transformers 5, so the config must state it.
    Family{.model_type = "persimmon",
           .part = {.given_by = PartialRotary::fraction, .fraction = 0.5},
           .note = "rope_theta must be given: Transformers 4 and 5 differ in its default"},
    Family{.model_type = "solar_open",
           .base = {1e6},
           .part = {.given_by = PartialRotary::fraction},
           .head = {.dim = 128}},
    Family{.model_type = "sarvam_moe",
           .base = {8e6},
           .part = {.given_by = PartialRotary::fraction},
           .head = {.dim = 64}},
    // Published files have rotary_dim 64 of 128. The class derives an absent fraction from that.
    Family{.model_type = "minimax_m2",
           .base = {5e6},
           .part = {.given_by = PartialRotary::fraction, .rotary_dim_key = RotaryDimKey::read},
           .head = {.dim = 128}},
    Family{.model_type = "minimax_m3_vl_text",
           .base = {5e6},
           .part = {.given_by = PartialRotary::fraction, .rotary_dim_key = RotaryDimKey::stands_in},
           .head = {.dim = 128}},
};

}  // namespace

std::span<const Family> partial_families() { return row_for_each_word<partial_rows>; }

}  // namespace rotary
