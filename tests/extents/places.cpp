// SPDX-License-Identifier: Apache-2.0
#include "extents/places.hpp"

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <utility>

#include "rotary/shift.hpp"
#include "support/cases.hpp"

namespace rotary::test {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 16;
constexpr std::size_t chunks = 32;

std::byte* map(int protection) {
  void* const memory =
      mmap(nullptr, chunk * chunks, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return static_cast<std::byte*>(memory);
}

class Places {
 public:
  explicit Places(int protection) : memory_(map(protection)) {}
  void* next() { return memory_ + next_++ % chunks * chunk; }

 private:
  std::byte* memory_;
  std::size_t next_ = 0;
};

constexpr std::int64_t far = std::int64_t{1} << 61;

// The stride of an axis over `reach` elements, which it then multiplies.
std::int64_t stride_of(std::int64_t extent, std::int64_t& reach) {
  if (extent > 8) return 0;
  return std::exchange(reach, reach * extent);
}

bool has_none(const Extents& n) {
  return n.batch == 0 || n.tokens == 0 || n.heads == 0 || n.features == 0;
}

}  // namespace

void* readable() {
  static Places places(PROT_READ | PROT_WRITE);
  return places.next();
}

void* untouchable() {
  static Places places(PROT_NONE);
  return places.next();
}

HeadsView heads(const Extents& extents, DType dtype) {
  if (has_none(extents)) return {untouchable(), dtype, extents, {far, -far, far, 1}};
  std::int64_t reach = 1;
  Strides strides;
  strides.feature = stride_of(extents.features, reach);
  strides.head = stride_of(extents.heads, reach);
  strides.token = stride_of(extents.tokens, reach);
  strides.batch = stride_of(extents.batch, reach);
  return {readable(), dtype, extents, strides};
}

TokensView tokens(const TokenExtents& n, DType dtype) {
  const HeadsView view = heads({n.batch, n.tokens, 1, n.features}, dtype);
  return {view.data, dtype, n, {view.strides.batch, view.strides.token, view.strides.feature}};
}

ScoresView scores(const ScoresExtents& n, DType dtype) {
  const HeadsView view = heads({n.batch, n.queries, n.heads, n.keys}, dtype);
  return {view.data,
          dtype,
          n,
          {view.strides.batch, view.strides.head, view.strides.token, view.strides.feature}};
}

TableView table(std::int64_t rows, std::int64_t features, DType dtype) {
  const HeadsView view = heads({1, rows, 1, features}, dtype);
  return {view.data, dtype, rows, features, view.strides.token, view.strides.feature};
}

ConstTableView matrix(std::int64_t rows, std::int64_t columns) {
  const TableView view = table(rows, columns);
  return {view.data, view.dtype, rows, columns, view.row_stride, view.feature_stride};
}

HeadWindow window_of_4() { return {.head_dim = 4, .rotary_dim = 4, .pairing = Pairing::half}; }

const Frequencies& frequencies_of_4() {
  static const Frequencies frequencies = frequencies_of(window_of_4());
  return frequencies;
}

Result<Rotations> rows_for(std::int64_t count) {
  const RotatedAt at{frequencies_of_4(), positions<std::int64_t>(1, count)};
  return make_shift(at, at);
}

}  // namespace rotary::test
