// SPDX-License-Identifier: Apache-2.0
#include "rotation/apply/turned_views.hpp"

#include "base/message.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

// f64 elements need f64 rows, all others f32 rows; some rows serve only one dtype.
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

Status check_view(std::string_view name, const ConstHeadsView& view, const Rotations& rotations) {
  if (auto status = check_dtype(name, view.dtype, rotations); !status) return status;
  if (auto status = check_extents(name, view.extents, rotations); !status) return status;
  return check_memory(name, view);
}

}  // namespace rotary
