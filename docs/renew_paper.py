"""Put the report of a full run into docs/paper.md: `make docs`.

Or: python docs/renew_paper.py results/paper
"""

import re
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parent
PAGE, PICTURES = DOCS / "paper.md", DOCS / "paper"
BEGIN = "<!-- From here on written by the command itself: make docs -->\n"
END = "<!-- Up to here written by the command itself: make docs -->\n"
LIST_ITEM = re.compile(r"\s*(?:-|\d+\.) ")
NO_PROSE = ("|", "!", "<", "#", "    ")  # tables, pictures, HTML, headings, code
NEXT_SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z`*(])|(?<=[.!?]\)) (?=[A-Z`*])")


def one_sentence_per_line(report: str) -> str:
    """Break the prose of a page after each sentence, as on the other pages.

    >>> print(one_sentence_per_line("- It holds. `ts` is next."))
    - It holds.
      `ts` is next.
    """
    lines: list[str] = []
    for line in report.splitlines():
        if line.startswith(NO_PROSE):
            lines.append(line)
        else:
            item = LIST_ITEM.match(line)
            indent = " " * item.end() if item else ""
            lines.append(NEXT_SENTENCE.sub("\n" + indent, line))
    return "\n".join(lines)


def renew(results: Path) -> None:
    """Replace everything between the two marks, and the pictures."""
    report = (results / "report.md").read_text(encoding="utf-8")
    PICTURES.mkdir(exist_ok=True)
    for old in PICTURES.glob("*.svg"):
        old.unlink()
    for picture in re.findall(r"\]\(([\w-]+\.svg)\)", report):
        shutil.copyfile(results / picture, PICTURES / picture)
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    report = re.sub(r"\]\(([\w-]+\.svg)\)", r"](paper/\1)", one_sentence_per_line(report.strip()))
    PAGE.write_text(f"{head}{BEGIN}\n{report}\n\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    renew(Path(sys.argv[1]))
