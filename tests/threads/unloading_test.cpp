// SPDX-License-Identifier: Apache-2.0
// Loads rotary::threads, uses it, unloads it and forks. After the unloading, nothing may call the
// library's code. This test does not link the library.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "rotary/rotary_threads.h"

namespace {

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

void count_visit(void* state, int64_t index) {
  ++(*static_cast<std::vector<int>*>(state))[static_cast<std::size_t>(index)];
}

TEST(Unloading, AForkAfterUnloadingExitsNormally) {
  void* const library = dlopen(ROTARY_THREADS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  rotary_threads* threads = nullptr;
  ASSERT_EQ(find<decltype(rotary_threads_start)>(library, "rotary_threads_start")(3, &threads),
            ROTARY_OK);
  rotary_executor executor = ROTARY_EXECUTOR_INIT;
  ASSERT_EQ(find<decltype(rotary_threads_executor)>(library, "rotary_threads_executor")(threads,
                                                                                        &executor),
            ROTARY_OK);
  std::vector<int> visits(100, 0);
  executor.run(executor.context, 100, count_visit, &visits);
  EXPECT_EQ(visits, std::vector<int>(100, 1));
  find<decltype(rotary_threads_stop)>(library, "rotary_threads_stop")(threads);
  ASSERT_EQ(dlclose(library), 0);
  EXPECT_EQ(dlopen(ROTARY_THREADS_LIBRARY, RTLD_NOW | RTLD_NOLOAD), nullptr) << "still loaded";
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
