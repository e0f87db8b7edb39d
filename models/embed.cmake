# SPDX-License-Identifier: Apache-2.0
# cmake -DOUTPUT=<file>.cpp "-DCARDS=<name>;<name>;..." -P embed.cmake
# Writes the cards of this folder as the source that defines model_cards() of cli/model_cards.hpp.
set(rows "")
foreach(name IN LISTS CARDS)
  file(READ "${CMAKE_CURRENT_LIST_DIR}/${name}.json" json)
  string(JSON source ERROR_VARIABLE error GET "${json}" _source)
  if(error)
    message(FATAL_ERROR "models/${name}.json must be JSON with a _source: ${error}")
  endif()
  # A params.json has no model_type.
  string(JSON model_type ERROR_VARIABLE error GET "${json}" model_type)
  if(error)
    set(model_type "")
  endif()
  string(APPEND rows "    {.name = \"${name}\"sv,\n"
    "     .model_type = \"${model_type}\"sv,\n"
    "     .source = R\"card(${source})card\"sv,\n"
    "     .json = R\"card(${json})card\"sv},\n")
endforeach()

file(WRITE "${OUTPUT}" "// Written by models/embed.cmake.
#include \"cli/model_cards.hpp\"

#include <array>

namespace rotary::cli {
namespace {

using namespace std::string_view_literals;

constexpr auto cards = std::to_array<ModelCard>({
${rows}});

}  // namespace

std::span<const ModelCard> model_cards() noexcept { return cards; }

}  // namespace rotary::cli
")
