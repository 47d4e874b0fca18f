# SPDX-License-Identifier: Apache-2.0
"""prose.py finds each pattern, leaves good sentences alone, and compares the index of the decisions with the folder.

    python3 prose_test.py ROOT
"""
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = sys.argv.pop(1)
sys.path.insert(0, os.path.join(ROOT, "tests/repository"))
import prose  # noqa: E402  the folder is known only now

BAD = {
    "begins with 'Of'": ["Of `ablate` they go with `--how perturb`.", "The rest is read; of rows it has the values."],
    "'What' for a noun": ["What a driver of one does not give, the table has not.", "It is kept; what fails is dropped."],
    "'Where' for 'if'": ["Where it fails, the host takes over.", "It runs; where it fails, it stops."],
    "'it is said'": ["For a cache without an end it is said how much is read."],
    "'as many'": ["They must be as many."],
    "'so many'": ["The tool draws so many damaged files."],
    "'is none', 'is no'": ["The shape is none of the table's.", "The list is no table."],
    "'leave away'": ["Leave it away."],
    "'of it'": ["The driver has two of it."],
    "'makes of it'": ["This is what a driver does of it."],
    "'of one's own'": ["A kernel of your own has no ladder.", "It reads the file of a user's own."],
    "'go on'": ["The run goes on."],
    "'stand'": ["Both numbers stand beside the name."],
    "'hold to', 'hold against'": ["A test holds them to that.", "It is held against the oracle."],
    "'is let'": ["A third one is let pass."],
    "'is to be'": ["The file is to be read first."],
    "'anew'": ["The plan is made anew."],
    "'in turns'": ["Both were measured in turns."],
    "'some 7'": ["The file has some 7 MB."],
    "'from 7 on'": ["They are fitted from 8 measurements on."],
    "'say of'": ["The figures say nothing of how devices differ."],
    "'besides' at the end": ["It has two kernels besides."],
    "'allows to'": ["The flag allows to skip it."],
    "'thereof'": ["The weights, or a copy thereof, are kept."],
    "'how it is called'": ["Say how it is called."],
    "'all what'": ["The log contains all what was drawn."],
}
GOOD = [
    "`ablate` accepts `--devices` only with `--how perturb` or `freeze`.",
    "What does it cost?",
    "Where are my weights?",
    "Half of it, or a copy of it, is kept because of it.",
    "There is none, and there is no other.",
    "This is no longer true.",
    "There were as many rows as columns, and so many of them that the heap was full.",
    "`a`, `b`, `c` and `d` are settings.",
    "The covariance is fitted at 12, 18, 26, 36, 50 and 72 measurements.",
    "The median is 1,024 of 135,168,000 operations, in 16,384 blocks.",
    "It was allowed to be empty, which is allowed.",
]


def page_of(text):
    return [(line, prose.reasons(sentence)) for line, sentence, _ in prose.sentences(text)]


def run(pages, show=False):
    """The exit status and the output for a folder with these pages, and an index of no decisions."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {"README.md": "# a\n", "docs/adr/README.md": "# Decisions\n", **pages}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = prose.main(root, show)
        return status, out.getvalue()


class Prose(unittest.TestCase):
    def test_each_pattern_is_found(self):
        self.assertEqual(sorted(BAD), sorted(name for name, _ in prose.PATTERNS))
        for name, texts in BAD.items():
            for text in texts:
                found = page_of(text)
                self.assertEqual(len(found), 1, text)
                self.assertIn(name, found[0][1], text)

    def test_good_sentences_are_left_alone(self):
        for text in GOOD:
            self.assertEqual(page_of(text), [(1, [])], text)

    def test_three_commas_are_too_many(self):
        self.assertEqual(page_of("One, two, and three are fine."), [(1, [])])
        self.assertEqual(page_of("One, two, three, and four are not."), [(1, ["3 commas"])])

    def test_code_headings_and_targets_do_not_count(self):
        text = "# Of it\n\n```sh\nOf it.\n```\n\n[A page](Of_it.md) has `of it` and\n`one, two, three, four`.\n<!-- Of it. -->\n"
        self.assertEqual(page_of(text), [(7, [])])

    def test_sentences_are_shown_with_their_code(self):
        self.assertEqual([shown for _, _, shown in prose.sentences("A `b, c` one. Then\n`d\ne` and [f](g.md).\n")],
                         ["A `b, c` one.", "Then `d e` and f."])
        self.assertEqual([shown for _, _, shown in prose.sentences("| a | Here is `b | c` and more. | d |\n")],
                         ["Here is `b | c` and more."])

    def test_sentences_have_their_line(self):
        text = "First one. Second one\nends here. Third\none.\n\n- Fourth one, e.g. this.\n- Fifth one.\n\n| a | Sixth one is here. |\n"
        self.assertEqual([line for line, _ in page_of(text)], [1, 1, 2, 5, 6, 8])

    def test_a_page_above_its_share_fails(self):
        bad = "One of it. Two of it. Three of it.\n"
        self.assertEqual(run({"docs/a.md": "A good one. " * 300})[0], 0)
        status, said = run({"docs/a.md": "A good one. " * 300, "docs/b.md": bad}, True)
        self.assertEqual(status, 1)
        self.assertIn("docs/b.md: 100.0 % of the sentences", said)
        self.assertIn("docs/b.md:1: 'of it': One of it.", said)
        self.assertNotIn("all pages: 1.0 % of", said)

    def test_all_pages_above_their_share_fail(self):
        status, said = run({f"docs/{i}.md": "One of it. A good one. A good one.\n" for i in range(3)})
        self.assertEqual(status, 1)
        self.assertIn("all pages: 33.3 % of the sentences", said)
        self.assertNotIn("docs/0.md: 33.3 % of the sentences", said)

    def test_the_index_names_each_decision(self):
        row = "| [0001](0001-a.md) | Memory is ours | why |\n"
        page = {"docs/adr/0001-a.md": "# 0001: Memory is ours\n"}
        self.assertEqual(run({**page, "docs/adr/README.md": row})[0], 0)
        for pages, part in [({**page}, "lacks a row for 0001-a.md: Memory is ours"),
                            ({**page, "docs/adr/README.md": row.replace("ours", "theirs")}, "another title for 0001-a.md"),
                            ({"docs/adr/README.md": row}, "names 0001-a.md, which does not exist"),
                            ({"docs/adr/README.md": row + row.replace("1-a", "2-b"), **page}, "names 0002-b.md")]:
            status, said = run(pages)
            self.assertEqual(status, 1)
            self.assertIn(part, said)


if __name__ == "__main__":
    unittest.main()
