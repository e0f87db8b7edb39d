// SPDX-License-Identifier: Apache-2.0
#include "lab/data/grammar.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

#include "lab/data/invented_words.hpp"
#include "lab/data/random.hpp"

namespace rotary::lab {
namespace {

// The first words are the frequent ones.
const std::string& choose(Random& random, const Words& words) {
  return words[choose_rank(random, words.size())];
}

// Shared by all documents.
struct Language {
  Words nouns, verbs, adjectives;
};

// A document has names and a few nouns of its own, which it returns to.
struct Topic {
  Words names, nouns;
};

class Writer {
 public:
  Writer(Random& random, const Language& language) : random_(random), language_(language) {
    for (int n = 0; n < 4; ++n) {
      std::string name = make_word(random_, 2);
      name[0] = static_cast<char>(name[0] - 'a' + 'A');
      topic_.names.push_back(name);
    }
    for (int n = 0; n < 6; ++n) topic_.nouns.push_back(choose(random_, language_.nouns));
  }

  std::string document() {
    std::string text;
    const std::int64_t paragraphs = 2 + random_.below(5);
    for (std::int64_t n = 0; n < paragraphs; ++n) {
      const std::int64_t sentences = 2 + random_.below(5);
      for (std::int64_t s = 0; s < sentences; ++s)
        text += sentence() + (s + 1 < sentences ? " " : "");
      text += "\n";
    }
    return text + "\n";
  }

 private:
  // The verb agrees with its subject, whatever stands between them.
  std::string sentence() {
    const bool plural = random_.below(2) == 0;
    std::string text = subject(plural);
    if (random_.below(4) == 0) text += " of " + topic_.names[pick(topic_.names)];
    text += " " + choose(random_, language_.verbs) + (plural ? "" : "s");
    if (random_.below(3) != 0) text += " " + subject(random_.below(2) == 0);
    if (random_.below(5) == 0) return topic_.names[pick(topic_.names)] + " said that " + text + ".";
    if (random_.below(6) == 0) text += " (" + subject(false) + ")";
    return text + ".";
  }

  std::string subject(bool plural) {
    if (!plural && random_.below(3) == 0) return topic_.names[pick(topic_.names)];
    std::string text = plural ? "these " : "the ";
    if (random_.below(3) == 0) text += choose(random_, language_.adjectives) + " ";
    const bool own = random_.below(2) == 0;
    text += own ? topic_.nouns[pick(topic_.nouns)] : choose(random_, language_.nouns);
    return text + (plural ? "s" : "");
  }

  std::size_t pick(const Words& words) {
    return static_cast<std::size_t>(random_.below(std::ssize(words)));
  }

  Random& random_;
  const Language& language_;
  Topic topic_;
};

}  // namespace

GrammarText generate_text(std::uint64_t seed, std::int64_t bytes) {
  Random random(seed);
  Language language;
  language.nouns = make_words(random, 600);
  language.verbs = make_words(random, 200);
  language.adjectives = make_words(random, 150);
  GrammarText made;
  while (std::ssize(made.text) < bytes) {
    const std::string document = Writer(random, language).document();
    made.text += document;
    made.documents.push_back(std::ssize(document));
  }
  return made;
}

}  // namespace rotary::lab
