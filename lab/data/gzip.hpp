// SPDX-License-Identifier: Apache-2.0
// Files that come compressed, as manual pages do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rotary::lab {

[[nodiscard]] bool is_gzip(std::string_view bytes) noexcept;

// What a gzip file holds, every member of it. Fails where it is damaged or holds more than
// limit_bytes; name is what messages call it.
[[nodiscard]] std::string decompress_gzip(std::string_view bytes, std::uint64_t limit_bytes,
                                          const std::string& name);

}  // namespace rotary::lab
