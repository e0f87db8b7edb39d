// SPDX-License-Identifier: Apache-2.0
#include "cli/difference/dump_comparison.hpp"

#include <algorithm>
#include <utility>

#include "apps/failure.hpp"
#include "cli/model_input.hpp"

namespace rotary::cli {
namespace {

const ModelRotary* chosen_rotary(const DumpSide& side) {
  if (!side.model) return nullptr;
  const std::size_t index = choose_rotary(*side.model, {.layer_type = side.layer_type});
  return &side.model->rotary[index];
}

bool has_rows(const DumpSide& side) { return side.dump && side.dump->inv_freq.empty(); }

// A model with only the side's embedding, because the other side has no layers.
ModelSpec model_alone(const DumpSide& side, const ModelRotary* like) {
  if (side.dump) return model_of(*side.dump, like);
  ModelSpec model;
  model.rotary.push_back(*chosen_rotary(side));
  model.rotary.front().layer_type.reset();
  return model;
}

// The rows of the side's model or frequencies, for as many tokens as `rows` has.
RowsTable rows_like(const RowsTable& rows, const DumpSide& side,
                    std::optional<std::int64_t> context_tokens) {
  const ModelSpec model = model_alone(side, nullptr);
  const RotarySpec& spec = model.rotary.front().spec;
  require(context_tokens || !depends_on_context(spec.scaling),
          "--context is required: the frequencies of rope_type {} depend on how many tokens the "
          "context has",
          rope_type(spec.scaling));
  const Frequencies frequencies = value_or_fail(make_frequencies(spec, context_tokens));
  require(std::cmp_equal(frequencies.turns.size(), rows.pairs),
          "both sides must have as many pairs, got {} in the table and {}", rows.pairs,
          frequencies.turns.size());
  return rows_of(frequencies, rows.tokens);
}

}  // namespace

ModelSpec model_of(const Dump& dump, const ModelRotary* like) {
  const auto pairs = static_cast<std::int64_t>(dump.inv_freq.size());
  ModelRotary rotary{.layer_type = {},
                     .spec = {.head_dim = 2 * pairs, .base = 10000.0, .pairing = Pairing::half},
                     .trained_context_tokens = {}};
  if (like != nullptr) {
    const HeadWindow window = value_or_fail(head_window(like->spec));
    require(window.pairs() == pairs, "both sides must have as many pairs, got {} and {}",
            window.pairs(), pairs);
    rotary = *like;
    rotary.layer_type.reset();
    rotary.spec.axes.reset();
  }
  rotary.spec.scaling =
      ExplicitScaling{.inv_freq = dump.inv_freq, .attention_factor = dump.attention_factor};
  ModelSpec model;
  model.rotary.push_back(std::move(rotary));
  return model;
}

DumpSide read_side(const std::string& path_or_card, ResolveOptions& options,
                   const std::optional<std::string>& layer_type) {
  DumpSide side{.layer_type = layer_type};
  if (names_dump(path_or_card)) {
    side.dump = read_dump(path_or_card);
    return side;
  }
  const ConfigFile config = read_config(path_or_card);
  ResolveOptions own = options;
  std::erase_if(own.overrides, config.gguf ? is_merged : is_flag);
  std::erase_if(options.overrides, config.gguf ? is_flag : is_merged);
  side.model = model_of(config, path_or_card, own);
  return side;
}

ModelDifference compare_dumps(const DumpSide& one, const DumpSide& other,
                              std::optional<std::int64_t> context_tokens) {
  if (!has_rows(one) && !has_rows(other)) {
    return value_or_fail(compare_models(model_alone(one, chosen_rotary(other)),
                                        model_alone(other, chosen_rotary(one)),
                                        {.context_tokens = context_tokens}));
  }
  std::optional<RowsTable> made;
  if (!has_rows(one)) made = rows_like(other.dump->rows, one, context_tokens);
  if (!has_rows(other)) made = rows_like(one.dump->rows, other, context_tokens);
  const RowsTable& rows = has_rows(one) ? one.dump->rows : *made;
  const RowsTable& other_rows = has_rows(other) ? other.dump->rows : *made;
  ModelDifference found;
  found.context_tokens = std::min<std::int64_t>(rows.tokens, other_rows.tokens);
  found.rotary.emplace_back().rows = compare_tables(rows, other_rows);
  return found;
}

}  // namespace rotary::cli
