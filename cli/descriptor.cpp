// SPDX-License-Identifier: Apache-2.0
#include "cli/descriptor.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

namespace rotary::cli {

int Descriptor::close() noexcept {
  const int number = std::exchange(number_, -1);
  // After EINTR Linux has closed it.
  return number <= STDERR_FILENO || ::close(number) == 0 || errno == EINTR ? 0 : errno;
}

int write_all(int descriptor, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace rotary::cli
