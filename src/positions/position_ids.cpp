// SPDX-License-Identifier: Apache-2.0
#include "rotary/position_ids.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "base/guard.hpp"
#include "positions/checks.hpp"

namespace rotary {
namespace {

using positions::check;
using Numbers = std::vector<std::int64_t>;
using NumbersView = std::span<const std::int64_t>;

Status check_each(std::string_view name, NumbersView numbers, std::int64_t least) {
  if (numbers.size() > std::size_t{most_axis_tokens})
    return invalid_argument(name, " must have at most ", most_axis_tokens, " entries, got ",
                            numbers.size());
  for (const std::int64_t number : numbers)
    if (auto status = check({name, number, least, most_position_id}); !status) return status;
  return {};
}

std::int64_t ssize(NumbersView numbers) { return static_cast<std::int64_t>(numbers.size()); }

NumbersView row_of(NumbersView numbers, std::int64_t batch, std::int64_t row) {
  const std::size_t tokens = numbers.size() / static_cast<std::size_t>(batch);
  return numbers.subspan(batch == 1 ? 0 : static_cast<std::size_t>(row) * tokens, tokens);
}

Result<Numbers> padded(const PaddingMask& mask, std::int64_t past) {
  if (mask.batch < 1 || ssize(mask.real) % mask.batch != 0)
    return invalid_argument("attention_mask must be [batch, tokens], got ", mask.real.size(),
                            " numbers of a batch of ", mask.batch);
  if (mask.real.empty()) return Numbers();
  const std::int64_t tokens = ssize(mask.real) / mask.batch;
  if (past < 0 || past > tokens)
    return invalid_argument("attention_mask must cover the cached tokens, got ", tokens,
                            " tokens and past ", past);
  Numbers ids;
  ids.reserve(static_cast<std::size_t>((tokens - past) * mask.batch));
  for (std::int64_t row = 0; row < mask.batch; ++row) {
    std::int64_t before = 0;
    std::int64_t token = 0;
    for (const std::int64_t real : row_of(mask.real, mask.batch, row)) {
      if (token++ >= past) ids.push_back(real != 0 ? before : 0);
      if (real != 0) ++before;
    }
  }
  return ids;
}

Result<Numbers> packed(NumbersView lengths, NumbersView past) {
  if (past.size() > 1 && past.size() != lengths.size())
    return invalid_argument("past must be one number or one for each of ", lengths.size(),
                            " sequences, got ", past.size());
  if (auto status = check_each("lengths", lengths, 0); !status) return status.error();
  if (auto status = check_each("past", past, 0); !status) return status.error();
  std::int64_t tokens = 0;
  for (const std::int64_t length : lengths) {
    if (length > most_axis_tokens - tokens)
      return invalid_argument("lengths must sum to at most ", most_axis_tokens, ", got more");
    tokens += length;
  }
  Numbers ids(static_cast<std::size_t>(tokens));
  auto begin = ids.begin();
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::int64_t first = past.empty() ? 0 : past[past.size() == 1 ? 0 : i];
    std::iota(begin, begin + lengths[i], first);
    begin += lengths[i];
  }
  return ids;
}

// The right ids, [batch][tokens]; empty if they are unknown.
struct Wanted {
  std::int64_t batch = 1;
  std::int64_t cached = 0;  // tokens of the mask before the first id
  Numbers ids = {};
};

Result<Wanted> wanted_of(const PositionIds& ids, const KnownSequences& known) {
  const std::int64_t tokens = ssize(ids.numbers) / ids.batch / ids.axes;
  const PaddingMask& mask = known.attention_mask;
  Wanted wanted{.batch = ids.batch};
  Result<Numbers> made = Numbers();
  if (!mask.real.empty()) {
    const std::int64_t covered = ssize(mask.real) / std::max<std::int64_t>(mask.batch, 1);
    if (covered < tokens)
      return invalid_argument("attention_mask must be [batch, tokens] and cover the ", tokens,
                              " tokens of ids, got ", covered);
    wanted.cached = covered - tokens;
    wanted.batch = mask.batch;
    made = padded(mask, wanted.cached);
  } else if (!known.lengths.empty()) {
    wanted.batch = 1;
    made = packed(known.lengths, known.past);
  } else if (!known.past.empty()) {
    made = packed(Numbers(static_cast<std::size_t>(ids.batch), tokens), known.past);
  }
  if (!made) return made.error();
  const bool is_known = !mask.real.empty() || !known.lengths.empty() || !known.past.empty();
  // A single row of ids applies to every row of a mask.
  if (is_known && (ssize(*made) != wanted.batch * tokens ||
                   (ids.batch != wanted.batch && (ids.batch != 1 || mask.real.empty()))))
    return invalid_argument(
        "ids must have as many rows and tokens as what is known of them: ", wanted.batch, " x ",
        ssize(*made) / wanted.batch, ", got ", ids.batch, " x ", tokens);
  wanted.ids = *std::move(made);
  return wanted;
}

struct Row {
  std::int64_t number;
  NumbersView seen;
  NumbersView wanted;  // empty if unknown
  NumbersView mask;    // empty if all tokens are real

  [[nodiscard]] bool is_real(std::size_t token) const { return mask.empty() || mask[token] != 0; }
  // The ids of real tokens; of all tokens if none is real.
  [[nodiscard]] Numbers real_ids() const {
    Numbers ids;
    for (std::size_t token = 0; token < seen.size(); ++token)
      if (is_real(token)) ids.push_back(seen[token]);
    return ids.empty() ? Numbers(seen.begin(), seen.end()) : ids;
  }
  [[nodiscard]] PositionFinding finding(std::string_view kind, std::size_t token,
                                        std::string sentence) const {
    return {kind, number, static_cast<std::int64_t>(token), std::move(sentence)};
  }
};

std::optional<PositionFinding> against(const Row& row) {
  std::optional<std::size_t> first;
  bool has_padding = false;
  bool is_counted = true;  // each id is the first id plus its index
  bool is_offset = true;
  for (std::size_t i = 0; i < row.seen.size(); ++i) {
    has_padding = has_padding || !row.is_real(i);
    if (!row.is_real(i)) continue;
    const std::int64_t start = row.is_real(0) ? row.seen[0] : 0;
    is_counted = is_counted && row.seen[i] == static_cast<std::int64_t>(i) + start;
    if (!first && row.seen[i] != row.wanted[i]) first = i;
  }
  if (!first) return std::nullopt;
  const std::size_t at = *first;
  const std::int64_t off = row.seen[at] - row.wanted[at];
  for (std::size_t i = 0; i < row.seen.size(); ++i)
    is_offset = is_offset && (!row.is_real(i) || row.seen[i] - row.wanted[i] == off);
  const std::string where = message(row.seen[at], ", where it must be ", row.wanted[at]);
  if (has_padding && is_counted)
    return row.finding("padding_counted", at, where + ": padding on the left is counted");
  if (is_offset)
    return row.finding("offset", at, message(where, ": all are off by ", off > 0 ? "+" : "", off));
  if (at > 0 && row.wanted[at] < row.wanted[at - 1] && row.seen[at] == row.seen[at - 1] + 1)
    return row.finding("no_restart", at, where + ": a sequence begins, and positions go on");
  return row.finding("other", at, where);
}

std::optional<PositionFinding> alone(const Row& row) {
  for (std::size_t i = 1; i < row.seen.size(); ++i) {
    const std::int64_t step = row.seen[i] - row.seen[i - 1];
    if (step == 1 || row.seen[i] == 0) continue;
    const std::string where = message(row.seen[i], " follows ", row.seen[i - 1]);
    if (step == 0) return row.finding("repeat", i, where + ": a position is repeated");
    if (step > 0) return row.finding("gap", i, where + ": positions are left out");
    return row.finding("restart", i, where + ": positions restart, not at 0");
  }
  return std::nullopt;
}

std::string list_of(NumbersView numbers, std::size_t most) {
  std::string text;
  for (const std::int64_t number : numbers.first(std::min(most, numbers.size())))
    text += message(text.empty() ? "" : ", ", number);
  return text + (numbers.size() > most ? ", ..." : "");
}

std::string described(const std::vector<Row>& rows) {
  Numbers firsts;
  std::size_t most = 0;
  for (const Row& row : rows) {
    const Numbers ids = row.real_ids();
    Numbers runs = {1};
    for (std::size_t i = 1; i < ids.size(); ++i) {
      if (ids[i] - ids[i - 1] == 1)
        ++runs.back();
      else
        runs.push_back(1);
    }
    if (runs.size() > 1)
      return message("row ", row.number, " has ", runs.size(), " runs of ", list_of(runs, 6),
                     " tokens");
    firsts.push_back(ids.front());
    most = std::max(most, ids.size());
  }
  return message(most, " consecutive positions a row, from ", list_of(firsts, 4));
}

// Finds ids at or beyond the bound up to which a 16-bit type holds every integer.
std::optional<PositionFinding> rounded(const PositionIds& ids, std::optional<DType> dtype) {
  if (dtype != DType::bf16 && dtype != DType::f16) return std::nullopt;
  const std::int64_t most = dtype == DType::bf16 ? 256 : 2048;
  const auto found = std::ranges::find_if(
      ids.numbers, [most](std::int64_t each) { return std::abs(each) >= most; });
  if (found == ids.numbers.end()) return std::nullopt;
  const std::int64_t tokens = ssize(ids.numbers) / ids.batch / ids.axes;
  const std::int64_t at = found - ids.numbers.begin();
  return PositionFinding{"rounded", at / tokens % ids.batch, at % tokens,
                         message("ids are ", dtype == DType::bf16 ? "bfloat16" : "float16",
                                 ", which has no odd numbers beyond ", most)};
}

// Whether the ids are equal on all axes. Only then are they token indices, as for text alone.
bool is_text(const PositionIds& ids) {
  const auto axis = [&](std::int64_t i) { return row_of(ids.numbers, ids.axes, i); };
  for (std::int64_t i = 1; i < ids.axes; ++i)
    if (!std::ranges::equal(axis(i), axis(0))) return false;
  return true;
}

Result<PositionCheck> judged(const PositionIds& ids, const KnownSequences& known) {
  const std::int64_t size = ssize(ids.numbers);
  if (size == 0 || ids.batch < 1 || ids.axes < 1 || ids.batch > size ||
      ids.axes > size / ids.batch || size % (ids.batch * ids.axes) != 0)
    return invalid_argument("ids must be [axes, batch, tokens] and have a token, got ", size,
                            " numbers of ", ids.axes, " axes and a batch of ", ids.batch);
  if (auto status = check_each("ids", ids.numbers, -most_position_id); !status)
    return status.error();
  const Result<Wanted> wanted = wanted_of(ids, known);
  if (!wanted) return wanted.error();
  PositionCheck found;
  if (auto finding = rounded(ids, known.dtype)) found.findings.push_back(*std::move(finding));
  if (!is_text(ids)) {
    found.sentence =
        "ids differ between axes, as those of images do: not judged; m_rope_positions() makes them";
    found.judged = false;
    return found;
  }
  std::vector<Row> rows;
  const NumbersView text = row_of(ids.numbers, ids.axes, 0);
  const PaddingMask& mask = known.attention_mask;
  for (std::int64_t number = 0; number < wanted->batch; ++number) {
    Row row{number, row_of(text, ids.batch, number), {}, {}};
    if (!wanted->ids.empty()) row.wanted = row_of(wanted->ids, wanted->batch, number);
    if (!mask.real.empty())
      row.mask =
          row_of(mask.real, mask.batch, number).subspan(static_cast<std::size_t>(wanted->cached));
    auto finding = row.wanted.empty() ? alone(row) : against(row);
    if (finding) found.findings.push_back(*std::move(finding));
    rows.push_back(row);
  }
  found.sentence = described(rows);
  return found;
}

}  // namespace

Result<Numbers> padded_positions(const PaddingMask& attention_mask, std::int64_t past) noexcept {
  return guarded([&] { return padded(attention_mask, past); });
}

Result<Numbers> packed_positions(NumbersView lengths, NumbersView past) noexcept {
  return guarded([&] { return packed(lengths, past); });
}

Result<Numbers> sequence_lengths(NumbersView cu_seqlens) noexcept {
  return guarded([&]() -> Result<Numbers> {
    if (auto status = check_each("cu_seqlens", cu_seqlens, 0); !status) return status.error();
    if (cu_seqlens.size() < 2 || cu_seqlens[0] != 0 || !std::ranges::is_sorted(cu_seqlens))
      return invalid_argument("cu_seqlens must rise from 0 and have two entries at least, got ",
                              list_of(cu_seqlens, 4));
    Numbers lengths(cu_seqlens.size() - 1);
    std::transform(cu_seqlens.begin() + 1, cu_seqlens.end(), cu_seqlens.begin(), lengths.begin(),
                   std::minus());
    return lengths;
  });
}

Result<PositionCheck> check_positions(const PositionIds& ids,
                                      const KnownSequences& known) noexcept {
  return guarded([&] { return judged(ids, known); });
}

}  // namespace rotary
