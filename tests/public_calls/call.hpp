// SPDX-License-Identifier: Apache-2.0
// The table of public functions. An entry calls one function, with any sizes, through an Attempt,
// which can change the memory or the arithmetic modes around the call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "public_calls/bits.hpp"
#include "public_calls/operands.hpp"
#include "rotary/executor.hpp"
#include "rotary/result.hpp"

namespace rotary::test {

// How a call ended.
struct Outcome {
  std::optional<ErrorCode> error = {};  // absent on success
  std::string bits = {};                // of the numbers that it returned
};

// Throws for an error without a message.
[[nodiscard]] inline Outcome outcome_of(const Status& status) {
  if (status) return {};
  if (status.error().message.empty()) throw std::logic_error("an error without a message");
  return {.error = status.error().code};
}
[[nodiscard]] inline Outcome outcome_of(Outcome outcome) { return outcome; }
template <class T>
[[nodiscard]] Outcome outcome_of(const Result<T>& result) {
  if (!result) return outcome_of(Status(result.error()));
  return {.bits = bits_of(*result)};
}
// The outcome of a function that returns no error.
template <class T>
[[nodiscard]] Outcome outcome_of(const T& value) {
  return {.bits = bits_of(value)};
}

// Runs begin() before and end() after the function under test.
class Attempt {
 public:
  Attempt() = default;
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  virtual ~Attempt() = default;

  template <class Function>
  auto operator()(Function function) {
    begin();
    const std::unique_ptr<Attempt, void (*)(Attempt*)> ends(this, [](Attempt* of) { of->end(); });
    return function();
  }

 private:
  virtual void begin() noexcept {}
  virtual void end() noexcept {}
};

// repeated: the size may be any number, because a stride of 0 repeats elements or because the size
// is only a number. each: the size counts elements that exist. fixed: no other size is tried.
enum class Held { repeated, each, fixed };

struct Size {
  std::int64_t natural = 1;  // in a call with work to do
  Held held = Held::repeated;
};
constexpr Size each(std::int64_t natural) { return {natural, Held::each}; }
constexpr Size fixed(std::int64_t natural) { return {natural, Held::fixed}; }

using SizeList = std::vector<Size>;
using Sizes = std::span<const std::int64_t>;

struct Call {
  // The beginning of a line of tests/c_api/exported_symbols*.txt, or for a C function the entire
  // line. The line must also contain the text after a *, if there is one.
  std::string_view symbol;
  std::string what;  // the variant, if there are several
  SizeList sizes;    // none: the function takes no size
  // Calls the function through the attempt. Objects that the call makes are destroyed with the
  // outcome.
  std::function<Outcome(Attempt&, Sizes)> make;

  // function(sizes) or function() returns a Status, a Result, an Outcome or, if it cannot fail,
  // another value. It may fetch operands, but must allocate only inside public functions. A
  // function(attempt, sizes) may make objects before it calls attempt().
  template <class Function>
  Call(std::string_view of, std::string_view way, SizeList list, Function function)
      : symbol(of), what(way), sizes(std::move(list)), make(through_attempt(std::move(function))) {}
  template <class Function>
  Call(std::string_view of, std::string_view way, Function function)
      : Call(of, way, {}, std::move(function)) {}
  template <class Function>
  Call(std::string_view of, Function function) : Call(of, {}, {}, std::move(function)) {}

  [[nodiscard]] std::string name() const { return std::string(symbol) + " " + what; }

 private:
  template <class Function>
  static auto through_attempt(Function function) {
    return [function](Attempt& attempt, Sizes n) mutable {
      if constexpr (std::is_invocable_v<Function&, Attempt&, Sizes>) {
        return outcome_of(function(attempt, n));
      } else if constexpr (std::is_invocable_v<Function&, Sizes>) {
        return outcome_of(attempt([&] { return function(n); }));
      } else {
        return outcome_of(attempt([&] { return function(); }));
      }
    };
  }
};

using Calls = std::vector<Call>;

// Calls function with these operands: values, or functions that make values from the sizes.
template <class Function, class... Operands>
[[nodiscard]] auto with(Function function, Operands... operands) {
  return [=](Sizes n) {
    const auto made = [n](const auto& operand) -> decltype(auto) {
      if constexpr (std::is_invocable_v<decltype(operand), Sizes>) {
        return operand(n);
      } else {
        return (operand);
      }
    };
    return function(made(operands)...);
  };
}

// Adds calls of one variant with the same sizes. with() binds the operands. Without operands, Call
// gets the function itself.
struct Adding {
  Calls& calls;
  std::string what = {};
  SizeList sizes = {};

  template <class Function, class... Operands>
  void operator()(std::string_view symbol, Function function, Operands... operands) const {
    if constexpr (sizeof...(Operands) == 0) {
      calls.emplace_back(symbol, what, sizes, std::move(function));
    } else {
      calls.emplace_back(symbol, what, sizes, with(std::move(function), std::move(operands)...));
    }
  }
};

// Operands whose extents are the sizes with these indices.
template <std::size_t... I>
[[nodiscard]] HeadsView heads_at(Sizes n) {
  return heads({n[I]...});
}
template <std::size_t... I>
[[nodiscard]] TokensView tokens_at(Sizes n) {
  return tokens({n[I]...});
}
template <std::size_t... I>
[[nodiscard]] ScoresView scores_at(Sizes n) {
  return scores({n[I]...});
}
template <std::size_t Rows, std::size_t Features>
[[nodiscard]] TableView table_at(Sizes n) {
  return table(n[Rows], n[Features]);
}

void add(Calls& all, Calls more);

[[nodiscard]] Calls dialect_calls();
[[nodiscard]] Calls identify_calls();
[[nodiscard]] Calls model_calls();
[[nodiscard]] Calls rotation_calls();
[[nodiscard]] Calls cache_calls();
[[nodiscard]] Calls attention_calls();
[[nodiscard]] Calls relative_calls();
[[nodiscard]] Calls positions_calls();
[[nodiscard]] Calls absolute_calls();
[[nodiscard]] Calls c_model_calls();
[[nodiscard]] Calls c_calls();
[[nodiscard]] Calls core_calls();  // all of the above
[[nodiscard]] Calls threads_calls();

// The natural sizes of a call, then the same with one size negative, so that the call refuses them.
[[nodiscard]] std::vector<std::vector<std::int64_t>> sizes_to_try(const Call& call);

// Cuts a call into three parts and runs them in order on the calling thread.
[[nodiscard]] Executor in_parts() noexcept;

// During its lifetime, in_parts() runs each part through the attempt.
class PartsThrough {
 public:
  explicit PartsThrough(Attempt& attempt) noexcept;
  ~PartsThrough();
  PartsThrough(const PartsThrough&) = delete;
  PartsThrough& operator=(const PartsThrough&) = delete;
};

// Lines of a list of exported symbols that no call names, and symbols of calls that do not name
// exactly one line.
[[nodiscard]] std::vector<std::string> unmatched_symbols(const Calls& calls,
                                                         const std::string& list);

}  // namespace rotary::test
