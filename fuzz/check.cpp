// SPDX-License-Identifier: Apache-2.0
#include "fuzz/check.hpp"

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "apps/utf8.hpp"

namespace rotary::fuzz {

void fail(std::string_view what, std::string_view got) {
  std::fprintf(stderr, "fuzz: %.*s%s%.*s\n", static_cast<int>(what.size()), what.data(),
               got.empty() ? "" : ": ", static_cast<int>(got.size()), got.data());
  std::abort();
}

void check_text(std::string_view text) {
  constexpr std::size_t longest = 1000;
  if (text.empty()) fail("a message must not be empty");
  if (text.size() > longest)
    fail("a message must have at most 1000 bytes", text.substr(0, longest));
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = cli::utf8_sequence_length(rest);
    if (length == 0) fail("a message must be UTF-8", text);
    rest.remove_prefix(length);
  }
}

void check_error(const Error& error) {
  switch (error.code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::malformed_input:
    case ErrorCode::unsupported:
      check_text(error.message);
      return;
    case ErrorCode::out_of_memory:
      fail("a small input must not take all memory");
  }
  fail("an error must have a code that exists");
}

void check_executor(test::CountingExecutor& used, std::int64_t most_calls) {
  if (used.calls() > most_calls) fail("an executor must not be called more often");
  if (used.calls() > 0 && used.tasks() > used.executor().concurrency) {
    fail("a call must have at most as many tasks as the executor's concurrency");
  }
}

}  // namespace rotary::fuzz
