# SPDX-License-Identifier: Apache-2.0
"""Compares explain's account of each key with `rotary inspect` for the config without the key."""

import copy
import json
import os
import pathlib

from tool import INTERLEAVED, LLAMA, PARTIAL, TWO_TYPES, YARN, ToolTest

CARDS = pathlib.Path(os.environ["ROTARY_CARDS"])
LLAMA3 = LLAMA | {
    "rope_theta": 500000.0,
    "vocab_size": 128256,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 512,
    },
}


def without(config, path):
    changed = copy.deepcopy(config)
    *folders, name = path.split(".")
    place = changed
    for folder in folders:
        place = place[folder]
    del place[name]
    return changed


def key_names(config):
    for name, value in config.items():
        yield name
        if isinstance(value, dict):
            yield from key_names(value)


def values_of(document):
    """Returns inspect's document without warnings and sources."""
    if isinstance(document, list):
        return [values_of(each) for each in document]
    if not isinstance(document, dict):
        return document
    return {name: values_of(value) for name, value in document.items()
            if name not in ("warnings", "sources")}


class ExplainConfigTest(ToolTest):
    def keys_of(self, config, *more):
        document = self.run_json("explain", "explain", self.write_config(config), *more)
        self.assertEqual(document["topic"], "config")
        return document, {key["path"]: key for key in document["keys"]}

    def inspected(self, config):
        self.write_config(config, "changed.json")
        return json.loads(self.run_ok("inspect", "changed.json", "--json"))

    def assert_changes(self, changes, before, after):
        """Each change must name inspect's values before and after it."""
        for change in changes:
            if change["name"] not in before["rotary"][0]:
                continue
            for side, document in [("from", before), ("to", after)]:
                rotary = [
                    each for each in document["rotary"]
                    if len(document["rotary"]) == 1 or each["layer_type"] == change["layer_type"]
                ]
                if change[side] is not None and change["name"] != "inv_freq":
                    self.assertEqual(change[side], rotary[0][change["name"]], change)

    def test_the_use_of_each_key_agrees_with_inspect(self):
        shown = set()
        for config in [LLAMA3, PARTIAL, INTERLEAVED, YARN, TWO_TYPES]:
            _, keys = self.keys_of(config)
            before = self.inspected(config)
            for path, key in keys.items():
                with self.subTest(model_type=config["model_type"], key=path):
                    shown.add(key["use"])
                    changed = without(config, path)
                    if key["use"] == "required":
                        self.write_config(changed, "changed.json")
                        result = self.run_tool("inspect", "changed.json")
                        self.assertNotEqual(result.returncode, 0)
                        self.assertIn(key["without"]["error"], result.stderr.decode())
                        continue
                    after = self.inspected(changed)
                    same = values_of(before) == values_of(after)
                    self.assertEqual(same, key["use"] != "used")
                    self.assertEqual(same, not key["without"]["changes"])
                    self.assert_changes(key["without"]["changes"], before, after)
        self.assertEqual(shown, {"required", "used", "no_effect", "unread"})

    def test_removing_a_key_of_a_bias_or_a_table_shows_the_change(self):
        t5 = {"model_type": "t5", "num_layers": 2, "num_heads": 12,
              "relative_attention_num_buckets": 16}
        _, keys = self.keys_of(t5)
        [change] = keys["relative_attention_num_buckets"]["without"]["changes"]
        self.assertEqual((change["name"], change["from"], change["to"]), ("bias.buckets", 16, 32))
        m2m = {"model_type": "m2m_100", "encoder_layers": 2, "d_model": 64, "pad_token_id": 3}
        _, keys = self.keys_of(m2m)
        [change] = keys["pad_token_id"]["without"]["changes"]
        self.assertEqual((change["name"], change["from"], change["to"]),
                         ("sinusoidal.position_offset", 4, 2))

    def test_removing_rope_theta_changes_base_and_wavelengths(self):
        document, keys = self.keys_of(LLAMA3)
        changes = {each["name"]: each for each in keys["rope_theta"]["without"]["changes"]}
        self.assertEqual((changes["base"]["from"], changes["base"]["to"]), (500000, 10000))
        slowest = self.inspected(LLAMA3)["rotary"][0]["wavelength_tokens"][-1]
        self.assertEqual(changes["slowest_wavelength_tokens"]["from"], slowest)
        slowest = self.inspected(LLAMA3 | {"rope_theta": 10000.0})
        self.assertEqual(
            changes["slowest_wavelength_tokens"]["to"],
            slowest["rotary"][0]["wavelength_tokens"][-1],
        )
        self.assertIsNone(changes["inv_freq"]["from"])
        self.assertRegex(changes["inv_freq"]["to"], r"^7 of 8 times 1\.\d+ to ")
        self.assertEqual(keys["vocab_size"]["use"], "unread")
        assumed = {each["name"]: each["value"] for each in document["assumed"]}
        self.assertEqual(assumed, {"pairing": "half"})

    def test_a_key_without_effect_shows_the_effect_of_another_value(self):
        _, keys = self.keys_of(LLAMA)
        base = keys["rope_theta"]
        self.assertEqual((base["use"], base["other_value"]), ("no_effect", 20000))
        after = self.inspected(LLAMA | {"rope_theta": 20000.0})
        before = self.inspected(LLAMA)
        self.assert_changes(base["with_other_value"]["changes"], before, after)
        heads = {
            each["name"]: each["to"]
            for each in keys["num_attention_heads"]["with_other_value"]["changes"]
        }
        self.assertEqual(heads["head_dim"], 8)

    def test_a_key_of_another_family_is_ignored_with_a_warning(self):
        _, keys = self.keys_of(LLAMA | {"rotary_pct": 0.25, "alibi": None})
        self.assertEqual(keys["rotary_pct"]["use"], "ignored")
        self.assertIn("rotary_pct is ignored", keys["rotary_pct"]["warnings"][0])
        self.assertEqual(keys["alibi"]["use"], "unread")
        text = self.run_tool("explain", "config.json")
        self.assertIn(b"warning: rotary_pct is ignored", text.stderr)
        self.assertIn(b"\nWithout effect, and warned about\n  rotary_pct = 0.25\n", text.stdout)

    def test_keys_of_a_position_map_are_explained(self):
        config = LLAMA | {"dual_chunk_attention_config": {"chunk_size": 1024, "local_size": 64}}
        text = self.run_ok("explain", self.write_config(config))
        self.assertIn("dual_chunk_attention_config.chunk_size", text)
        self.assertIn("the tokens beyond which distances change", text)
        self.assertIn("dual_chunk.chunk 1024 -> 2048", text)

    def test_an_unread_object_is_listed_as_one_key(self):
        labels = {str(i): f"label {i}" for i in range(5000)}
        _, keys = self.keys_of(LLAMA | {"id2label": labels, "a.b": 1, "empty": {}})
        self.assertEqual((keys["id2label"]["use"], keys["id2label"]["value"]), ("unread", None))
        for path in ["a.b", "empty"]:
            self.assertEqual(keys[path]["use"], "unread")

    def test_keys_of_a_nested_config_have_their_paths(self):
        wrapped = {"model_type": "gemma3", "text_config": LLAMA | {"model_type": "gemma3_text"}}
        _, keys = self.keys_of(wrapped)
        self.assertEqual(keys["text_config.num_hidden_layers"]["use"], "used")
        changes = keys["text_config.rope_theta"]["without"]["changes"]
        self.assertIn("full_attention", {each["layer_type"] for each in changes})

    def test_settings_override_the_config(self):
        _, keys = self.keys_of(
            LLAMA,
            "--set", "rope_theta=5e5",
            "--set", 'rope_scaling={"type": "linear", "factor": 4}',
            "--set", "rope_scaling.factor=2",
        )
        self.assertEqual(keys["rope_theta"]["value"], 5e5)
        self.assertEqual(keys["rope_scaling.factor"]["value"], 2)
        self.assertEqual(keys["rope_scaling.type"]["value"], "linear")
        self.assertEqual(keys["rope_scaling.factor"]["use"], "required")

    def test_a_requested_pairing_is_listed_as_assumed(self):
        unknown = {name: value for name, value in LLAMA.items() if name != "model_type"}
        document, keys = self.keys_of(unknown, "--pairing", "interleaved")
        self.assertIsNone(document["model_type"])
        self.assertIn(
            {"name": "pairing", "layer_type": None, "value": "interleaved"}, document["assumed"]
        )

    def test_each_key_that_a_card_uses_has_a_meaning(self):
        """Explains a few cards that together have every key of all cards."""
        cards = {
            path.name: set(key_names(json.loads(path.read_text())))
            for path in sorted(CARDS.glob("*.json"))
        }
        unseen = set().union(*cards.values())
        while unseen:
            name = max(cards, key=lambda card: len(cards[card] & unseen))
            unseen -= cards[name]
            result = self.run_tool("explain", CARDS / name, "--json")
            for key in json.loads(result.stdout).get("keys", []):
                if key["use"] not in ("unread", "ignored"):
                    self.assertIsNotNone(key["meaning"], (name, key["path"]))

    def test_an_unknown_topic_gives_a_command_whose_output_has_the_word(self):
        for word in ("rope_theta", "yarn", "partial_rotary_factor", "longrope", "sliding_window"):
            message = self.run_tool("explain", word).stderr.decode()
            self.assertIn(word, self.run_ok(*message.split("`")[1].split()[1:]))

    def test_unusable_configs_are_refused(self):
        twice = self.write_config('{"a": 1, "a": 2}')
        self.assert_fails(3, ["twice in one object"], "explain", twice)
        self.assert_fails(5, ["model_type"], "explain", self.write_config({"model_type": "none"}))
        many = LLAMA | {f"key {i}": i for i in range(500)}
        self.assert_fails(2, ["at most 500 keys"], "explain", self.write_config(many))
        long = LLAMA | {"text": "x" * 2**18}
        self.assert_fails(2, ["at most 262144 bytes"], "explain", self.write_config(long))
