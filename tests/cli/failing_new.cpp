// SPDX-License-Identifier: Apache-2.0
// A library that LD_PRELOAD loads into the tool. After the start of main() ROTARY_FAILING_NEW
// allocations succeed and the next one fails. With ROTARY_FAILING_NEW_LATER all later ones fail.
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

using Main = int (*)(int, char**, char**);

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

std::atomic<std::size_t> allocations{0};
std::atomic<std::size_t> first_to_fail{never};
std::atomic<std::size_t> last_to_fail{never};
constinit Main main_of_tool = nullptr;

int main_with_failures(int count, char** arguments, char** environment) {
  if (const char* const allowed = std::getenv("ROTARY_FAILING_NEW"); allowed != nullptr) {
    const std::size_t index = allocations + std::strtoull(allowed, nullptr, 10);
    last_to_fail = std::getenv("ROTARY_FAILING_NEW_LATER") != nullptr ? never - 1 : index;
    first_to_fail = index;
  }
  ::unsetenv("ROTARY_FAILING_NEW");  // spares the programs that the tool starts
  return main_of_tool(count, arguments, environment);
}

}  // namespace

// The C library's start code calls this function, which runs initializers and then main().
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): its name
extern "C" int __libc_start_main(Main main, int count, char** arguments, void (*init)(),
                                 void (*fini)(), void (*end)(), void* stack) {
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  main_of_tool = main;
  const auto start = reinterpret_cast<Start>(::dlsym(RTLD_NEXT, "__libc_start_main"));
  return start(main_with_failures, count, arguments, init, fini, end, stack);
}

// The other standard forms of new and delete (arrays, nothrow) call these operators.
void* operator new(std::size_t bytes) {
  const std::size_t index = allocations++;
  const bool fails = index >= first_to_fail && index <= last_to_fail;
  void* const memory = fails ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }
