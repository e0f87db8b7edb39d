// SPDX-License-Identifier: Apache-2.0
#include "model/families.hpp"

#include <algorithm>
#include <array>

#include "base/guard.hpp"
#include "model/wrappers.hpp"
#include "rotary/families.hpp"

namespace rotary {
namespace {

using Topic = std::span<const Family> (*)();

constexpr std::array<Topic, 10> topics = {
    llama_like_families,     partial_families,    interleaved_families, latent_families,
    layered_families,        two_base_families,   multimodal_families,  sound_families,
    other_encoding_families, remote_code_families};

FamilyInfo info(const Family& family) {
  FamilyInfo shown{.model_type = family.model_type,
                   .encoding = family.encoding,
                   .pairing = {},
                   .base = {},
                   .text_model_type = {},
                   .note = family.note,
                   .source = family.source.empty() ? family.model_type : family.source};
  if (shown.source == "-") shown.source = {};
  if (family.encoding != LayerEncoding::rotary) return shown;
  shown.pairing = family.pairing;
  const auto& two_bases = family.rope.two_bases;
  shown.base = two_bases ? std::optional(two_bases->full) : family.base.otherwise;
  return shown;
}

FamilyInfo info(const Wrapper& wrapper) {
  return {.model_type = wrapper.model_type,
          .encoding = LayerEncoding::rotary,
          .pairing = {},
          .base = {},
          .text_model_type = wrapper.text_model_type,
          .note = {},
          .source = wrapper.model_type};
}

}  // namespace

const Family* find_family(std::string_view model_type) {
  for (const Topic topic : topics) {
    const auto rows = topic();
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const Family& each) {
      return each.model_type == model_type;
    });
    if (found != rows.end()) return &*found;
  }
  return nullptr;
}

const Family& unknown_family() {
  static constexpr Family family = {.base = {.other_key = "rotary_emb_base"},
                                    .part = {.given_by = PartialRotary::fraction,
                                             .other_key = "rotary_pct",
                                             .rotary_dim_key = RotaryDimKey::stands_in},
                                    .rope = {.sections = SectionKeys::accepted}};
  return family;
}

std::vector<std::string_view> family_names() {
  std::vector<std::string_view> names;
  for (const Topic topic : topics) {
    for (const Family& each : topic()) names.push_back(each.model_type);
  }
  for (const Wrapper& each : wrappers()) names.push_back(each.model_type);
  return names;
}

Result<std::vector<FamilyInfo>> known_families() noexcept {
  return guarded([]() -> Result<std::vector<FamilyInfo>> {
    std::vector<FamilyInfo> families;
    for (const Topic topic : topics) {
      for (const Family& each : topic()) families.push_back(info(each));
    }
    for (const Wrapper& each : wrappers()) families.push_back(info(each));
    std::sort(families.begin(), families.end(),
              [](const FamilyInfo& a, const FamilyInfo& b) { return a.model_type < b.model_type; });
    return families;
  });
}

}  // namespace rotary
