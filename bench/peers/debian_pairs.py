# SPDX-License-Identifier: Apache-2.0
"""A retrieval set of the installed Debian packages: the one-line description is the query, the long one its document.

    python bench/peers/debian_pairs.py pairs.tsv [COUNT]      lines of query, tabulator, document

Packages come in the order of the MD5 of their names, so that a smaller count is a part of a larger one. A package is
left out if one before it has the same query or the same document, or if its long description has fewer than eight words.
"""
import hashlib
import subprocess
import sys


def packages():
    found = subprocess.run(["dpkg-query", "-W", "-f", "${Package}\\n${Description}\\n====\\n"], capture_output=True,
                           check=True).stdout
    for stanza in found.decode().split("\n====\n"):
        name, _, rest = stanza.strip().partition("\n")
        query, _, document = rest.partition("\n")
        lines = [line.strip() for line in document.splitlines()]
        yield name, " ".join(query.split()), " ".join(" ".join(line for line in lines if line != ".").split())


def main():
    file, *count = sys.argv[1:]
    most = int(count[0]) if count else None
    queries, documents, lines = set(), set(), []
    for name, query, document in sorted(packages(), key=lambda one: (hashlib.md5(one[0].encode()).hexdigest(), one[0])):
        if len(document.split()) < 8 or not query or query in queries or document in documents:
            continue
        queries.add(query)
        documents.add(document)
        lines.append(f"{query}\t{document}\n")
    lines = lines[:most]
    with open(file, "w", encoding="utf-8") as out:
        out.writelines(lines)
    print(f"{len(lines)} pairs, MD5 {hashlib.md5(''.join(lines).encode()).hexdigest()}")


main()
