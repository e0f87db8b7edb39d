// SPDX-License-Identifier: Apache-2.0
// Fuzzes the C ABI with any sequence of calls that make, use, remake and free handles.
#include "fuzz/c_abi/session.hpp"

#include <algorithm>

#include "fuzz/c_abi/memory.hpp"
#include "fuzz/check.hpp"
#include "fuzz/noise.hpp"
#include "fuzz/target.hpp"
#include "rotary/instruction_set.hpp"

namespace rotary::fuzz {
namespace {

constexpr std::size_t longest_error = 1023;

bool is_inside_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// The start of a message that C returns, cut between two characters.
std::string shown(std::string_view message) {
  std::size_t length = std::min(message.size(), longest_error);
  while (length < message.size() && length > 0 && is_inside_character(message[length])) --length;
  return std::string(message.substr(0, length));
}

}  // namespace

Session::Session(Bytes& input) : input_(input), last_error_(rotary_last_error()) {
  const auto noise = decode_noise(input);
  fill(CMemory::buffer(), DType::f32, noise, input.bits());
  CMemory::copy();
}

void Session::call() {
  using Call = void (Session::*)();
  // Byte 0 is frequent, so it chooses a quick call. Models are slow and have their own target.
  constexpr std::array<Call, 25> calls = {
      &Session::ask_model,
      &Session::make_frequencies_of_model,
      &Session::make_frequencies_of_spec,
      &Session::make_frequencies_of_spec,
      &Session::ask_frequencies,
      &Session::count_row_bytes,
      &Session::make_rotations_of_positions,
      &Session::make_rotations_of_positions,
      &Session::remake_rotations_of_positions,
      &Session::make_rotations_of_rows,
      &Session::ask_rows,
      &Session::resolve_model,
      &Session::free_one,
      &Session::choose_instruction_set,
      &Session::rotate_heads,
      &Session::rotate_heads,
      &Session::normalize,
      &Session::append_heads,
      &Session::append_heads,
      &Session::append_int8,
      &Session::make_shift_rows,
      &Session::make_shift_rows,
      &Session::shift_keys,
      &Session::shift_quantized,
      &Session::use_threads,
  };
  CMemory::keep();
  (this->*calls[input_.byte() % calls.size()])();
}

void Session::free_one() {
  const std::int64_t kind = input_.number(0, 2);
  if (kind == 0) any_of(models_) = {};
  if (kind == 1) any_of(frequencies_) = {};
  if (kind == 2) any_of(rotations_) = {};
}

void Session::choose_instruction_set() {
  constexpr std::array<const char*, 6> names = {"AVX3", "AVX2", "SCALAR", "none such", "", nullptr};
  const char* const name = names[input_.byte() % names.size()];
  const rotary_status status = rotary_force_instruction_set(name);
  if (name == nullptr) {
    check(status, {});
  } else {
    check(status, force_instruction_set(name));
  }
  const auto set = instruction_set();
  const char* const got = rotary_instruction_set();
  if (set.has_value() != (got != nullptr) || (set && *set != got)) {
    fail("the instruction set must be the one in use");
  }
  if (rotary_abi_version() != ROTARY_ABI_VERSION) fail("the version must be the header's");
  check_text(rotary_status_name(static_cast<rotary_status>(input_.number(-1, 6))));
}

void Session::check(rotary_status got, const Wanted& wanted) {
  const std::string_view text = rotary_last_error();
  if (got == ROTARY_OK) {
    if (!wanted) fail("arguments that rotary.h refuses must be refused");
    if (!*wanted) fail("C must refuse what C++ refuses", wanted->error().message);
    if (text != last_error_) fail("a call that succeeds must leave the error text alone");
  } else {
    check_text(text);
    if (text.size() > longest_error) fail("an error text must have at most 1023 bytes");
    if (wanted && wanted->ok()) fail("C must accept what C++ accepts", text);
    if (!wanted && got != ROTARY_INVALID_ARGUMENT && got != ROTARY_UNSUPPORTED) {
      fail("a wrong argument must give ROTARY_INVALID_ARGUMENT", text);
    }
    if (wanted && (got != static_cast<rotary_status>(wanted->error().code) ||
                   text != shown(wanted->error().message))) {
      fail("C must answer as C++ does", text);
    }
    last_error_ = text;
  }
  CMemory::check(got == ROTARY_OK);
}

void Session::check_value(bool is_that_of_cpp, std::string_view what, bool has_failed) {
  if (!is_that_of_cpp) fail("C must return what C++ returns", what);
  const std::string_view text = rotary_last_error();
  if (has_failed) {
    check_text(text);
    last_error_ = text;
  }
  if (text != last_error_) fail("an answer must leave the error text alone");
  CMemory::check(false);
}

void Session::check_made(rotary_status got, const void* made) {
  if ((made != nullptr) != (got == ROTARY_OK)) {
    fail("a handle must be made if the call succeeds, and be NULL otherwise");
  }
}

}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;
  Bytes input(data, size);
  constexpr int most_calls = 16;
  {
    Session session(input);
    for (int i = 0; i < most_calls && !input.is_used_up(); ++i) session.call();
  }
  use_instruction_set(rotary::supported_instruction_sets().front());
  return 0;
}
