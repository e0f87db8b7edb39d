// SPDX-License-Identifier: Apache-2.0
// Runs a sequence of C calls and compares each with the C++ call: answer, text and written bytes.
// Some errors exist only in C: NULL, struct sizes, and members that exclude each other. They are
// checked against rotary.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "fuzz/bytes.hpp"
#include "fuzz/c_abi/memory.hpp"
#include "fuzz/c_abi/passed.hpp"
#include "fuzz/shapes.hpp"
#include "fuzz/strided.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/rotary_threads.h"
#include "rotary/rotate.hpp"
#include "rotary/rotations.hpp"

namespace rotary::fuzz {

// The answer of the C++ call; nullopt if the C function itself must refuse its arguments.
using Wanted = std::optional<Status>;

class Session {
 public:
  explicit Session(Bytes& input);

  void call();

 private:
  struct Free {
    void operator()(rotary_model* handle) const { rotary_model_free(handle); }
    void operator()(rotary_frequencies* handle) const { rotary_frequencies_free(handle); }
    void operator()(rotary_rotations* handle) const { rotary_rotations_free(handle); }
    void operator()(rotary_threads* handle) const { rotary_threads_stop(handle); }
  };
  template <class Handle>
  using Owned = std::unique_ptr<Handle, Free>;

  // A C handle, which may be NULL, and the same object made by C++.
  template <class Handle, class Made>
  struct Twins {
    Owned<Handle> owned = {};
    std::optional<Made> twin = {};

    [[nodiscard]] Handle* handle() const { return owned.get(); }
  };
  using FrequenciesTwin = Twins<rotary_frequencies, Frequencies>;
  using RotationsTwin = Twins<rotary_rotations, Rotations>;
  struct Model : Twins<rotary_model, ModelSpec> {
    std::optional<std::int64_t> context_tokens = {};
  };
  static constexpr std::size_t handles = 3;  // for each kind

  void resolve_model();
  void ask_model();
  void ask_layers(const rotary_model* handle, const ModelSpec& spec);
  void make_frequencies_of_model();
  void make_frequencies_of_spec();
  void ask_frequencies();
  void count_row_bytes();
  void make_rotations_of_positions();
  void remake_rotations_of_positions();
  void make_rotations_of_rows();
  void ask_rows();
  void free_one();
  void choose_instruction_set();
  void rotate_heads();
  void normalize();
  void append_heads();
  void append_int8();
  void make_shift_rows();
  void shift_keys();
  void shift_quantized();
  void use_threads();

  // Chooses a handle of one kind, which may be NULL.
  template <class Twins>
  [[nodiscard]] auto& any_of(Twins& all) {
    return all[static_cast<std::size_t>(input_.number(0, handles - 1))];
  }

  // Decoders of arguments. Views are in the first half of the buffer, rows in the second.
  [[nodiscard]] std::string decode_json(bool is_config);
  [[nodiscard]] std::optional<rotary_heads_view> decode_heads(const Rotations* rotations,
                                                              Features features);
  [[nodiscard]] std::optional<rotary_positions> decode_positions(
      std::optional<std::int64_t> tokens = {});
  [[nodiscard]] rotary_rotations_options decode_rotations_options();
  [[nodiscard]] rotary_executor decode_executor();
  [[nodiscard]] rotary_window decode_c_window();
  [[nodiscard]] rotary_head_norm decode_head_norm(const rotary_heads_view& of);
  [[nodiscard]] std::optional<rotary_slots> decode_slots(const rotary_heads_view& of);
  [[nodiscard]] std::optional<rotary_heads_view> decode_cache(const rotary_heads_view& heads);
  // Int8 elements with the layout of the view.
  [[nodiscard]] std::optional<rotary_int8_view> decode_int8(const rotary_heads_view& view);
  template <class Kind>
  void append_to();

  // The C++ values of a C call's arguments, in the shadow; nullopt if C must refuse them.
  [[nodiscard]] static std::optional<HeadsView> value_of(const Passed<rotary_heads_view>& view);
  [[nodiscard]] static std::optional<QuantizedHeadsView> value_of(
      const Passed<rotary_int8_view>& view);
  [[nodiscard]] static std::optional<Positions> value_of(const Passed<rotary_positions>& positions);
  [[nodiscard]] static std::optional<RotationsOptions> value_of(
      const Passed<rotary_rotations_options>& options);
  [[nodiscard]] static std::optional<Executor> value_of(const Passed<rotary_executor>& executor);
  [[nodiscard]] static std::optional<HeadWindow> value_of(const Passed<rotary_window>& window);
  [[nodiscard]] static std::optional<HeadNorm> value_of(const Passed<rotary_head_norm>& norm);
  [[nodiscard]] static std::optional<Slots> value_of(const Passed<rotary_slots>& slots);
  [[nodiscard]] static std::optional<AppendOptions> value_of(
      const Passed<rotary_append_options>& options, const Passed<rotary_executor>& executor,
      const Passed<rotary_head_norm>& norm);

  // Compares the answer of a call with the required one.
  void check(rotary_status got, const Wanted& wanted);
  // Checks that a call returned the value of C++. A failed call must set the error text.
  void check_value(bool is_that_of_cpp, std::string_view what, bool has_failed);
  // Checks that a handle exists after ROTARY_OK and is NULL otherwise.
  static void check_made(rotary_status got, const void* made);
  // Makes a handle by make(&handle), or passes NULL instead, and its twin by make_twin(). Returns
  // both if both were made. is_legal: C's own checks pass, so C++ decides about the arguments.
  template <class Twin, class Make, class MakeTwin>
  std::optional<Twin> make(bool is_legal, const Make& make, const MakeTwin& make_twin);

  Bytes& input_;
  std::array<Model, handles> models_ = {};
  std::array<FrequenciesTwin, handles> frequencies_ = {};
  std::array<RotationsTwin, handles> rotations_ = {};
  Owned<rotary_threads> threads_ = {};
  std::string last_error_;  // the text that rotary_last_error() must return
};

template <class Twin, class Make, class MakeTwin>
std::optional<Twin> Session::make(bool is_legal, const Make& make, const MakeTwin& make_twin) {
  const bool has_out = !input_.once_in(64);
  Twin made;
  auto* handle = reinterpret_cast<decltype(made.handle())>(this);  // a failure must make it NULL
  const rotary_status status = make(has_out ? &handle : nullptr);
  if (has_out) {
    check_made(status, handle);
    made.owned.reset(handle);
  }
  if (!has_out || !is_legal) {
    check(status, {});
    return {};
  }
  auto twin = make_twin();
  check(status, twin ? Status() : Status(twin.error()));
  if (!twin) return {};
  made.twin = *std::move(twin);
  return made;
}

}  // namespace rotary::fuzz
