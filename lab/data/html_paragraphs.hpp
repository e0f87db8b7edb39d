// SPDX-License-Identifier: Apache-2.0
// The text of the paragraphs of an HTML page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rotary::lab {

// Each <p> in the order of the page, empty ones included: without tags, entities decoded, white
// space reduced to one space. The page is UTF-8; malformed parts are read as browsers do, as far as
// libxml2 goes. A page that cannot be read at all has no paragraphs.
[[nodiscard]] std::vector<std::string> html_paragraphs(std::string_view page);

}  // namespace rotary::lab
