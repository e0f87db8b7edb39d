// SPDX-License-Identifier: Apache-2.0
#include "model/gguf/unstated.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/message.hpp"

namespace rotary {
namespace {

bool has_tensor(const GgufModelFile& file, std::string_view name) {
  const auto& tensors = file.metadata.rope_tensors;
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const GgufTensor& each) { return each.name == name; });
}

// The shortest decimal number that rounds to the same float32, where it is another one.
void add_base(const GgufModelFile& file, std::string_view name, std::vector<std::string>& said) {
  const auto stated = file.keys.number(name);
  if (!stated.value) return;
  std::array<char, 32> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size() - 1, static_cast<float>(*stated.value));
  if (error != std::errc() || std::strtod(text.data(), nullptr) == *stated.value) return;
  said.push_back(message(stated.key, " is a float32: ", *stated.value,
                         " is what the checkpoint's base rounds to, which may be ",
                         std::strtod(text.data(), nullptr)));
}

void add_rule(const GgufModelFile& file, std::vector<std::string>& said) {
  const std::string type = file.keys.text("rope.scaling.type").or_else("linear");
  if (has_tensor(file, "rope_freqs.weight")) {
    said.emplace_back(
        "the rule behind the numbers of rope_freqs.weight, llama3 or proportional for example, and "
        "its parameters");
  }
  if (has_tensor(file, "rope_factors_long.weight")) {
    said.emplace_back(
        "when the long list is used: in llama.cpp for every token of a context that is allocated "
        "longer than the original one, in Transformers once so many tokens are there");
    return;
  }
  if (type == "yarn") {
    said.emplace_back(
        "whether the checkpoint rounds the ends of YaRN's ramp to whole pairs (truncate), as "
        "llama.cpp does, and a factor on cos and sin of its own (attention_factor)");
    return;
  }
  said.emplace_back(
      "whether the checkpoint has dynamic NTK scaling, for which there is no key: the converter "
      "drops it");
}

}  // namespace

std::vector<std::string> unstated_in(const GgufModelFile& file) {
  std::vector<std::string> said;
  add_rule(file, said);
  add_base(file, "rope.freq_base", said);
  add_base(file, "rope.freq_base_swa", said);
  const Rotating rotating = file.row.rotating;
  if (rotating == Rotating::not_every_fourth || rotating == Rotating::not_first_of_four) {
    said.push_back(message("which layers do not rotate (no_rope_layers): for architecture ",
                           file.row.name, " every fourth, a constant of llama.cpp"));
  }
  return said;
}

void warn_about_unread(const GgufModelFile& file) {
  const GgufKeys& keys = file.keys;
  Findings& findings = keys.findings();
  struct Usual {
    std::string_view name;
    double value;
  };
  constexpr std::array unread = {
      Usual{"rope.scaling.yarn_beta_fast", 32}, Usual{"rope.scaling.yarn_beta_slow", 1},
      Usual{"rope.scaling.yarn_ext_factor", 1}, Usual{"rope.scaling.yarn_attn_factor", 1}};
  const bool is_yarn = keys.text("rope.scaling.type").or_else("") == "yarn";
  for (const Usual& each : unread) {
    const auto stated = keys.number(each.name);
    const bool is_read = file.row.reads_betas && each.name.find("beta") != std::string_view::npos;
    const bool is_grok = file.row.name == "grok" && each.name.ends_with("ext_factor");
    if (!is_yarn || is_read || is_grok || stated.or_else(each.value) == each.value) continue;
    findings.warn(stated.key, " ", *stated.value, " is not read: llama.cpp computes with ",
                  each.value, " for architecture ", file.row.name);
  }
  const bool is_longrope = keys.text("rope.scaling.type").or_else("") == "longrope";
  if (is_longrope && !has_tensor(file, "rope_factors_long.weight") &&
      !has_tensor(file, "rope_freqs.weight")) {
    findings.warn("tensors rope_factors_long.weight and rope_factors_short.weight are not in this ",
                  "file, although ", keys.full("rope.scaling.type"),
                  " is longrope: frequencies are shown without them");
  }
  if (file.row.factors_on_full_only && !has_tensor(file, "rope_freqs.weight")) {
    findings.warn("tensor rope_freqs.weight is not in this file, and says which pairs of layers ",
                  "with full attention turn: they are shown as if all did");
  }
}

}  // namespace rotary
