// SPDX-License-Identifier: Apache-2.0

#include "lab/data/grammar.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/data/batches.hpp"

namespace rotary::lab {

std::string make_word(Random& random, std::int64_t syllables) {
  constexpr std::string_view onsets = "bcdfghklmnprstvwz";
  constexpr std::string_view vowels = "aeiou";
  constexpr std::array<std::string_view, 6> codas = {"", "", "n", "r", "s", "l"};
  std::string word;
  for (std::int64_t n = 0; n < syllables; ++n) {
    word += onsets[static_cast<std::size_t>(random.below(std::ssize(onsets)))];
    word += vowels[static_cast<std::size_t>(random.below(std::ssize(vowels)))];
    word += codas[static_cast<std::size_t>(random.below(std::ssize(codas)))];
  }
  return word;
}

Words make_words(Random& random, std::int64_t count) {
  Words words;
  for (std::int64_t n = 0; n < count; ++n) words.push_back(make_word(random, 1 + random.below(3)));
  return words;
}

std::size_t choose_rank(Random& random, std::size_t count) {
  return static_cast<std::size_t>(std::pow(static_cast<double>(count), random.uniform())) - 1;
}

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

namespace {

constexpr std::int64_t pairs_of_document = 10;

enum class Case : std::uint8_t { subject, object };
enum class Order : std::uint8_t { main, subordinate, inverted };

struct Entry {
  std::string here;
  std::string there;
  std::size_t gender = 0;  // of a noun there
};
using Lexicon = std::vector<Entry>;

struct Lexicons {
  Lexicon nouns, verbs, adjectives, conjunctions;
};

Lexicon make_lexicon(Random& random, std::int64_t count) {
  Lexicon lexicon;
  for (std::int64_t n = 0; n < count; ++n) {
    std::string here = make_word(random, 1 + random.below(2));
    std::string there = make_word(random, 1 + random.below(2));
    const auto gender = static_cast<std::size_t>(random.below(3));
    lexicon.push_back({.here = std::move(here), .there = std::move(there), .gender = gender});
  }
  return lexicon;
}

struct NounPhrase {
  Entry noun;
  Entry adjective;  // empty: none
  bool plural = false;
  bool name = false;
};

struct Clause {
  NounPhrase subject;
  Entry verb;
  NounPhrase object;
  bool negative = false;
};

std::string here(const NounPhrase& phrase) {
  if (phrase.name) return phrase.noun.here;
  std::string text = phrase.plural ? "these " : "the ";
  if (!phrase.adjective.here.empty()) text += phrase.adjective.here + " ";
  return text + phrase.noun.here + (phrase.plural ? "s" : "");
}

std::string there(const NounPhrase& phrase, Case used) {
  constexpr std::array<std::string_view, 4> articles = {"da", "di", "do", "de"};
  constexpr std::array<std::string_view, 4> suffixes = {"ka", "ki", "ko", "ke"};
  if (phrase.name) return phrase.noun.here;
  const std::size_t form = phrase.plural ? 3 : phrase.noun.gender;
  std::string text = std::string(articles[form]) + (used == Case::object ? "n " : " ");
  text += phrase.noun.there + (phrase.plural ? "en" : "");
  if (!phrase.adjective.there.empty())
    text += " " + phrase.adjective.there + std::string(suffixes[form]);
  return text;
}

std::string here(const Clause& clause) {
  const bool plural = clause.subject.plural;
  const std::string verb = clause.negative ? (plural ? "do not " : "does not ") + clause.verb.here
                                           : clause.verb.here + (plural ? "" : "s");
  return here(clause.subject) + " " + verb + " " + here(clause.object);
}

std::string there(const Clause& clause, Order order) {
  const std::string subject = there(clause.subject, Case::subject);
  const std::string object = there(clause.object, Case::object) + (clause.negative ? " ne" : "");
  const std::string verb = clause.verb.there + (clause.subject.plural ? "um" : "et");
  switch (order) {
    case Order::subordinate:
      return subject + " " + object + " " + verb;
    case Order::inverted:
      return verb + " " + subject + " " + object;
    case Order::main:
      break;
  }
  return subject + " " + verb + " " + object;
}

class Speaker {
 public:
  Speaker(Random& random, const Lexicons& words) : random_(random), words_(words) {}

  std::string pair() {
    const Clause first = clause();
    if (random_.below(3) != 0) return here(first) + ".\t" + there(first, Order::main) + ".\n";
    const Clause second = clause();
    const Entry& conjunction = choose(words_.conjunctions);
    return conjunction.here + " " + here(first) + ", " + here(second) + ".\t" + conjunction.there +
           " " + there(first, Order::subordinate) + ", " + there(second, Order::inverted) + ".\n";
  }

 private:
  const Entry& choose(const Lexicon& lexicon) {
    return lexicon[choose_rank(random_, lexicon.size())];
  }

  NounPhrase noun_phrase() {
    NounPhrase phrase;
    phrase.noun = choose(words_.nouns);
    phrase.plural = random_.below(3) == 0;
    if (random_.below(3) == 0) phrase.adjective = choose(words_.adjectives);
    if (random_.below(8) != 0) return phrase;
    // A name is the same in both languages.
    std::string name = make_word(random_, 2);
    name[0] = static_cast<char>(name[0] - 'a' + 'A');
    return {.noun = {.here = std::move(name), .there = {}}, .adjective = {}, .name = true};
  }

  Clause clause() {
    Clause clause;
    clause.subject = noun_phrase();
    clause.verb = choose(words_.verbs);
    clause.object = noun_phrase();
    clause.negative = random_.below(5) == 0;
    return clause;
  }

  Random& random_;
  const Lexicons& words_;
};

}  // namespace

PairText generate_pairs(std::uint64_t seed, std::int64_t pairs) {
  Random random(seed);
  Lexicons words;
  words.nouns = make_lexicon(random, 120);
  words.verbs = make_lexicon(random, 60);
  words.adjectives = make_lexicon(random, 40);
  words.conjunctions = make_lexicon(random, 4);
  PairText made;
  for (std::int64_t written = 0; written < pairs; written += pairs_of_document) {
    const std::size_t before = made.text.size();
    for (std::int64_t n = 0; n < pairs_of_document; ++n) made.text += Speaker(random, words).pair();
    made.documents.push_back(static_cast<std::int64_t>(made.text.size() - before));
  }
  return made;
}

}  // namespace rotary::lab
