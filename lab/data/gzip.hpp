// SPDX-License-Identifier: Apache-2.0
// Files that come compressed, as manual pages do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rotary::lab {

[[nodiscard]] bool is_gzip(std::string_view bytes) noexcept;

// The content of a gzip file, all its members. Fails if it is damaged or holds more than
// limit_bytes; messages call it `name`.
[[nodiscard]] std::string decompress_gzip(std::string_view bytes, std::uint64_t limit_bytes,
                                          const std::string& name);

}  // namespace rotary::lab
