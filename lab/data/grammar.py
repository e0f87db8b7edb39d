# SPDX-License-Identifier: Apache-2.0
"""Generated text for machines without other data. The grammars are seeded, so the text is the same
everywhere.

Predicting text_documents() needs spelling, word order, agreement across words, and names that a
document repeats, as prose does. Translating pair_documents() needs more than a dictionary. Nouns
have a gender, with which articles and adjectives agree. Objects have a case. Adjectives follow
nouns. The verb ends a subordinate clause, and the main verb then precedes its subject."""

SEED = 1
TEXT_BYTES = 4 << 20
PAIRS = 20_000
PAIRS_OF_DOCUMENT = 10


def split_mix(state):
    """SplitMix64 (Steele, Lea and Flood 2014), as in lab/data/batches.hpp."""
    mask = (1 << 64) - 1
    while True:
        state = (state + 0x9e3779b97f4a7c15) & mask
        z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9 & mask
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb & mask
        yield z ^ (z >> 31)


class Chance:
    def __init__(self, seed):
        self.numbers = split_mix(seed)

    def below(self, end):
        return next(self.numbers) % end

    def one_in(self, count):
        return self.below(count) == 0

    def pick(self, items):
        return items[self.below(len(items))]

    def choose(self, items):
        """Prefers the first items, like Zipf's law: log-uniform ranks."""
        uniform = ((next(self.numbers) >> 11) + 0.5) * 2.0 ** -53
        return items[int(float(len(items)) ** uniform) - 1]

    def word(self, syllables):
        return "".join(self.pick(part) for _ in range(syllables) for part in
                       ("bcdfghklmnprstvwz", "aeiou", ("", "", "n", "r", "s", "l")))

    def name(self):
        return self.word(2).capitalize()


def text_documents(seed, size):
    chance = Chance(seed)
    nouns, verbs, adjectives = ([chance.word(1 + chance.below(3)) for _ in range(count)]
                                for count in (600, 200, 150))
    made = 0
    while made < size:
        # Each document repeats its own names and nouns.
        names = [chance.name() for _ in range(4)]
        own = [chance.choose(nouns) for _ in range(6)]

        def subject(plural, names=names, own=own):
            if not plural and chance.one_in(3):
                return chance.pick(names)
            adjective = chance.choose(adjectives) + " " if chance.one_in(3) else ""
            noun = chance.pick(own) if chance.one_in(2) else chance.choose(nouns)
            return ("these " if plural else "the ") + adjective + noun + "s" * plural

        def sentence(names=names, subject=subject):
            plural = chance.one_in(2)
            text = subject(plural)
            if chance.one_in(4):
                text += " of " + chance.pick(names)
            # The verb agrees with its subject across the words between.
            text += " " + chance.choose(verbs) + "s" * (not plural)
            if not chance.one_in(3):
                text += " " + subject(chance.one_in(2))
            if chance.one_in(5):
                return f"{chance.pick(names)} said that {text}."
            return f"{text} ({subject(False)})." if chance.one_in(6) else text + "."

        text = "".join(" ".join(sentence() for _ in range(2 + chance.below(5))) + "\n"
                       for _ in range(2 + chance.below(5))) + "\n"
        made += len(text)
        yield text.encode()


def pair_documents(seed, count):
    chance = Chance(seed)
    nouns, verbs, adjectives, conjunctions = (
        [(chance.word(1 + chance.below(2)), chance.word(1 + chance.below(2)), chance.below(3))
         for _ in range(size)] for size in (120, 60, 40, 4))

    def phrase():
        """Returns a phrase in the first language, its translations as subject and as object, and
        whether it is plural."""
        (here, there, gender), plural = chance.choose(nouns), chance.one_in(3)
        adjective = chance.choose(adjectives) if chance.one_in(3) else None
        if chance.one_in(8):
            name = chance.name()  # the same in both languages
            return name, (name, name), False
        form = "e" if plural else "aio"[gender]
        after = there + "en" * plural + (f" {adjective[1]}k{form}" if adjective else "")
        return (("these " if plural else "the ") + (adjective[0] + " " if adjective else "")
                + here + "s" * plural, (f"d{form} {after}", f"d{form}n {after}"), plural)

    def clause():
        """A clause in the first language; subject, verb and object in the second."""
        (here, (subject, _), plural), verb = phrase(), chance.choose(verbs)
        other, (_, target), _ = phrase()
        negative = chance.one_in(5)
        acts = (("do not " if plural else "does not ") + verb[0] if negative
                else verb[0] + "s" * (not plural))
        return (f"{here} {acts} {other}", subject, verb[1] + ("um" if plural else "et"),
                target + " ne" * negative)

    def pair():
        here, subject, verb, target = clause()
        if not chance.one_in(3):
            return f"{here}.\t{subject} {verb} {target}.\n"
        also, subject2, verb2, target2 = clause()
        first, second, _ = chance.choose(conjunctions)
        return (f"{first} {here}, {also}.\t{second} {subject} {target} {verb}, "
                f"{verb2} {subject2} {target2}.\n")

    for _ in range(0, count, PAIRS_OF_DOCUMENT):
        yield "".join(pair() for _ in range(PAIRS_OF_DOCUMENT)).encode()
