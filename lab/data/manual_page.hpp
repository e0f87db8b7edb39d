// SPDX-License-Identifier: Apache-2.0
// The words of a manual page, out of the requests of roff around them (man(7), mdoc(7)).
#pragma once

#include <string>
#include <string_view>

namespace rotary::lab {

// The text, with headings of sections, without fonts, comments, and the parts that reveal the page
// and its section: the title line and the first section, NAME. Line ends stay as in the source. ""
// for a page that only refers to another one.
[[nodiscard]] std::string words_of_manual(std::string_view roff);

}  // namespace rotary::lab
