// SPDX-License-Identifier: Apache-2.0
#include "rotary/rotations.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "module/arrays.hpp"
#include "module/errors.hpp"
#include "module/facts.hpp"
#include "module/module.hpp"
#include "rotary/rotate.hpp"

namespace rotary::python {
namespace {

constexpr std::array all_roles = {Role::query, Role::key};
constexpr std::array all_dtypes = {DType::f32, DType::bf16, DType::f16, DType::f64};

// For fewer elements, taking the interpreter's lock again costs more than the work.
constexpr std::int64_t elements_that_pay = std::int64_t{1} << 15;

std::int64_t elements_of(const HeadsView& view) {
  const Extents& e = view.extents;
  return e.batch * e.tokens * e.heads * e.features;
}

template <class Work>
void run(std::int64_t elements, Work work) {
  check(elements < elements_that_pay ? work() : unlocked(work));
}

RotationsOptions options_of(bool double_rows, const std::optional<std::string>& role,
                            const std::optional<std::string>& tensors) {
  RotationsOptions options;
  if (double_rows) options.rows = RowDType::f64;
  if (role) options.role = named(all_roles, *role, "role");
  if (tensors) options.tensors = named(all_dtypes, *tensors, "dtype");
  return options;
}

Rotations make(const Frequencies& frequencies, nb::handle positions, bool double_rows,
               const std::optional<std::string>& role, const std::optional<std::string>& tensors) {
  const TokenNumbers at(positions, "positions");
  return take(make_rotations(frequencies, at.positions, options_of(double_rows, role, tensors)));
}

// Makes rotations from cos and sin [batch, tokens, pairs] of another program.
Rotations make_of_rows(const HeadWindow& window, nb::handle cos, nb::handle sin, double factor) {
  const Array cosines = array_to_read(cos, "cos");
  const Array sines = array_to_read(sin, "sin");
  CosSinView rows = rows_of(cosines, sines);
  if (cosines.extents[2] != window.pairs()) {
    raise("cos and sin must have " + std::to_string(window.pairs()) + " pairs, got " +
          std::to_string(cosines.extents[2]));
  }
  rows.attention_factor = factor;
  RotationsOptions options;
  if (rows.dtype == DType::f64) options.rows = RowDType::f64;
  return take(make_rotations(window, rows, options));
}

template <class Real>
void copy_rows(const Rotations& rotations, void* cos, void* sin) {
  auto* to_cos = static_cast<Real*>(cos);
  auto* to_sin = static_cast<Real*>(sin);
  for (std::int64_t b = 0; b < rotations.batch(); ++b) {
    for (std::int64_t t = 0; t < rotations.tokens(); ++t) {
      to_cos = std::ranges::copy(rotations.cos<Real>(b, t), to_cos).out;
      to_sin = std::ranges::copy(rotations.sin<Real>(b, t), to_sin).out;
    }
  }
}

// Copies the rows to contiguous arrays [batch, tokens, pairs] of their dtype.
void fill_rows(const Rotations& rotations, nb::handle cos, nb::handle sin) {
  const std::int64_t size = rotations.batch() * rotations.tokens() * rotations.window().pairs();
  const bool is_double = rotations.row_dtype() == RowDType::f64;
  const DType dtype = is_double ? DType::f64 : DType::f32;
  void* const to_cos = contiguous(array_to_write(cos, "cos"), dtype, size, "cos");
  void* const to_sin = contiguous(array_to_write(sin, "sin"), dtype, size, "sin");
  is_double ? copy_rows<double>(rotations, to_cos, to_sin)
            : copy_rows<float>(rotations, to_cos, to_sin);
}

struct ArrayNames {
  const char* out;
  const char* source;
};

// Returns the views to write and to read: the same view if in place. `read` keeps the source alive.
Transfer transfer_of(nb::handle out, nb::handle source, std::string_view layout,
                     const ArrayNames& names, Array& read) {
  if (source.is(out)) {
    const HeadsView both = heads_of(array_to_write(out, names.source), layout, names.source);
    return {both, both};
  }
  read = array_to_read(source, names.source);
  const ConstHeadsView src = heads_of(read, layout, names.source);
  return {heads_of(array_to_write(out, names.out), layout, names.out), src};
}

void rotate_one(const Rotations& rotations, nb::handle out, nb::handle x, std::string_view layout,
                std::int32_t direction) {
  const RotateOptions options{.direction = static_cast<Direction>(direction)};
  Array read;
  const Transfer of = transfer_of(out, x, layout, {"out", "q"}, read);
  run(elements_of(of.dst), [&] { return rotate(of.dst, of.src, rotations, options); });
}

// Rotates q and k into q_out and k_out; each may be in place.
void rotate_both(const Rotations& rotations, const nb::tuple& outs, const nb::tuple& sources,
                 std::string_view layout, std::int32_t direction) {
  const RotateOptions options{.direction = static_cast<Direction>(direction)};
  Array q_read, k_read;
  const Transfer q = transfer_of(outs[0], sources[0], layout, {"q", "q"}, q_read);
  const Transfer k = transfer_of(outs[1], sources[1], layout, {"k", "k"}, k_read);
  run(elements_of(q.dst) + elements_of(k.dst),
      [&] { return rotate_qk_into(q, k, rotations, options); });
}

nb::dict facts_of(const Rotations& rotations) {
  nb::dict facts = window_facts(rotations.window());
  facts["batch"] = rotations.batch();
  facts["tokens"] = rotations.tokens();
  facts["pairs"] = rotations.window().pairs();
  facts["attention_factor"] = rotations.attention_factor();
  facts["rows"] = rotations.row_dtype() == RowDType::f64 ? "f64" : "f32";
  facts["numerics"] = to_string(rotations.numerics());
  facts["rounding"] = to_string(rotations.rounding());
  facts["role"] = name_or_none(rotations.role());
  facts["dtype"] = name_or_none(rotations.tensors());
  return facts;
}

HeadWindow window_of(std::int64_t head_dim, std::int64_t rotary_dim, std::int64_t first_feature,
                     std::string_view pairing, std::int64_t blocks) {
  return {.head_dim = head_dim,
          .rotary_dim = rotary_dim,
          .first_feature = first_feature,
          .pairing = named(all_pairings, pairing, "pairing"),
          .blocks = blocks};
}

}  // namespace

void bind_rotations(nb::module_& module) {
  nb::class_<HeadWindow>(module, "HeadWindow");
  module.def("window", window_of);
  nb::class_<Rotations>(module, "Rotations")
      .def_static("make", make)
      .def_static("of_rows", make_of_rows)
      .def("facts", facts_of)
      .def("fill_rows", fill_rows)
      .def("rotate", rotate_one)
      .def("rotate_both", rotate_both);
}

}  // namespace rotary::python
