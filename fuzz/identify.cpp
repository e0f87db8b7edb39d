// SPDX-License-Identifier: Apache-2.0
// Fuzzes identify. Independent code makes the numbers from a small model's config, rightly or with
// a mistake. NaN and infinity, which replace some numbers, must be refused. Equal numbers must get
// equal answers. The reference must reproduce the numbers from an answer.
#include "rotary/identify.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "cli/identify/identification.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/check.hpp"
#include "fuzz/target.hpp"
#include "reference/frequencies.hpp"
#include "reference/recipes.hpp"
#include "tests/identify/faulty_rotation.hpp"
#include "tests/support/elements.hpp"

namespace rotary::fuzz {
namespace {

using test::FaultyRotation;

constexpr std::array<std::string_view, 10> configs = {
    R"({"model_type":"llama","head_dim":16})",
    R"({"model_type":"llama","head_dim":8,"rope_scaling":{"type":"linear","factor":2.0}})",
    R"({"model_type":"llama","head_dim":16,"rope_theta":500000.0,"rope_scaling":{
        "rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,
        "original_max_position_embeddings":8192}})",
    R"({"model_type":"qwen2","hidden_size":32,"num_attention_heads":2,"rope_scaling":{
        "rope_type":"yarn","factor":4.0,"original_max_position_embeddings":8192}})",
    R"({"model_type":"gptj","n_embd":32,"n_head":2,"n_positions":2048,"rotary_dim":8})",
    R"({"model_type":"gpt_neox","hidden_size":32,"num_attention_heads":2,"rotary_pct":0.5})",
    R"({"model_type":"qwen2_vl","hidden_size":32,"num_attention_heads":2,"rope_scaling":{
        "type":"mrope","mrope_section":[2,3,3]}})",
    R"({"model_type":"gemma3_text","head_dim":16,"num_hidden_layers":6})",
    R"({"model_type":"deepseek_v3","qk_nope_head_dim":4,"qk_rope_head_dim":8,"kv_lora_rank":6,
        "hidden_size":16,"num_attention_heads":2,"num_hidden_layers":1})",
    R"({"model_type":"llama","head_dim":2})",
};

enum class Kind { heads, rows, frequencies };

struct Dump {
  Kind kind;
  RotarySpec spec;
  std::int64_t tokens = 8;
  std::int64_t heads = 1;
  test::Heads before = {};  // [tokens * heads]; for tables: pairs of 1 and 0
  test::Heads after = {};
  test::Coordinates coordinates = {};        // one for each row of before
  std::vector<std::int64_t> positions = {};  // [axes][tokens]
  std::vector<double> inv_freq = {};
  double attention_factor = 1;  // belongs to inv_freq
  bool is_right = true;
};

// Tables contain only rotated pairs.
RotarySpec spec_of(Kind kind, RotarySpec spec) {
  if (kind == Kind::heads) return spec;
  spec.head_dim = test::rotated_width(spec);
  spec.rotary_dim.reset();
  spec.first_feature = 0;
  spec.pairing = Pairing::half;
  return spec;
}

// True if the planted rotation supports the spec.
bool is_usable(const RotarySpec& spec) {
  return spec.blocks == 1 && make_frequencies(spec).has_value();
}

void add_positions(Bytes& input, Dump& dump) {
  constexpr std::array places = {1, 2, 5, 17, 64, 257, 1024, 4096};
  const std::size_t axes = dump.spec.axes && input.once_in(2) ? dump.spec.axes->pairs.size() : 1;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    auto& of_rows = dump.coordinates.emplace_back();
    std::int64_t position = input.once_in(4) ? input.integer() % (1 << 20) : input.number(0, 9);
    const std::int64_t step = input.once_in(4) ? input.number(0, 255) : 1;
    for (std::int64_t t = 0; t < dump.tokens; ++t, position += step) {
      if (dump.kind == Kind::frequencies) position = places.at(static_cast<std::size_t>(t));
      dump.positions.push_back(position);
      of_rows.insert(of_rows.end(), static_cast<std::size_t>(dump.heads), position);
    }
  }
}

// Returns a right rotation, or one with a mistake. For frequencies, only the spec has the mistake.
FaultyRotation rotation_of(Bytes& input, Dump& dump) {
  const auto mistakes = test::single_mistakes(dump.spec);
  const std::size_t chosen = input.byte() % mistakes.size();
  FaultyRotation rotation{.spec = dump.spec};
  mistakes[chosen].plant(rotation);
  dump.is_right = chosen == 0;
  if (dump.kind != Kind::frequencies) return rotation;
  dump.spec = spec_of(dump.kind, rotation.spec);
  return {.spec = dump.spec};
}

void add_numbers(Bytes& input, Dump& dump) {
  constexpr std::array dtypes = {DType::f32, DType::bf16, DType::f16, DType::f64};
  const std::int64_t width = dump.spec.head_dim;
  const DType dtype = dump.kind == Kind::frequencies ? DType::f32 : dtypes[input.byte() % 4];
  test::Random random(input.byte());
  dump.before = test::random_heads(dump.tokens * dump.heads, width, dtype, random);
  const int scale = input.once_in(8) ? static_cast<int>(input.number(-100, 100)) : 0;
  for (std::size_t i = 0; i < dump.before.values.size(); ++i) {
    double& value = dump.before.values[i];
    value = reference::nearest(dtype, std::ldexp(value, scale));
    if (dump.kind != Kind::heads) value = static_cast<std::int64_t>(i) % width < width / 2 ? 1 : 0;
  }
}

// Replaces one of the numbers by NaN or infinity.
void spoil(Bytes& input, Dump& dump) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr std::array spoilers = {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity};
  if (!input.once_in(8)) return;
  const bool is_before = dump.kind == Kind::heads && input.once_in(2);
  auto& numbers = dump.kind == Kind::frequencies ? dump.inv_freq
                                                 : (is_before ? dump.before : dump.after).values;
  if (!numbers.empty()) numbers[input.bits() % numbers.size()] = spoilers[input.byte() % 3];
}

std::vector<double> bytes_of(const test::Heads& heads) {
  const auto size = static_cast<std::size_t>(size_in_bytes(heads.dtype));
  std::vector<double> memory(heads.values.size());
  auto* const bytes = reinterpret_cast<std::byte*>(memory.data());
  for (std::size_t i = 0; i < heads.values.size(); ++i)
    test::store(heads.dtype, bytes + i * size, heads.values[i]);
  return memory;
}

Result<Identification> identified(const Dump& dump, const IdentifyOptions& options) {
  if (dump.kind == Kind::frequencies)
    return identify_frequencies(dump.inv_freq, dump.attention_factor, options);
  const DType dtype = dump.before.dtype;
  const auto before = bytes_of(dump.before);
  const auto after = bytes_of(dump.after);
  const std::int64_t width = dump.spec.head_dim;
  if (dump.kind == Kind::heads) {
    const Extents extents{.tokens = dump.tokens, .heads = dump.heads, .features = width};
    return identify({before.data(), dtype, extents, strides_bthd(extents)},
                    {after.data(), dtype, extents, strides_bthd(extents)}, options);
  }
  const auto* const cos = reinterpret_cast<const std::byte*>(after.data());
  const CosSinView rows{.cos = cos,
                        .sin = cos + width / 2 * size_in_bytes(dtype),
                        .dtype = dtype,
                        .tokens = dump.tokens,
                        .token_stride = width};
  return identify_rows(rows, width / 2, options);
}

double number_in(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

// Adds the cause to the rotation. Returns false if FaultyRotation does not support the cause.
bool add_cause(const Cause& cause, FaultyRotation& rotation) {
  const std::string_view name = cause.hypothesis->name;
  const FieldDifference last = cause.fields.empty() ? FieldDifference() : cause.fields.back();
  if (name == "not_rotated") rotation.off = true;
  if (name == "cos_sin_swapped") rotation.swapped = true;
  if (name == "reversed") rotation.reversed = true;
  if (name == "table_order") rotation.other_table = true;
  if (name == "attention_factor") rotation.factor = number_in(last.other);
  if (name == "scaling" && last.other == "kept") rotation.factor = number_in(last.one);
  if (name == "position_factor" || name == "frequency_factor")
    rotation.stretch *= number_in(last.other);
  if (name == "blend")
    rotation.blended = last.other == "1 - x" ? test::Blended::reversed : test::Blended::between;
  if (name == "vector_factor")  // "0.3 x" or "x / sqrt(16)"
    rotation.times_vector = last.other[0] == 'x' ? 1 / std::sqrt(number_in(last.other.substr(9)))
                                                 : number_in(last.other);
  if (name == "position_offset")  // "p - 1"
    rotation.offset += number_in(last.other.substr(4)) * (last.other[2] == '-' ? -1 : 1);
  if (name == "rotated_twice") {
    rotation.stretch *= 2;
    rotation.offset *= 2;
    rotation.times_factor = 2;
  }
  return cause.hypothesis->group != CauseGroup::precision && name != "counted" &&
         name != "exponents" && name != "axis_order" && name != "token_positions" &&
         name != "shift_frequencies";
}

// Coordinates for each token and head; empty if they are not whole numbers.
test::Coordinates coordinates_of(const ReadPositions& positions, std::int64_t heads) {
  test::Coordinates coordinates(static_cast<std::size_t>(positions.axes));
  for (std::size_t i = 0; i < positions.found.size(); ++i) {
    const double found = positions.found[i];
    if (found != std::nearbyint(found)) return {};
    auto& of_axis = coordinates[i / static_cast<std::size_t>(positions.tokens)];
    of_axis.insert(of_axis.end(), static_cast<std::size_t>(heads),
                   static_cast<std::int64_t>(found));
  }
  return coordinates;
}

// |predicted - seen| / |seen|, computed with the reference.
double residual_of(const Dump& dump, const FaultyRotation& rotation,
                   const test::Coordinates& coordinates) {
  test::Heads before = dump.before;
  before.dtype = DType::f32;
  const auto predicted = test::rotated(before, rotation, coordinates).values;
  double error = 0;
  double whole = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    error += std::pow(predicted[i] - dump.after.values[i], 2);
    whole += std::pow(dump.after.values[i], 2);
  }
  return std::sqrt(error / whole);
}

// The reference is exact except for one rounding to float32, so only exact numerics are compared.
void check_explanation(const Dump& dump, const Identification& found, std::size_t index) {
  const Explanation& explanation = found.explanations[index];
  FaultyRotation rotation{.spec = *explanation.spec};
  const bool reads = index == 0 && found.positions;
  for (const Cause& cause : explanation.causes) {
    const bool is_read = reads && cause.hypothesis->name == "token_positions";
    if (!add_cause(cause, rotation) && !is_read) return;
  }
  test::Coordinates coordinates = dump.coordinates;
  if (reads) {  // positions of each token, instead of a rule
    coordinates = coordinates_of(*found.positions, dump.heads);
    rotation.stretch = 1;
    rotation.offset = 0;
    if (coordinates.empty()) return;
  }
  if (explanation.arithmetic != FoundArithmetic::exact || !is_usable(rotation.spec)) return;
  const double residual = residual_of(dump, rotation, coordinates);
  if (residual <= explanation.residual + 0x1p-22) return;
  fail("the reference must reproduce the numbers from the explanation",
       std::to_string(residual) + ", explanation " + std::to_string(index) + "\n" +
           test::shown(found));
}

std::string text_of(const Result<Identification>& found) {
  return found ? cli::identification_json({.found = *found, .layout = {}, .config = {}}).dump()
               : found.error().message;
}

void check(const Dump& dump, const IdentifyOptions& options) {
  const auto found = identified(dump, options);
  if (text_of(found) != text_of(identified(dump, options)))
    fail("the same numbers must get the same answer");
  if (!found) return check_error(found.error());
  const auto is_finite = [](double value) { return std::isfinite(value); };
  for (const auto* const numbers : {&dump.before.values, &dump.after.values, &dump.inv_freq})
    if (!std::ranges::all_of(*numbers, is_finite)) fail("numbers must be finite to be explained");
  if (!options.positions || options.before != BeforeState::unrotated) return;
  if (options.model && dump.is_right && found->verdict == Verdict::another_cause)
    fail("a right dump must not be accused", test::shown(*found));
  for (std::size_t i = 0; i < found->tied; ++i) check_explanation(dump, *found, i);
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary;
  fuzz::Bytes input(data, size);
  const auto model = resolve(fuzz::configs[input.byte() % fuzz::configs.size()]);
  if (!model) fuzz::fail("the config must be right", model.error().message);
  IdentifyOptions options{.model = *model, .rotary = input.byte() % model->rotary.size()};
  const RotarySpec& spec = model->rotary[options.rotary].spec;
  const auto kind = static_cast<fuzz::Kind>(input.byte() % 3);
  fuzz::Dump dump{.kind = kind, .spec = fuzz::spec_of(kind, spec)};
  if (kind != fuzz::Kind::frequencies) dump.tokens = input.number(1, 6);
  if (kind == fuzz::Kind::heads) dump.heads = input.number(1, 2);
  fuzz::add_positions(input, dump);
  const test::FaultyRotation rotation = fuzz::rotation_of(input, dump);
  if (!fuzz::is_usable(rotation.spec)) return 0;
  fuzz::add_numbers(input, dump);
  dump.after = test::rotated(dump.before, rotation, dump.coordinates);
  const auto frequencies = reference::frequencies(rotation.spec);
  dump.inv_freq.assign(frequencies.inv_freq.begin(), frequencies.inv_freq.end());
  dump.attention_factor = static_cast<double>(frequencies.attention_factor);
  fuzz::spoil(input, dump);
  options.most_causes = input.once_in(16) ? 2 : 1;
  const auto axes = static_cast<std::int64_t>(dump.coordinates.size());
  if (!input.once_in(16)) options.positions = positions_of(dump.positions, 1, axes);
  if (input.once_in(8)) {
    options.model.reset();
    options.rotary = 0;
  }
  if (input.once_in(16)) options.before = BeforeState::rotated_as_configured;
  fuzz::check(dump, options);
  return 0;
}
