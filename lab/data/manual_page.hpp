// SPDX-License-Identifier: Apache-2.0
// The words of a manual page, out of the requests of roff around them (man(7), mdoc(7)).
#pragma once

#include <string>
#include <string_view>

namespace rotary::lab {

// Text, headings of sections among it, without fonts, comments, and what says at once which page
// of which section this is: the title line and the first section, NAME. Line ends stay where the
// source has them. "" for a page that only refers to another one.
[[nodiscard]] std::string words_of_manual(std::string_view roff);

}  // namespace rotary::lab
