// SPDX-License-Identifier: Apache-2.0
#include "model/gguf/unstated.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <type_traits>
#include <variant>

#include "base/message.hpp"
#include "base/spelling.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

// Adds the probable base of the checkpoint if it is not the file's float32. The probable base is
// the shortest decimal number that rounds to that float32.
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
  if (find_tensor(file, "rope_freqs.weight") != nullptr) {
    said.emplace_back(
        "the rule behind the numbers of rope_freqs.weight, llama3 or proportional for example, and "
        "its parameters");
  }
  if (find_tensor(file, "rope_factors_long.weight") != nullptr) {
    said.emplace_back(
        "when the long list is used: in llama.cpp for every token of a context that is allocated "
        "longer than the original one, in Transformers once the context is that long");
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

// Keys that llama.cpp always reads, and keys of attention that do not change positions.
constexpr std::string_view read_for_others =
    "rope.dimension_count rope.freq_base rope.scale_linear rope.scaling.attn_factor "
    "rope.scaling.factor rope.scaling.finetuned rope.scaling.original_context_length "
    "rope.scaling.type attention.causal attention.clamp_kqv attention.decay_lora_rank "
    "attention.gate_lora_rank attention.group_norm_epsilon attention.group_norm_groups "
    "attention.head_count attention.head_count_kv attention.iclr_lora_rank "
    "attention.key_length attention.kv_lora_rank attention.kv_lora_rank_swa "
    "attention.layer_norm_epsilon attention.layer_norm_rms_epsilon "
    "attention.output_group_count attention.output_lora_rank attention.output_scale "
    "attention.q_lora_rank attention.scale attention.shared_kv_layers "
    "attention.sliding_window attention.value_length attention.value_length_mla "
    "attention.value_length_mla_swa attention.value_length_swa "
    "attention.value_residual_mix_lora_rank attention.value_scale";

bool is_read_for_others(std::string_view name, const GgufKeys& keys) {
  const std::string own = keys.full("");
  if (!name.starts_with(own)) return false;
  name.remove_prefix(own.size());
  return name.starts_with("attention.indexer.") || has_word(read_for_others, name);
}

std::string value_text(const GgufKey& key) {
  const auto text = [&](const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, bool>) return std::string(value ? "true" : "false");
    if constexpr (std::is_arithmetic_v<Value>) return to_text(value);
    if constexpr (std::is_same_v<Value, std::string>) return message("'", printable(value), "'");
    return message("a value of type ", to_string(key.type));
  };
  return std::visit(text, key.value);
}

struct StatedStretch {
  Stated<std::int64_t> original;
  Stated<std::int64_t> context;
  Stated<double> factor;
  Stated<double> attention;
  Stated<std::string> type;
  bool has_lists = false;

  [[nodiscard]] bool is_stretched() const { return factor.or_else(0) != 0 && *factor.value != 1; }
  [[nodiscard]] bool is(std::string_view name) const { return type.or_else("linear") == name; }
  [[nodiscard]] bool is_longer() const {
    return original.value && context.value && *original.value < *context.value;
  }
  [[nodiscard]] double ratio() const {
    return static_cast<double>(*context.value) / static_cast<double>(*original.value);
  }
};

StatedStretch read_stretch(const GgufModelFile& file) {
  const GgufKeys& keys = file.keys;
  const bool is_old = !keys.has("rope.scaling.factor") && keys.has("rope.scale_linear");
  return {.original = keys.integer("rope.scaling.original_context_length"),
          .context = keys.integer("context_length"),
          .factor = keys.number(is_old ? "rope.scale_linear" : "rope.scaling.factor"),
          .attention = keys.number("rope.scaling.attn_factor"),
          .type = keys.text("rope.scaling.type"),
          .has_lists = find_tensor(file, "rope_factors_long.weight") != nullptr};
}

void warn_about_factor(const StatedStretch& stated, Findings& findings) {
  const auto& [original, context, factor, attention, type, has_lists] = stated;
  const std::string shown = message(factor.key, " ", factor.or_else(0));
  if (stated.is("none"))
    return findings.warn(shown, " has no effect, because ", type.key, " is none");
  if (has_lists)
    return findings.warn(shown,
                         " divides the frequencies once more, beside the numbers of tensors ",
                         "rope_factors_long.weight and rope_factors_short.weight");
  if (!stated.is("yarn")) {
    if (!original.value) return;
    return findings.warn(original.key, " ", *original.value, " has no effect: ", type.key, " is ",
                         type.value ? "" : "absent, and so ", type.or_else("linear"));
  }
  if (!original.value) {
    if (context.value)
      findings.warn(original.key, " is absent; ", context.key, ", ", *context.value, ", is used");
    return;
  }
  if (*original.value < 1 || !context.value || *context.value == *original.value) return;
  if (static_cast<float>(stated.ratio()) == static_cast<float>(*factor.value)) return;
  findings.warn(shown, " is not ", context.key, " / ", original.key, " = ", stated.ratio(),
                "; the factor is used");
}

void warn_about_lists(const StatedStretch& stated, Findings& findings) {
  const auto& [original, context, factor, attention, type, has_lists] = stated;
  if (!original.value)
    return findings.warn("tensor rope_factors_long.weight is never used, because ", original.key,
                         " is absent: llama.cpp takes ", context.key, " for it");
  if (attention.value || !stated.is_longer() || *original.value < 2) return;
  const double usual =
      std::sqrt(1 + std::log(stated.ratio()) / std::log(static_cast<double>(*original.value)));
  findings.warn(attention.key,
                " is absent, and cos and sin are multiplied by 1; LongRoPE's factor ", "of ",
                original.key, " and ", context.key, " is ", usual);
}

void warn_about_missing(const GgufModelFile& file, const StatedStretch& stated) {
  Findings& findings = file.keys.findings();
  const auto& [original, context, factor, attention, type, has_lists] = stated;
  // Files with only a vocabulary have no tensors. The lists of longrope are checked elsewhere.
  if (stated.is("longrope") || (file.metadata.tensors == 0 && !stated.is("yarn"))) return;
  constexpr std::string_view lists =
      "tensors rope_factors_long.weight and rope_factors_short.weight";
  if (stated.is_longer())
    findings.warn(original.key, " ", *original.value, " is below ", context.key, " ",
                  *context.value,
                  ", and nothing stretches the one to the other: the file has neither ", factor.key,
                  " above 1 nor ", lists);
  if (attention.or_else(1) != 1 && !stated.is("yarn"))
    findings.warn(attention.key, " ", *attention.value,
                  " multiplies cos and sin, and no frequency is ", "scaled: the file has neither ",
                  factor.key, " nor ", lists);
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

void warn_about_yarn(const GgufModelFile& file) {
  const GgufKeys& keys = file.keys;
  Findings& findings = keys.findings();
  struct Usual {
    std::string_view name;
    double value;
  };
  constexpr std::array unread = {
      Usual{"rope.scaling.yarn_beta_fast", 32}, Usual{"rope.scaling.yarn_beta_slow", 1},
      Usual{"rope.scaling.yarn_ext_factor", 1}, Usual{"rope.scaling.yarn_attn_factor", 1}};
  const bool is_yarn =
      keys.text("rope.scaling.type").or_else("") == "yarn" && file.flags == LlamaCppFlags{};
  for (const Usual& each : unread) {
    if (!is_yarn || findings.asked->contains(keys.full(each.name))) continue;
    const auto stated = keys.number(each.name);
    if (stated.or_else(each.value) == each.value) continue;
    findings.warn(stated.key, " ", *stated.value, " is not read: llama.cpp computes with ",
                  each.value, " for architecture ", file.row.name);
  }
  const bool is_longrope = keys.text("rope.scaling.type").or_else("") == "longrope";
  if (is_longrope && find_tensor(file, "rope_factors_long.weight") == nullptr &&
      find_tensor(file, "rope_freqs.weight") == nullptr) {
    findings.warn("tensors rope_factors_long.weight and rope_factors_short.weight are not in this ",
                  "file, although ", keys.full("rope.scaling.type"),
                  " is longrope: frequencies are shown without them");
  }
  if (file.row.factors_on_full_only && find_tensor(file, "rope_freqs.weight") == nullptr) {
    findings.warn("tensor rope_freqs.weight is not in this file, and says which pairs of layers ",
                  "with full attention turn: they are shown as if all did");
  }
}

void warn_about_contradictions(const GgufModelFile& file) {
  const StatedStretch stated = read_stretch(file);
  Findings& findings = file.keys.findings();
  if (findings.failed()) return;
  if (stated.is_stretched()) warn_about_factor(stated, findings);
  if (find_tensor(file, "rope_freqs.weight") != nullptr)
    return;  // it replaces the lists, or belongs to llama3
  if (stated.has_lists) return warn_about_lists(stated, findings);
  if (!stated.is_stretched()) warn_about_missing(file, stated);
}

void warn_about_flags(const GgufModelFile& file) {
  const LlamaCppFlags& flags = file.flags;
  Findings& findings = file.keys.findings();
  const std::string type =
      flags.scaling.value_or(file.keys.text("rope.scaling.type").or_else("linear"));
  const bool is_yarn = flags.ext_factor.value_or(type == "yarn" ? 1 : 0) != 0;
  if (type == "none" && flags.factor)
    findings.warn(flag_of(flags, "factor"), " has no effect, because the scaling is none");
  if (is_yarn && flags.attn_factor)
    findings.warn(
        "--yarn-attn-factor has no effect: llama.cpp computes YaRN's factor on cos and sin");
  for (const std::string_view parameter :
       {"original_max_position_embeddings", "beta_slow", "beta_fast"}) {
    const std::string_view flag = flag_of(flags, parameter);
    if (!is_yarn && !flag.empty())
      findings.warn(flag, " has no effect, because the scaling is ", type, ", not yarn");
  }
}

void warn_about_unread(const GgufModelFile& file) {
  constexpr std::size_t most_named = 16;
  Findings& findings = file.keys.findings();
  const std::vector<std::string_view> known(findings.asked->begin(), findings.asked->end());
  std::size_t unread = 0;
  for (const GgufKey& key : file.metadata.keys) {
    const bool is_about_positions = key.name.find(".rope.") != std::string::npos ||
                                    key.name.find(".attention.") != std::string::npos;
    if (!is_about_positions || findings.asked->contains(key.name)) continue;
    if (is_read_for_others(key.name, file.keys) || ++unread > most_named) continue;
    findings.warn(printable(key.name), " is not read: llama.cpp has no such key for architecture ",
                  file.row.name, "; got ", value_text(key), did_you_mean(key.name, known));
  }
  if (unread > most_named)
    findings.warn(unread - most_named, " more keys about rope and attention are not read");
}

}  // namespace rotary
