// SPDX-License-Identifier: Apache-2.0
#include "rotation/apply/rotate_checks.hpp"

#include "base/message.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

// f64 elements need f64 rows, all others f32 rows. Rotations made for a dtype need that dtype.
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
    return invalid_argument(
        name, ": tokens must be those of the rotations, ", rotations.tokens(), "; got ", n.tokens,
        n.heads == rotations.tokens() ? " (are heads and tokens swapped?)" : "");
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

namespace {

// Rows with a role have factors of xPos, which the inverse would not undo.
Status check_inverse(const Rotations& rotations) {
  if (rotations.unchecked())
    return invalid_argument(
        "direction inverse needs checked rows, got unchecked ones, which may "
        "be no rotations; transpose is the backward pass");
  if (rotations.role()) {
    const Role role = *rotations.role();
    const Role other = role == Role::query ? Role::key : Role::query;
    return invalid_argument("direction inverse needs rotations, got rows of xPos for role ",
                            to_string(role), "; transpose with rows for role ", to_string(other),
                            " at the same positions undoes them, but for attention_factor^2");
  }
  if (rotations.numerics() == Numerics::exact || rotations.attention_factor() == 1) return {};
  return invalid_argument("direction inverse needs an attention_factor of 1 under numerics ",
                          to_string(rotations.numerics()), ", got ", rotations.attention_factor(),
                          "; transpose is the backward pass");
}

// The names of a transfer's views in messages.
struct TransferNames {
  std::string_view dst;
  std::string_view src;
};

Status check(Direction direction, const Rotations& rotations) {
  switch (direction) {
    case Direction::forward:
    case Direction::transpose:
      return {};
    case Direction::inverse:
      return check_inverse(rotations);
  }
  return invalid_argument("direction must be forward, inverse or transpose, got value ",
                          static_cast<std::int32_t>(direction));
}

Status check_transfer(const TransferNames& names, const Transfer& of, const Rotations& rotations) {
  const auto& [dst, src] = of;
  // Checks src first: in a wrapper that makes dst like src, the caller knows only src.
  if (auto status = check_view(names.src, src, rotations); !status) return status;
  if (src == dst) return check_distinct(names.dst, dst);
  if (auto status = check_view(names.dst, dst, rotations); !status) return status;
  if (auto status = check_distinct(names.dst, dst); !status) return status;
  if (dst.dtype != src.dtype)
    return invalid_argument(names.dst, " and ", names.src, " must have the same dtype, got ",
                            to_string(dst.dtype), " and ", to_string(src.dtype));
  if (dst.extents != src.extents) {
    return invalid_argument(names.dst, " and ", names.src, " must have the same extents, got ",
                            describe(dst.extents), " and ", describe(src.extents));
  }
  return check_apart(names.dst, dst, names.src, src);
}

TransferNames names_of(const Transfer& of, const TransferNames& apart) {
  return {.dst = of.src == of.dst ? apart.src : apart.dst, .src = apart.src};
}

}  // namespace

Status check_rotate(const Transfer& of, const Rotations& rotations, Direction direction) {
  if (auto status = check(direction, rotations); !status) return status;
  return check_transfer({.dst = "dst", .src = "src"}, of, rotations);
}

Status check_rotate_qk(const Transfer& q, const Transfer& k, const Rotations& rotations,
                       Direction direction) {
  if (auto status = check(direction, rotations); !status) return status;
  if (rotations.role()) {
    return invalid_argument("rotations must serve q and k alike, got rows of xPos for role ",
                            to_string(*rotations.role()),
                            ": call rotate for each with rows of its own");
  }
  const TransferNames of_q = names_of(q, {.dst = "q_out", .src = "q"});
  const TransferNames of_k = names_of(k, {.dst = "k_out", .src = "k"});
  if (auto status = check_transfer(of_q, q, rotations); !status) return status;
  if (auto status = check_transfer(of_k, k, rotations); !status) return status;
  if (q.dst.extents.batch != k.dst.extents.batch) {
    return invalid_argument("q and k must have the same batch, got ", q.dst.extents.batch, " and ",
                            k.dst.extents.batch);
  }
  if (auto status = check_apart(of_q.dst, q.dst, of_k.dst, k.dst); !status) return status;
  if (auto status = check_apart(of_q.dst, q.dst, of_k.src, k.src); !status) return status;
  return check_apart(of_k.dst, k.dst, of_q.src, q.src);
}

}  // namespace rotary
