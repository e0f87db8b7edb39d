// SPDX-License-Identifier: Apache-2.0
// The model cards in the tool (models/): the parts of public configs that affect positions. Each
// card names its source.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::cli {

struct ModelCard {
  std::string_view name;        // "llama-3.1-8b"
  std::string_view model_type;  // of the config; empty for params.json files
  std::string_view source;      // repository, commit, path
  std::string_view json;        // the card's file
};

// Sorted by name.
[[nodiscard]] std::span<const ModelCard> model_cards() noexcept;

// The card with this name in any case, else nullptr.
[[nodiscard]] const ModelCard* find_model_card(std::string_view name) noexcept;

// The card for a model's id on the Hub ("Qwen/Qwen2.5-7B" is qwen2.5-7b), else nullptr.
[[nodiscard]] const ModelCard* find_card_of_id(std::string_view id);

// The card names nearest to the text: at most 5, nearest first. Ignores case, separators and .json
// at the end. The name may be a part of the text, as in meta-llama/Llama-3.1-8B-Instruct.
[[nodiscard]] std::vector<std::string_view> near_card_names(std::string_view text);

// "; the nearest names: llama-3-8b, llama-3.1-8b", or where to find all names.
[[nodiscard]] std::string near_card_names_text(std::string_view text);

// Fails because the text is neither a file nor a card. The message ends with `nor`.
[[noreturn]] void fail_unknown_card(std::string_view text, std::string_view nor);

}  // namespace rotary::cli
