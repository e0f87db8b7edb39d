# SPDX-License-Identifier: Apache-2.0
"""Compares the numbers of claims 22 to 24 with NumPy's, computed here in double."""

import math

import numpy as np

from tool import ToolTest

D = 64
MASK = 2**64 - 1


def mt19937_64(seed):
    """Yields the numbers of C++'s std::mt19937_64. NumPy has only the 32-bit engine."""
    state = [seed & MASK]
    for i in range(1, 312):
        last = state[-1]
        state.append((6364136223846793005 * (last ^ last >> 62) + i) & MASK)
    while True:
        for i in range(312):
            bits = state[i] & ~0x7FFFFFFF | state[(i + 1) % 312] & 0x7FFFFFFF
            odd = 0xB5026F5AA96619E9 if bits & 1 else 0
            state[i] = state[(i + 156) % 312] ^ bits >> 1 ^ odd
        for x in list(state):
            x ^= x >> 29 & 0x5555555555555555
            x ^= x << 17 & 0x71D67FFFEDA60000
            x ^= x << 37 & 0xFFF7EEE000000000
            yield (x ^ x >> 43) & MASK


def normals(seed, *shape):
    draw = mt19937_64(seed)
    count = math.prod(shape)
    uniform = np.array([((next(draw) >> 11) + 0.5) * 2.0**-53 for _ in range(count + count % 2)])
    waves = np.sqrt(-2 * np.log(uniform[::2])) * np.exp(2j * np.pi * uniform[1::2])
    return np.stack([waves.real, waves.imag], 1).reshape(-1)[:count].reshape(shape)


def word_vector(word):
    hash = 0xCBF29CE484222325
    for letter in word.encode():
        hash = (hash ^ letter) * 0x100000001B3 & MASK
    vector = normals(hash ^ 22, D)
    return vector * math.sqrt(D / (vector @ vector))


INV_FREQ = 1e4 ** (-np.arange(0, D, 2) / D)
PROJECTIONS = [normals(seed, D, D) / math.sqrt(D) for seed in (23, 24, 25)]
LEARNED = normals(30, 1024, D)
SHAW = normals(31, 9, D)
T5 = normals(32, 32)


def turned(x, positions, signs=0):
    """Applies RoPE with pairing half. With signs 1 or -1 it applies xPos for queries or keys."""
    z = (x[:, : D // 2] + 1j * x[:, D // 2 :]) * np.exp(1j * np.outer(positions, INV_FREQ))
    zeta = (np.arange(0, D, 2) / D + 0.4) / 1.4
    z = z * zeta ** (signs * positions[:, None] / 512)
    return np.concatenate([z.real, z.imag], 1)


def sinusoidal(positions):
    angles = np.outer(positions, INV_FREQ)
    return np.stack([np.sin(angles), np.cos(angles)], 2).reshape(len(positions), D)


def t5(distance, _):
    # All distances in these sentences are below 8, so each has its own bucket.
    return T5[np.abs(distance) + 16 * (distance > 0)]


def fire(distance, query):
    x = np.log(0.1 * np.abs(distance) + 1) / (np.log(0.1 * np.maximum(query, 512) + 1) + 1e-6)
    return -2 * np.maximum(0, 4 * x) + np.maximum(0, 1 - 2 * x)


def sandwich(distance, _):
    waves = np.cos(distance[..., None] * 1e4 ** (-2 * np.arange(1, D // 2 + 1) / D))
    return (waves.sum(-1) - D / 2) / 8


# Functions of the distance (key - query) and the query's position.
BIASES = {
    "T5, random table": t5,
    "TISA, a bump at -1": lambda r, _: 2 * np.exp(-0.5 * (r + 1) ** 2),
    "ALiBi, slope 1/2, symmetric": lambda r, _: -0.5 * np.abs(r),
    "KERPLE, log, p = a = 1": lambda r, _: -np.log1p(np.abs(r)),
    "KERPLE, power, a = 1, p = 1/2": lambda r, _: -np.sqrt(np.abs(r)),
    "Sandwich": sandwich,
    "FIRE": fire,
}
SHAW_NAME = "Shaw, random vectors, clip 4"
ENCODINGS = ["sinusoidal", "learned, random", "RoPE", "xPos", SHAW_NAME, *BIASES]


def attended(x, encoding="", first=0, hidden=None):
    """Returns outputs and weights of attention. Masks each distance (key - query) for which
    hidden(distance) is true."""
    positions = first + np.arange(len(x))
    if encoding == "sinusoidal":
        x = x + sinusoidal(positions)
    if encoding == "learned, random":
        x = x + LEARNED[positions]
    q, k, v = (x @ matrix for matrix in PROJECTIONS)
    distance = positions[None, :] - positions[:, None]
    if encoding in ("RoPE", "xPos"):
        sign = 1 if encoding == "xPos" else 0
        q, k = turned(q, positions, sign), turned(k, positions, -sign)
    scores = q @ k.T
    if encoding == SHAW_NAME:
        scores += np.einsum("if,ijf->ij", q, SHAW[np.clip(distance, -4, 4) + 4])
    scores /= math.sqrt(D)
    if encoding in BIASES:
        scores += BIASES[encoding](distance, positions[:, None])
    if hidden is not None:
        scores[hidden(distance)] = -np.inf
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    return weights @ v, weights


def vectors(sentence):
    return np.array([word_vector(word) for word in sentence.split()])


def later(distance):
    return distance > 0


def by_word(sentence, **how):
    """Maps (word, number of equal words before it) to the output of the word."""
    given, out = {}, attended(vectors(sentence), **how)[0]
    for word, row in zip(sentence.split(), out):
        given[word, sum(word == other for other, _ in given)] = row
    return given


def changed(one, other, **how):
    there = by_word(other, **how)
    return max(np.abs(row - there[word]).max() for word, row in by_word(one, **how).items())


WARRIORS = "Warriors beat Celtics", "Celtics beat Warriors"
DOG = "the dog chases the pig", "the pig chases the dog"
QUESTION = "You know Warriors beat Celtics ?"


class SentencesTest(ToolTest):
    def numbers(self, claim, evidence):
        (found,) = self.run_json("claims", "claims", claim)["claims"]
        return {each["name"]: each["value"] for each in found["evidence"][evidence]["numbers"]}

    def assert_numbers(self, claim, evidence, wanted):
        numbers = self.numbers(claim, evidence)
        self.assertEqual(set(numbers), set(wanted))
        for name, value in wanted.items():
            self.assertAlmostEqual(numbers[name], value, delta=1e-5, msg=name)

    def test_differences_between_word_orders_equal_those_of_numpy(self):
        for evidence, hidden in ((0, None), (1, later)):
            def mean(sentence):
                return attended(vectors(sentence), hidden=hidden)[0].mean(0)

            self.assert_numbers(22, evidence, {
                "Warriors, beat, Celtics": changed(*WARRIORS, hidden=hidden),
                "the mean of these": np.abs(mean(WARRIORS[0]) - mean(WARRIORS[1])).max(),
                "the, dog, chases, the, pig": changed(*DOG, hidden=hidden),
                "the mean of those": np.abs(mean(DOG[0]) - mean(DOG[1])).max(),
            })

    def test_differences_for_each_encoding_equal_those_of_numpy(self):
        self.assert_numbers(22, 2, {name: changed(*DOG, encoding=name) for name in ENCODINGS})

    def test_differences_of_mirrored_sentences_equal_those_of_numpy(self):
        names = set(ENCODINGS) - {"sinusoidal", "learned, random", "FIRE"}
        self.assert_numbers(22, 3, {name: changed(*WARRIORS, encoding=name) for name in names})

    def test_differences_after_one_and_two_layers_equal_those_of_numpy(self):
        def last(sentence, layers):
            x = vectors(sentence)
            for _ in range(layers - 1):
                x = x + attended(x, hidden=later)[0]
            return attended(x, hidden=later)[0][-1]

        def difference(layers):
            return np.abs(last(DOG[0], layers) - last("chases the the dog pig", layers)).max()

        self.assert_numbers(22, 4, {"one layer": difference(1), "two layers": difference(2)})
        twice, once = (attended(vectors(sentence))[0].mean(0)
                       for sentence in (DOG[0], "the dog chases pig"))
        self.assert_numbers(22, 5, {"the mean, with and without a second 'the'":
                                    np.abs(twice - once).max()})

    def test_weights_beyond_clip_and_window_equal_those_of_numpy(self):
        def beyond(distance):
            return np.abs(distance) > 4

        x = normals(26, 64, D)
        outside = beyond(np.arange(64)[None, :] - np.arange(64)[:, None])
        for evidence, names, hidden in ((0, ("clip of 4", "no encoding at all"), None),
                                        (1, ("window of 4, clip of 4", "window of 4"), beyond)):
            self.assert_numbers(23, evidence, {
                name: (attended(x, encoding, hidden=hidden)[1] * outside).sum() / 64
                for name, encoding in zip(names, (SHAW_NAME, ""))
            })
        first = attended(np.repeat(normals(27, 1, D), 64, 0), SHAW_NAME)[1][0]
        self.assert_numbers(23, 2, {"0 to 4 tokens away": first[:5].max() / first[:5].min(),
                                    "4 to 63 tokens away": 1})

    def test_differences_of_moved_sentences_equal_those_of_numpy(self):
        def difference(encoding, first, sentence=QUESTION):
            words = sentence.split()
            row = attended(vectors(sentence), encoding, first)[1][words.index("Warriors")]
            return math.log(row[words.index("Celtics")] / row[words.index("beat")])

        def moved(encoding, by):
            return abs(difference(encoding, by) - difference(encoding, 0))

        relative = self.numbers(24, 0)
        self.assertEqual(len(relative), 10)
        self.assertLess(max(relative.values()), 1e-5)
        wanted = {f"{name}, moved by {by}": moved(name, by)
                  for name in ("sinusoidal", "learned, random") for by in (1, 10, 100, 1000)}
        self.assert_numbers(24, 1, wanted | {"FIRE, moved by 1000": moved("FIRE", 1000)})
        weights = {}
        exclamation = "Warriors beat Celtics , that is great !"
        for name, sentence in (("one", QUESTION), ("other", exclamation)):
            words = sentence.split()
            row = attended(vectors(sentence), "RoPE")[1][words.index("Warriors")]
            weights[f"weight in the {name}"] = row[words.index("Celtics")]
        self.assert_numbers(24, 2, weights | {"change of Celtics' score minus beat's score": 0})
