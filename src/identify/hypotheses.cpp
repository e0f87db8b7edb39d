// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>

#include "identify/edits.hpp"
#include "model/difference/field_differences.hpp"

namespace rotary::identification {
namespace {

constexpr std::array hypothesis_rows = {
    HypothesisRow{{"pairing", CauseGroup::structure,
                   "Other features turn together than those of the config's pairing.",
                   "Use the pairing that the weights were made for, or reorder the rows of the q "
                   "and k projections: rotary permute."},
                  {Needs::heads, list_pairings}},
    HypothesisRow{{"window", CauseGroup::structure, "Other features of the head turn.",
                   "Look at partial_rotary_factor, rotary_dim, and from which end the rotated "
                   "features are counted."},
                  {Needs::heads, list_windows}},
    HypothesisRow{{"blocks", CauseGroup::structure,
                   "Features pair within parts of the head (or no longer do).",
                   "Vision towers with two axes may rotate each half of the head on its own."},
                  {Needs::heads, list_blocks}},
    HypothesisRow{{"table_order", CauseGroup::structure,
                   "The table of cos and sin was made for the other pairing: the two features of a "
                   "pair get different angles.",
                   "Repeat each number of the table twice in a row for neighbours, or the whole "
                   "row twice for half a head apart."},
                  {Needs::heads, list_table_orders}},
    HypothesisRow{{"not_rotated", CauseGroup::structure, "Nothing was rotated.",
                   "Look for a layer taken for one without positions (NoPE), a rotation that was "
                   "skipped, or a result that was thrown away."},
                  {Needs::heads, list_unrotated}},
    HypothesisRow{{"vector_factor", CauseGroup::attention_factor,
                   "All features are multiplied by one number, which is no mistake by itself.",
                   "A softmax scale that is folded into q must not be applied to scores again."},
                  {Needs::heads, list_vector_factors}},
    HypothesisRow{{"attention_factor", CauseGroup::attention_factor,
                   "cos and sin are multiplied by another factor.",
                   "Look at attention_factor, mscale and mscale_all_dim, and whether the factor is "
                   "applied once."},
                  {Needs::nothing, list_attention_factors}},
    HypothesisRow{{"sense", CauseGroup::direction, "Angles have the other sign.",
                   "Look at the sign of sin, or at the order of the two features in rotate_half."},
                  {Needs::nothing, list_senses}},
    HypothesisRow{
        {"cos_sin_swapped", CauseGroup::direction, "cos and sin are in each other's place.",
         "Some functions take (sin, cos): GPT-J's, DINOv3's."},
        {Needs::nothing, list_swaps}},
    HypothesisRow{{"base", CauseGroup::frequencies, "The base (rope_theta) is another.",
                   "Look at where rope_theta is read: a config of transformers 5 keeps it in "
                   "rope_parameters, and a missing one becomes 10000."},
                  {Needs::nothing, list_bases}},
    HypothesisRow{
        {"scaling", CauseGroup::frequencies, "The scaling rule, or its factor, is another.",
         "Look at where rope_scaling or rope_parameters is read: the rule's name is "
         "rope_type, in older configs type."},
        {Needs::nothing, list_rules}},
    HypothesisRow{{"original_context", CauseGroup::frequencies,
                   "The scaling rule takes another length for the original context.",
                   "Look at original_max_position_embeddings, which is not "
                   "max_position_embeddings."},
                  {Needs::nothing, list_original_contexts}},
    HypothesisRow{{"ramp", CauseGroup::frequencies, "YaRN's ramp ends elsewhere.",
                   "Look at truncate: with false the ends of the ramp are not rounded."},
                  {Needs::nothing, list_ramps}},
    HypothesisRow{{"blend", CauseGroup::frequencies,
                   "The rule's ramp or smooth factor x is taken the other way round.",
                   "Fast pairs keep their frequency, slow ones are divided by the factor."},
                  {Needs::nothing, list_blends}},
    HypothesisRow{{"other_layers", CauseGroup::frequencies,
                   "This is the embedding of other layers of the model.",
                   "Look at how layers choose between the two: layer_types, sliding windows."},
                  {Needs::nothing, list_other_layers}},
    HypothesisRow{{"engine_rule", CauseGroup::frequencies,
                   "An engine reads the config differently from the model's authors.",
                   "rotary diff CONFIG --between ENGINE,ENGINE shows what follows."},
                  {Needs::nothing, list_engine_rules}},
    HypothesisRow{
        {"exponents", CauseGroup::frequencies, "The exponents of the frequencies are not 2i/d.",
         "Look at arange: 2i over rotary_dim, from 0; not i, not head_dim, not "
         "hidden_size."},
        {Needs::nothing, list_exponents}},
    HypothesisRow{{"reversed", CauseGroup::frequencies, "The frequencies are in reverse order.",
                   "The first pair turns fastest."},
                  {Needs::nothing, list_reversals}},
    HypothesisRow{{"frequency_factor", CauseGroup::frequencies,
                   "All frequencies are multiplied by one number.",
                   "Look for turns in place of radians (2 pi), and for a linear factor."}},
    HypothesisRow{{"position_offset", CauseGroup::positions, "Positions are shifted.",
                   "Look at the first position, at left padding, at the cache's length before or "
                   "after it grows, at chunks that begin at 0 again."},
                  {Needs::rows, list_offsets}},
    HypothesisRow{{"position_factor", CauseGroup::positions,
                   "Positions, or all frequencies, are multiplied by one number.",
                   "Look for a scaling factor that is applied to positions, too, and for turns in "
                   "place of radians (2 pi)."},
                  {Needs::rows, list_stretches}},
    HypothesisRow{{"rotated_twice", CauseGroup::positions, "The rotation was done twice.",
                   "Look for a fused kernel that rotates what was rotated before, or a cache that "
                   "holds rotated keys."},
                  {Needs::rows, list_second_rotations}},
    HypothesisRow{
        {"shift_frequencies", CauseGroup::positions,
         "Keys of a cache were moved by other frequencies than they were rotated by.",
         "Shift the keys of each layer by that layer's own embedding, with its scaling."}},
    HypothesisRow{
        {"counted", CauseGroup::positions, "The angle does not follow the token's position.",
         "Look at the axis along which cos and sin are broadcast, and at position_ids."},
        {Needs::rows, list_counted}},
    HypothesisRow{{"left_padding", CauseGroup::positions, "Padding is counted as tokens.",
                   "Positions of a left-padded row are cumsum(attention_mask) - 1: pass them as "
                   "position_ids."}},
    HypothesisRow{{"packing", CauseGroup::positions,
                   "Documents of a packed row go on counting where they should begin at 0.",
                   "Reset position_ids at each document, or pass cu_seqlens."}},
    HypothesisRow{{"offset_twice", CauseGroup::positions, "The offset of a chunk is counted twice.",
                   "Positions of a chunk already begin at the cache's length: add it once."}},
    HypothesisRow{{"restarts", CauseGroup::positions, "Positions begin again within a sequence.",
                   "Add the number of tokens before a chunk to its positions."}},
    HypothesisRow{{"rank_positions", CauseGroup::positions,
                   "Tokens are counted within a rank or piece, not within the sequence.",
                   "With context parallelism each rank needs the positions of its own tokens, "
                   "zigzag or not."}},
    HypothesisRow{{"table_clamped", CauseGroup::positions,
                   "Positions beyond the table's last row take that row.",
                   "Make the table of cos and sin as long as the context."}},
    HypothesisRow{{"table_wrapped", CauseGroup::positions,
                   "Positions beyond the table's last row begin again at its first.",
                   "Make the table of cos and sin as long as the context."}},
    HypothesisRow{{"first_decoded", CauseGroup::positions, "The first decoded token stands at 0.",
                   "The position of a decoded token is the cache's length, and with images that "
                   "and the delta of the prompt."}},
    HypothesisRow{{"row_offsets", CauseGroup::positions,
                   "Rows of the batch are shifted by different numbers.",
                   "Look at left padding, at caches merged of several sequences, and at a delta "
                   "of another request."}},
    HypothesisRow{{"delta", CauseGroup::positions,
                   "From one token on, all axes are shifted by the same number.",
                   "Text behind an image goes on from the largest position so far: look at the "
                   "delta of the prompt (mrope_position_deltas)."}},
    HypothesisRow{{"text_positions", CauseGroup::positions,
                   "All axes count tokens, as if the prompt were text.",
                   "Make the position ids of images: rotary positions."}},
    HypothesisRow{{"axis_pinned", CauseGroup::positions, "One axis stands still.",
                   "Look at the ids of this axis, and at their order (time, row, column)."}},
    HypothesisRow{{"axis_factor", CauseGroup::positions, "One axis counts in other steps.",
                   "For time look at seconds per group (second_per_grid_ts) and "
                   "tokens_per_second."}},
    HypothesisRow{{"token_positions", CauseGroup::positions,
                   "Tokens stand at other positions than those given.",
                   "Compare the positions of these tokens with the ids that the program made."}},
    HypothesisRow{{"axis_arrangement", CauseGroup::axes, "Pairs are dealt to axes in another way.",
                   "Look at mrope_section and mrope_interleaved."},
                  {Needs::rows, list_axis_arrangements}},
    HypothesisRow{{"axis_order", CauseGroup::axes, "Pairs turn by the coordinate of another axis.",
                   "Look at the order of the coordinates: time, row, column."},
                  {Needs::rows, list_coordinates}},
    HypothesisRow{{"rounded_positions", CauseGroup::precision,
                   "Positions are rounded to a 16-bit format, which holds no integers beyond 256 "
                   "(bf16) or 2048 (f16).",
                   "Make positions as integers or float32, whatever the dtype of q."},
                  {Needs::rows, list_rounded_positions}},
    HypothesisRow{{"rounded_frequencies", CauseGroup::precision,
                   "Frequencies are rounded to a 16-bit format.",
                   "Keep inv_freq in float32: model.half() and to(bfloat16) convert buffers, too."},
                  {Needs::nothing, list_rounded_frequencies}},
    HypothesisRow{{"rounded_angles", CauseGroup::precision,
                   "Positions, frequencies and angles are rounded to a 16-bit format.",
                   "Compute the angle in float32, and cos and sin of it, then convert."},
                  {Needs::rows, list_rounded_angles}},
    HypothesisRow{
        {"roundings", CauseGroup::precision,
         "Each number was rounded more than once, or to fewer bits; nothing else is wrong.",
         "Keys that are shifted n times in 16 bits carry n + 1 roundings: shift them once, "
         "from where they were rotated. A cache of 8 bits looks the same."}},
};

bool shows(Needs needs, Observed observed) {
  if (observed == Observed::heads) return true;
  return needs == Needs::nothing || (needs == Needs::rows && observed == Observed::rows);
}

}  // namespace

const Hypothesis& hypothesis_named(std::string_view name) noexcept {
  const auto all = identify_hypotheses();
  const auto found = std::ranges::find(all, name, &Hypothesis::name);
  return found == all.end() ? all.front() : *found;
}

std::vector<FieldDifference> differences(const RotarySpec& one, const RotarySpec& other) {
  const auto embedding = [](const RotarySpec& spec) {
    return ModelRotary{.layer_type = {}, .spec = spec, .trained_context_tokens = {}};
  };
  return field_differences(embedding(one), embedding(other));
}

std::vector<Edit> edits_of(const Start& start) {
  std::vector<Edit> edits;
  for (std::size_t i = 0; i < hypothesis_rows.size(); ++i) {
    const Trial& trial = hypothesis_rows[i].trial;
    if (trial.values == nullptr || !shows(trial.needs, start.sample.observed)) continue;
    EditList list(edits, identify_hypotheses()[i]);
    trial.values(start, list);
  }
  return edits;
}

}  // namespace rotary::identification

namespace rotary {

std::span<const Hypothesis> identify_hypotheses() noexcept {
  static constexpr auto facts = [] {
    std::array<Hypothesis, identification::hypothesis_rows.size()> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = identification::hypothesis_rows[i].facts;
    return all;
  }();
  return facts;
}

}  // namespace rotary
