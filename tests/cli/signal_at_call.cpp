// SPDX-License-Identifier: Apache-2.0
// A library that LD_PRELOAD loads into the tool. Each call that opens, makes, writes, renames or
// removes a file has two moments, before and after it. The library counts moments and raises
// ROTARY_SIGNAL at moment ROTARY_MOMENT.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>

namespace {

void pass_moment() {
  static long left = std::atol(std::getenv("ROTARY_MOMENT"));
  if (left-- == 0) static_cast<void>(::raise(std::atoi(std::getenv("ROTARY_SIGNAL"))));
}

template <class Result, class... Values>
Result between_moments(const char* name, Values... values) {
  pass_moment();
  const auto call = reinterpret_cast<Result (*)(Values...)>(::dlsym(RTLD_NEXT, name));
  const Result result = call(values...);
  const int error = errno;
  pass_moment();
  errno = error;
  return result;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : mode_t{};
  va_end(rest);
  return between_moments<int>("open", path, flags, mode);
}

int mkdir(const char* path, mode_t mode) noexcept {
  return between_moments<int>("mkdir", path, mode);
}

ssize_t write(int file, const void* bytes, size_t count) {
  return between_moments<ssize_t>("write", file, bytes, count);
}

int renameat2(int from, const char* old_path, int to, const char* path, unsigned flags) noexcept {
  return between_moments<int>("renameat2", from, old_path, to, path, flags);
}

int unlink(const char* path) noexcept { return between_moments<int>("unlink", path); }

}  // extern "C"
