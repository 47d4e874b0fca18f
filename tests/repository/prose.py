# SPDX-License-Identifier: Apache-2.0
"""How the pages read: README.md, docs/ and the READMEs of the modules, and the index of the decisions.

    python3 prose.py ROOT           sentences, long and awkward ones, words; fails above the shares below
    python3 prose.py ROOT --list    each sentence found, with its file, its line and the reason

A sentence is found if it has three commas or more, or one of the patterns. Code, headings and the targets of links do
not count, and a series of code or of numbers counts as one item.
"""
import pathlib
import re
import sys

# Percent; the goal is 3 for each page. A page that is short may have two sentences above its share.
PER_FILE, IN_ALL = 4, 3
FREE = 2

NOTHING_SAID = r"(nothing |little |much |anything |more )?"
PATTERNS = [(name, re.compile(pattern)) for name, pattern in {
    "begins with 'Of'": r"^Of\b|[;:] of\b",
    "'What' for a noun": r"^What\b(?!.*\?$)|[;:] what\b(?!.*\?$)",
    "'Where' for 'if'": r"^Where\b(?!.*\?$)|[;:] where\b(?!.*\?$)",
    "'it is said'": r"\b(is|are|was|were|be) said\b",
    "'as many'": r"\b[Aa]s many\b(?!( \w+){0,3} as\b)",
    "'so many'": r"\b[Ss]o many\b(?!( \w+){0,3} that\b)",
    "'is none', 'is no'": r"(?<![Tt]here )\b(is|are|was|were) (none\b|no (?!longer|more|less|better|worse|different|need|way)\w)",
    "'leave away'": r"\b([Ll]eave|leaves|left|leaving)( it| them)? away\b",
    "'of it'": r"(?<!alf )(?<!part )(?<!most )(?<!all )(?<!none )(?<!some )(?<!rest )(?<!much )(?<!copy )(?<!instead )"
               r"(?<!because )(?<!ahead )(?<!front )(?<!out )(?<!one )(?<!top )\bof it\b",
    "'makes of it'": r"\b(makes?|made|does|did|do) of (it|them|that|this|these)\b",
    "'of one's own'": r"\bof (one's|a user's|the user's|your) own\b",
    "'go on'": r"\b([Gg]o|goes|went|going|gone) on\b",
    "'stand'": r"\b([Ss]tands?|stood|standing) (in (?!for)|at|below|above|beside|there|under|open)\b",
    "'hold to', 'hold against'": r"\b([Hh]olds?|held) ((it|them) )?(to|against)\b",
    "'is let'": r"\b(is|are|was|were) let\b",
    "'is to be'": r"\b(is|are) to be\b",
    "'anew'": r"\banew\b",
    "'in turns'": r"\b[Ii]n turns\b",
    "'some 7'": r"\bsome \d",
    "'from 7 on'": r"\bfrom \d[\d,]*( \w+)? on\b",
    "'say of'": rf"\b(says?|said|tells?|told|knows?) {NOTHING_SAID}of\b",
    "'besides' at the end": r"\bbesides[.;]",
    "'allows to'": r"\b(allows?|possibility) to\b",
    "'thereof'": r"\b([Tt]hereof|[Ww]hereof|[Ww]herein|[Tt]herein|[Ww]hereby)\b",
    "'how it is called'": r"\b[Hh]ow (it|they|this|that) (is|are) called\b",
    "'all what'": r"\b[Aa]ll what\b",
}.items()]

CODE = "\x01"  # stands for a code span
LINE = "\x02"  # stands for a line's end, so that a sentence knows its line
NUMBER = r"[+-]?[\d.][\d.,]*[x%]?( ms| s| us| %)?"
SERIES = re.compile(rf"((?:{CODE}|{NUMBER}),\s+)+(?={CODE}|{NUMBER}|and |or |to )")
ABBREVIATION = re.compile(r"(\be\.g|\bi\.e|\bet al|\bvs|\bcf|\bFig|\bEq|\bEqs|\bSec|\betc|\bapprox|\bNo|\bconv)\.$")
ITEM = re.compile(r"^\s*([-*+]|\d+\.)\s+")


def blocks(text):
    """Paragraphs, list items and cells of tables, each with the number of its first line."""
    inside, found, first = False, [], 0
    for number, line in enumerate(text.split("\n"), 1):
        fence = line.lstrip().startswith(("```", "~~~"))
        inside = inside != fence
        bare = line.strip()
        ends = fence or inside or not bare or bare.startswith(("#", "|", "<!--")) or ITEM.match(line)
        if ends and found:
            yield first, LINE.join(found)
            found = []
        if fence or inside or not bare or bare.startswith(("#", "<!--")) or re.match(r"\[[^\]]+\]:", bare):
            continue
        if bare.startswith("|"):
            for cell in re.split(r"(?<!\\)\|(?=(?:[^`]*`[^`]*`)*[^`]*$)", bare.strip("|")):
                if len(re.findall(r"[A-Za-z]{2,}", re.sub(r"`[^`]*`( \([^()]*\))?", "", cell))) >= 4:
                    yield number, cell.strip()
            continue
        if not found:
            first = number
        found.append(ITEM.sub("", line).strip())
    if found:
        yield first, LINE.join(found)


def sentences(text):
    """(line, sentence, the sentence with its code) of a page in Markdown."""
    for first, block in blocks(text):
        code = [" ".join(span.split(LINE)) for span in re.findall(r"``[^`]+``|`[^`]*`", block)]
        block = re.sub(r"``[^`]+``|`[^`]*`", lambda span: CODE + LINE * span[0].count(LINE), block)
        block = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", block)
        block = re.sub(r"https?://\S+|<[^>]+>|\*\*|(?<!\w)[*_]|[*_](?!\w)", "", block)
        begin = 0
        for end in [match.end() for match in re.finditer(rf"(?<!\.)[.!?][)\"']?(?=[\s{LINE}]+\S)|$", block)]:
            if ABBREVIATION.search(block[begin:end].rstrip()) and end < len(block):
                continue
            sentence = block[begin:end]
            lead = len(sentence) - len(sentence.lstrip(" " + LINE))
            line = first + block[:begin + lead].count(LINE)
            begin = end
            sentence = re.sub(r"\s+", " ", sentence.replace(LINE, " ")).strip()
            here, code = code[:sentence.count(CODE)], code[sentence.count(CODE):]
            if re.search(r"[A-Za-z]", sentence):
                yield line, sentence, re.sub(CODE, lambda _, spans=iter(here): next(spans), sentence)


def reasons(sentence):
    """Why a sentence is found; empty if it is not."""
    found = [name for name, pattern in PATTERNS if pattern.search(sentence)]
    commas = len(re.findall(r",(?!\d)", SERIES.sub("", sentence)))
    return ([f"{commas} commas"] if commas > 2 else []) + found


def pages(root):
    return sorted([root / "README.md", *root.glob("docs/**/*.md"), *root.glob("*/README.md")])


def decisions(root):
    """What is wrong with the index of the decisions."""
    folder = root / "docs/adr"
    index = folder / "README.md"
    if not index.exists():
        return ["docs/adr/README.md is missing"]
    rows = dict(re.findall(r"^\| \[(?:\d{4})\]\((\S+\.md)\) \| (.+?) \|", index.read_text(encoding="utf-8"), re.M))
    wrong = []
    for page in sorted(folder.glob("[0-9]*.md")):
        title = page.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ").split(": ", 1)[-1]
        if page.name.startswith("0000"):
            continue
        if page.name not in rows:
            wrong.append(f"docs/adr/README.md lacks a row for {page.name}: {title}")
        elif rows.pop(page.name) != title:
            wrong.append(f"docs/adr/README.md has another title for {page.name} than the page: {title}")
        rows.pop(page.name, None)
    return wrong + [f"docs/adr/README.md names {name}, which does not exist" for name in rows]


def main(root, show):
    wrong, lines, all_found, all_sentences, all_words = decisions(root), [], 0, 0, 0
    for page in pages(root):
        name = page.relative_to(root).as_posix()
        text = page.read_text(encoding="utf-8")
        said = list(sentences(text))
        found = [(line, shown, reasons(sentence)) for line, sentence, shown in said if reasons(sentence)]
        words = len(text.split())
        share = 100 * len(found) / max(1, len(said))
        lines.append(f"{name}: {len(found)} of {len(said)} sentences, {share:.1f} %, {words} words")
        if share > PER_FILE and len(found) > FREE:
            wrong.append(f"{name}: {share:.1f} % of the sentences are long or awkward; {PER_FILE} % are allowed")
        if show:
            for line, shown, why in found:
                print(f"{name}:{line}: {'; '.join(why)}: {shown}")
        all_found, all_sentences, all_words = all_found + len(found), all_sentences + len(said), all_words + words
    share = 100 * all_found / max(1, all_sentences)
    if share > IN_ALL:
        wrong.append(f"all pages: {share:.1f} % of the sentences are long or awkward; {IN_ALL} % are allowed")
    print("\n".join(lines))
    print(f"all pages: {all_found} of {all_sentences} sentences, {share:.1f} %, {all_words} words")
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong and not show:
        print("--list shows the sentences; docs/style.md says how to write them.", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--list"]):
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1]), len(sys.argv) == 3))
