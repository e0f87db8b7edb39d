// SPDX-License-Identifier: Apache-2.0
#include "rotary/attention.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/arrays.hpp"
#include "module/bias.hpp"
#include "module/errors.hpp"
#include "module/module.hpp"

namespace rotary::python {
namespace {

// The options of a call, and the arrays that they point into.
struct AttendCall {
  AttendOptions options = {};
  Array additive = {};
  Array boolean = {};
  std::vector<AttentionSequence> sequences = {};
  std::optional<BlockTable> table = {};

  void set(const std::string& key, nb::handle value);
  void set_mask(nb::handle value);
  void set_sequences(const nb::list& given);
  void set_table(nb::handle value);
};

// Each item: (batch, first_query, queries, first_key, keys, query_position, key_position).
void AttendCall::set_sequences(const nb::list& given) {
  for (const nb::handle each : given) {
    const auto n = nb::cast<std::vector<std::int64_t>>(each);
    sequences.push_back({.batch = n[0],
                         .first_query = n[1],
                         .queries = n[2],
                         .first_key = n[3],
                         .keys = n[4],
                         .query_position = n[5],
                         .key_position = n[6]});
  }
  options.sequences = sequences;
}

// Takes a contiguous int32 array [sequences, blocks]; the caller keeps it alive.
void AttendCall::set_table(nb::handle value) {
  const Array array = array_to_read(value, "block_table");
  table = BlockTable{.blocks = static_cast<const std::int32_t*>(array.data),
                     .sequences = array.extents[0],
                     .blocks_of_sequence = array.extents[1],
                     .stride = array.extents[1]};
}

void AttendCall::set_mask(nb::handle value) {
  const Array array = array_to_read(value, "mask");
  if (array.type.code != static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bool)) {
    additive = array;
    options.additive_mask = scores_of(additive, "bhqk", "mask");
    return;
  }
  boolean = array;
  const auto& e = boolean.extents;
  const auto& s = boolean.strides;
  options.boolean_mask = BooleanMaskView{.data = boolean.data,
                                         .extents = {e[0], e[1], e[2], e[3]},
                                         .strides = {s[0], s[1], s[2], s[3]}};
}

void AttendCall::set(const std::string& key, nb::handle value) {
  AttentionMask& mask = options.mask;
  AttentionEncoding& encoding = options.encoding;
  if (key == "scale") options.scale = nb::cast<double>(value);
  if (key == "softcap") options.softcap = nb::cast<double>(value);
  if (key == "causal") {
    mask.order = nb::cast<bool>(value) ? AttentionOrder::causal : AttentionOrder::bidirectional;
  }
  if (key == "left") mask.left = nb::cast<std::int64_t>(value);
  if (key == "right") mask.right = nb::cast<std::int64_t>(value);
  if (key == "sinks") mask.sinks = nb::cast<std::int64_t>(value);
  if (key == "mask") set_mask(value);
  if (key == "sequences") set_sequences(nb::borrow<nb::list>(value));
  if (key == "block_table") set_table(value);
  if (key == "q_rotations") encoding.q_rotations = nb::cast<const Rotations*>(value);
  if (key == "k_rotations") encoding.k_rotations = nb::cast<const Rotations*>(value);
  if (key == "cached_keys") encoding.cached_keys = nb::cast<const Frequencies*>(value);
  if (key == "bias") encoding.bias = &nb::cast<const OwnedBias&>(value).value;
}

// log_sum_exp: an array [batch, heads, queries, 1], or None.
void attend_heads(const nb::tuple& arrays, std::string_view layout, const nb::dict& given,
                  const nb::object& log_sum_exp) {
  const Array out = array_to_write(arrays[0], "out");
  const Array q = array_to_read(arrays[1], "q");
  AttendCall call;
  for (const auto [key, value] : given) call.set(nb::cast<std::string>(key), value);
  if (!log_sum_exp.is_none()) {
    call.options.log_sum_exp =
        scores_of(array_to_write(log_sum_exp, "log_sum_exp"), "bhqk", "log_sum_exp");
  }
  const HeadsView out_view = heads_of(out, layout, "out");
  const HeadsView q_view = heads_of(q, layout, "q");
  if (is_quantized(arrays[2])) {
    const QuantizedArray k = quantized_to_read(arrays[2], "k");
    const QuantizedArray v = quantized_to_read(arrays[3], "v");
    const QuantizedKeys keys{
        .k = heads_of(k, layout, "k"), .v = heads_of(v, layout, "v"), .table = call.table};
    return check(unlocked([&] { return attend(out_view, q_view, keys, call.options); }));
  }
  const Array k = array_to_read(arrays[2], "k");
  const Array v = array_to_read(arrays[3], "v");
  const HeadsView k_view = heads_of(k, layout, "k");
  const HeadsView v_view = heads_of(v, layout, "v");
  check(unlocked([&] {
    if (!call.table) return attend(out_view, q_view, k_view, v_view, call.options);
    const PagedKeys pages{.k = k_view, .v = v_view, .table = *call.table};
    return attend(out_view, q_view, pages, call.options);
  }));
}

}  // namespace

void bind_attention(nb::module_& module) {
  module.def("attend", attend_heads, nb::arg("arrays"), nb::arg("layout"), nb::arg("options"),
             nb::arg("log_sum_exp").none());
}

}  // namespace rotary::python
