# SPDX-License-Identifier: Apache-2.0
"""The voice of the project: words that make persons of programs, and sentences that are too long.

CONTRIBUTING.md has the rules for which no program can be written.
"""

import re

from tidy import prose
from tidy.finding import Finding
from tidy.tree import SourceTree

# They list the words, or write them into files.
OWN_WORDS = ("tools/tidy/voice.py", "tools/tidy/voice_test.py", "tools/tidy/prose_test.py")
SENTENCE_WORDS_MAX = 30
DOC_COLUMNS_MAX = 120
PERSONS = (
    r"users?|readers?|writers of|developers?|maintainers?|engineers?|authors?|contributors?"
    r"|people|persons?|administrators?|packagers?|those"
)
# Each alternative with what to write instead.
WORDS = {
    r"who|whoever|whom": "name the part of the program",
    r"(?:no|some|every|any)body|(?:some|every|any)one": "name the part of the program",
    r"tell|tells|told": "returns, reports, receives",
    r"says?|said": "reports, returns, states",
    r"knows?|knew": "holds, has",
    r"wants?": "requests, needs",
    r"whose word": "name the source",
    r"lets? go": "releases",
    r"(?:is|are|was|were|be) asked": "is called, receives a request",
    r"for ever": "without limit",
    r"so many|so much": "give the number",
    r"what is there": "name it",
    r"go(?:es)? on": "continues",
    r"of which\b[^.]*\bof which": "two sentences",
}
FOUND = re.compile(
    rf"\b(?:{'|'.join(f'({word})' for word in WORDS)})\b".replace(" ", r"\s+"), re.IGNORECASE
)
INSTEAD = tuple(WORDS.values())
OF_PERSONS = re.compile(rf"\b(?:{PERSONS}),?\s+$", re.IGNORECASE)
CODE_IN_TEXT = re.compile(r"`[^`]*`|\]\([^)]*\)|<https?:[^>]*>")
SENTENCE_END = re.compile(r"[.!?:;](?=\s|$)")


def check_voice(tree: SourceTree) -> list[Finding]:
    """Words of a private dialect in comments, documents and texts for users."""
    findings = []
    for path, text in tree.texts.items():
        if path in OWN_WORDS:
            continue
        for piece in prose.pieces(path, text):
            readable = CODE_IN_TEXT.sub(_blank, piece.text)
            for match in FOUND.finditer(readable):
                if match[1] and OF_PERSONS.search(readable[: match.start()]):
                    continue
                word = " ".join(match.group().split())
                message = f"`{word}`: write plain English ({INSTEAD[match.lastindex - 1]})"
                line = piece.line_of(match.start())
                findings.append(Finding(path, line, "voice", message))
    return sorted(findings)


def check_sentences(tree: SourceTree) -> list[Finding]:
    """Sentences and lines of documents that are too long to read once."""
    findings = []
    for path, text in tree.texts.items():
        if not path.endswith(".md"):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > DOC_COLUMNS_MAX and not line.startswith("|"):
                message = f"{len(line)} columns, at most {DOC_COLUMNS_MAX}"
                findings.append(Finding(path, number, "sentences", message))
        for piece in prose.pieces(path, text):
            start = 0
            readable = CODE_IN_TEXT.sub(_blank, piece.text)
            for end in [*(match.end() for match in SENTENCE_END.finditer(readable)), None]:
                words = len(re.findall(r"\w[\w'’-]*", piece.text[start:end]))
                if words > SENTENCE_WORDS_MAX:
                    message = f"a sentence of {words} words, at most {SENTENCE_WORDS_MAX}"
                    findings.append(Finding(path, piece.line_of(start + 1), "sentences", message))
                start = end
    return sorted(findings)


def _blank(match: re.Match) -> str:
    return re.sub(r"[^\n]", "x", match.group())
