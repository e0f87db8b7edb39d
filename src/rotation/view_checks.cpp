// SPDX-License-Identifier: Apache-2.0
#include "rotation/view_checks.hpp"

#include <string>

#include "base/message.hpp"
#include "rotation/overlap.hpp"

namespace rotary {

std::string describe(const Extents& n) {
  return message("batch ", n.batch, ", tokens ", n.tokens, ", heads ", n.heads, ", features ",
                 n.features);
}

std::string describe(const Strides& s) {
  return message("batch ", s.batch, ", token ", s.token, ", head ", s.head, ", feature ",
                 s.feature);
}

namespace {

Status check_dtype(std::string_view name, DType dtype) {
  if (size_in_bytes(dtype) != 0) return {};
  return invalid_argument(name, ": dtype must be f32, bf16, f16 or f64, got value ",
                          static_cast<std::int32_t>(dtype));
}

// f64 elements turn by f64 rows, all others by f32 rows; some rows are for one dtype alone.
Status check_dtype(std::string_view name, DType dtype, const Rotations& rotations) {
  if (auto status = check_dtype(name, dtype); !status) return status;
  const auto made_for = rotations.tensors();
  if (made_for && *made_for != dtype) {
    return invalid_argument(name, ": dtype must be ", to_string(*made_for),
                            ", which the rotations were made for (tensors in RotationsOptions); ",
                            "got ", to_string(dtype));
  }
  const bool wants_f64 = dtype == DType::f64;
  if (wants_f64 == (rotations.row_dtype() == RowDType::f64)) return {};
  const std::string_view wanted = wants_f64 ? "f64" : "f32";
  const std::string_view got = wants_f64 ? "f32" : "f64";
  return invalid_argument(name, ": ", to_string(dtype), " elements need rotations of ", wanted,
                          " rows (RowDType::", wanted, " in RotationsOptions), got ", got, " rows");
}

Status check_extents(std::string_view name, const Extents& n) {
  if (n.batch >= 0 && n.tokens >= 0 && n.heads >= 0 && n.features >= 0) return {};
  return invalid_argument(name, ": extents must be >= 0, got ", describe(n));
}

}  // namespace

Status check_extents(std::string_view name, const Extents& n, const Rotations& rotations) {
  if (auto status = check_extents(name, n); !status) return status;
  if (n.features != rotations.window().head_dim) {
    return invalid_argument(name, ": features must be the head_dim of the rotations, ",
                            rotations.window().head_dim, "; got ", n.features);
  }
  if (n.tokens != rotations.tokens()) {
    return invalid_argument(name, ": tokens must be those of the rotations, ", rotations.tokens(),
                            "; got ", n.tokens);
  }
  if (rotations.batch() != 1 && n.batch != rotations.batch()) {
    return invalid_argument(name, ": batch must be that of the rotations, ", rotations.batch(),
                            "; got ", n.batch);
  }
  return {};
}

namespace {

Status check_memory(std::string_view name, const ConstHeadsView& view) {
  const auto range = address_range(view);
  if (!range) {
    return invalid_argument(name, ": the view must span less than 2^62 bytes, got extents ",
                            describe(view.extents), " with strides ", describe(view.strides));
  }
  if (range->begin == range->end) return {};
  if (view.data == nullptr)
    return invalid_argument(name, ": data must not be null, got extents ", describe(view.extents));
  const auto misaligned = reinterpret_cast<std::uintptr_t>(view.data) %
                          static_cast<std::uintptr_t>(size_in_bytes(view.dtype));
  if (misaligned != 0) {
    return invalid_argument(name, ": data must be aligned to its element size, ",
                            size_in_bytes(view.dtype), " bytes; got an address ", misaligned,
                            " bytes off");
  }
  return {};
}

}  // namespace

Status check_view(std::string_view name, const ConstHeadsView& view) {
  if (auto status = check_dtype(name, view.dtype); !status) return status;
  if (auto status = check_extents(name, view.extents); !status) return status;
  return check_memory(name, view);
}

Status check_view(std::string_view name, const ConstHeadsView& view, const Rotations& rotations) {
  if (auto status = check_dtype(name, view.dtype, rotations); !status) return status;
  if (auto status = check_extents(name, view.extents, rotations); !status) return status;
  return check_memory(name, view);
}

Status check_adjacent_features(std::string_view name, const ConstHeadsView& view) {
  if (view.strides.feature == 1 || view.extents.features <= 1) return {};
  return invalid_argument(name, ": features must be adjacent, a stride of 1; got strides ",
                          describe(view.strides));
}

Status check_distinct(std::string_view name, const ConstHeadsView& view) {
  if (find_self_overlap(view) == Overlap::none) return {};
  return invalid_argument(name, ": elements of a destination must be distinct, got extents ",
                          describe(view.extents), " with strides ", describe(view.strides));
}

Status check_apart(std::string_view name_a, const ConstHeadsView& a, std::string_view name_b,
                   const ConstHeadsView& b) {
  switch (find_overlap(a, b)) {
    case Overlap::none:
      return {};
    case Overlap::shared:
      return invalid_argument(name_a, " and ", name_b,
                              " must share no element, got views that overlap");
    case Overlap::undecided:
      break;
  }
  return invalid_argument(
      name_a, " and ", name_b,
      " must be views whose strides nest when they lie in one buffer, got strides ",
      describe(a.strides), " and ", describe(b.strides));
}

}  // namespace rotary
