// SPDX-License-Identifier: Apache-2.0
#include "fuzz/tokens_case.hpp"

namespace rotary::fuzz {

bool decode_source(Bytes& input, Places& places, const TokensView& dst, ConstTokensView& src) {
  src = dst;
  const std::int64_t kind = input.number(0, 7);
  if (kind <= 2) return true;
  if (input.once_in(32)) src.dtype = decode_dtype(input);
  if (input.once_in(32)) src.extents.tokens = input.number(0, 3);
  return kind > 3 ? decode_view(input, places, src) : place_view(input, places, src);
}

bool add_source(const ConstTokensView& dst, const ConstTokensView& src,
                std::vector<Strided>& read) {
  if (src.dtype == dst.dtype && are_same(strided(dst), strided(src))) return true;
  read.push_back(strided(src));
  return is_well_formed(read.back()) && src.dtype == dst.dtype && src.extents == dst.extents;
}

bool are_of_tokens(const NumbersCase& numbers, const TokenExtents& n) {
  if (numbers.counts.tokens != n.tokens) return false;
  if (numbers.counts.batch != 1 && numbers.counts.batch != n.batch) return false;
  return numbers.counts.batch == 0 || are_positions(numbers);
}

}  // namespace rotary::fuzz
