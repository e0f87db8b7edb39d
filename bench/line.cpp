// SPDX-License-Identifier: Apache-2.0
#include "bench/line.hpp"

#include <fmt/format.h>

namespace rotary::bench {
namespace {

std::int64_t rows_bytes(const Line& line) {
  return line.tokens * line.operation->shape.rotary_dim * size_in_bytes(DType::f32);
}

}  // namespace

std::string describe(const Line& line) {
  const HeadShape& shape = line.operation->shape;
  const bool no_tensor = shape.query_heads + shape.key_heads == 0;
  return fmt::format("{}: {}{} token{}{}", line.operation->name,
                     no_tensor
                         ? std::string()
                         : fmt::format("{} {}, ", to_string(line.dtype), to_string(line.pairing)),
                     line.tokens, line.tokens == 1 ? "" : "s",
                     line.threads == 1 ? std::string() : fmt::format(", {} threads", line.threads));
}

Result<Frequencies> frequencies_of(const Line& line) {
  const HeadShape& shape = line.operation->shape;
  return make_frequencies(RotarySpec{.head_dim = shape.head_dim,
                                     .rotary_dim = shape.rotary_dim,
                                     .base = 500'000.0,
                                     .pairing = line.pairing});
}

std::int64_t tensor_bytes(const Line& line) {
  const HeadShape& shape = line.operation->shape;
  return line.tokens * (shape.query_heads + shape.key_heads) * shape.head_dim *
         size_in_bytes(line.dtype);
}

std::int64_t needed_bytes(const Line& line) {
  const std::int64_t tensors = tensor_bytes(line);
  switch (line.operation->family) {
    case Family::in_place:
    case Family::rows:
    case Family::shift:
    case Family::patches:
      return tensors + rows_bytes(line);
    case Family::out_of_place:
      return 2 * tensors + rows_bytes(line);
    case Family::append:  // the cache has room for twice the tokens
    case Family::other:
      return 3 * tensors + rows_bytes(line);
  }
  return 0;
}

std::int64_t working_set_bytes(const Line& line) {
  const HeadShape& shape = line.operation->shape;
  switch (line.operation->roofline) {
    case RooflineKind::none:
      return rows_bytes(line);
    case RooflineKind::scale:
      return tensor_bytes(line) / shape.head_dim * shape.rotary_dim;
    case RooflineKind::copy:
      return 2 * tensor_bytes(line);
  }
  return 0;
}

std::int64_t moved_bytes(const Line& line) {
  const bool in_place = line.operation->roofline == RooflineKind::scale;
  return working_set_bytes(line) * (in_place ? 2 : 1);
}

}  // namespace rotary::bench
