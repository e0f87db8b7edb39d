// SPDX-License-Identifier: Apache-2.0
#include "lab/data/html_paragraphs.hpp"

#include <libxml/HTMLparser.h>
#include <libxml/tree.h>

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::lab {
namespace {

std::string_view name_of(const xmlNode* node) {
  // libxml2's characters are bytes of UTF-8, unsigned.
  return node->name == nullptr ? "" : reinterpret_cast<const char*>(node->name);
}

bool is_element(const xmlNode* node, std::string_view name) {
  return node->type == XML_ELEMENT_NODE && name_of(node) == name;
}

// The node after it in the order of the text, inside root; null at the end.
const xmlNode* after(const xmlNode* node, const xmlNode* root) {
  while (node != root && node->next == nullptr) node = node->parent;
  return node == root ? nullptr : node->next;
}

const xmlNode* next(const xmlNode* node, const xmlNode* root) {
  return node->children != nullptr ? node->children : after(node, root);
}

void append_words(std::string& text, std::string_view more) {
  for (const char c : more) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
    if (!space) text += c;
    if (space && !text.empty() && text.back() != ' ') text += ' ';
  }
}

std::string text_of(const xmlNode* paragraph) {
  std::string text;
  const xmlNode* node = paragraph->children;
  while (node != nullptr) {
    if (node->type == XML_TEXT_NODE && node->content != nullptr)
      append_words(text, reinterpret_cast<const char*>(node->content));
    if (is_element(node, "br")) append_words(text, " ");
    const bool no_text = is_element(node, "script") || is_element(node, "style");
    node = no_text ? after(node, paragraph) : next(node, paragraph);
  }
  if (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace

std::vector<std::string> html_paragraphs(std::string_view page) {
  if (page.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return {};
  const int options =
      HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NONET;
  const std::unique_ptr<xmlDoc, decltype(&xmlFreeDoc)> document(
      htmlReadMemory(page.data(), static_cast<int>(page.size()), nullptr, "UTF-8", options),
      &xmlFreeDoc);
  const xmlNode* const root = document ? xmlDocGetRootElement(document.get()) : nullptr;
  std::vector<std::string> paragraphs;
  for (const xmlNode* node = root; node != nullptr; node = next(node, root)) {
    if (is_element(node, "p")) paragraphs.push_back(text_of(node));
  }
  return paragraphs;
}

}  // namespace rotary::lab
