"""Rows of CSV files: what is right is read, what is in doubt is refused by itself, and
nothing is altered.
"""

import csv
import io
import re
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import profitable as pb
from profitable.intake import delimited
from profitable.intake.fields import FieldError, day, parse_number, parse_whole, shares
from profitable.portfolio.outcome import Client, Outcome
from profitable.portfolio.rows_in import (
    CLIENT_ROWS,
    OUTCOME_ROWS,
    Form,
    RefusedFile,
    RowKind,
    Sheet,
)

NO_BREAK, NARROW = "\u00a0", "\u202f"


def sheet(text: str | bytes, kind: RowKind = OUTCOME_ROWS, **form: object) -> Sheet:
    content = text if isinstance(text, bytes) else text.encode()
    return Sheet(io.BytesIO(content), kind, Form(**form), "outcomes.csv")  # type: ignore[arg-type]


def read(
    text: str | bytes, kind: RowKind = OUTCOME_ROWS, **form: object
) -> list[tuple[int, object]]:
    """The number of each row, and what was made of it or why nothing was."""
    return [
        (row.number, row.why if row.made is None else row.made) for row in sheet(text, kind, **form)
    ]


# -------------------------------------------------------------------------------- cells

RIGHT = [
    ("1", None, 1.0),
    ("-1.5", None, -1.5),
    ("+.5", None, 0.5),
    ("12.", None, 12.0),
    ("1.234", None, 1.234),
    ("1e3", None, 1000.0),
    ("1.5E-3", None, 0.0015),
    ("007", None, 7.0),
    ("1,234.5", None, 1234.5),
    ("1,234,567", None, 1234567.0),
    ("1,234", ".", 1234.0),
    ("1 234", None, 1234.0),
    ("1 234 567.25", None, 1234567.25),
    (f"1{NO_BREAK}234.5", None, 1234.5),
    (f"1{NARROW}234,5", ",", 1234.5),
    ("1'234.5", None, 1234.5),
    ("1\u2019234.5", None, 1234.5),
    ("1,5", ",", 1.5),
    (",5", ",", 0.5),
    ("1.234,5", ",", 1234.5),
    ("1.234", ",", 1234.0),
    ("1,5e3", ",", 1500.0),
    ("-1.234.567,5", ",", -1234567.5),
]
WRONG = [
    ("1,5", None, "--decimal ,"),
    ("0,123", None, "--decimal ,"),
    ("1.234,5", None, "--decimal ,"),
    ("1 234,5", None, "--decimal ,"),
    ("1,234", None, "--decimal . or --decimal ,"),
    ("-1,234", None, "thousands"),
    ("1,5", ".", "--decimal ,"),
    ("1.5", ",", "decimal point"),
    ("0.123", ",", "decimal point"),
    ("1,234.5", ",", "decimal point"),
    ("1,23,456", None, "not a number"),
    ("1,2345", ".", "--decimal ,"),
    ("12,34.5", None, "not a number"),
    ("1234,567.5", None, "not a number"),
    ("1,234 567", None, "not a number"),
    ("1 23", None, "not a number"),
    ("1  234", None, "not a number"),
    ("0,123.5", None, "not a number"),
    ("1.2.3", None, "not a number"),
    ("5 %", None, "percentage"),
    ("5%", None, "0.05"),
    ("€ 5", None, "not a number"),
    ("(5)", None, "not a number"),
    ("1_000", None, "not a number"),
    ("nan", None, "not a number"),
    ("inf", None, "not a number"),
    ("0x10", None, "not a number"),
    ("", None, "not a number"),
    ("-", None, "not a number"),
    (".", None, "not a number"),
    ("1e", None, "not a number"),
    ("\u0661", None, "not a number"),  # a digit of another script
    ("yes", None, "not a number"),
]


@pytest.mark.parametrize(("text", "decimal", "value"), RIGHT)
def test_numbers(text: str, decimal: str | None, value: float) -> None:
    assert parse_number(text, decimal=decimal) == value


@pytest.mark.parametrize(("text", "decimal", "told"), WRONG)
def test_numbers_in_doubt(text: str, decimal: str | None, told: str) -> None:
    with pytest.raises(FieldError, match=re.escape(told)):
        parse_number(text, decimal=decimal)


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([",", " ", NO_BREAK, NARROW, "'"]),
)
def test_what_is_written_plainly_or_in_thousands_is_read_back(value: float, gap: str) -> None:
    assert parse_number(repr(value)) == value
    assert parse_number(repr(value).replace(".", ","), decimal=",") == value
    whole_part = f"{int(value):,}"
    fraction = f"{abs(value) % 1.0:.3f}"[1:] if abs(value) < 1e9 else ".0"
    assert parse_number(f"{whole_part.replace(',', gap)}{fraction}") == float(
        whole_part.replace(",", "") + fraction
    )
    turned = whole_part.replace(",", "." if gap == "," else gap) + fraction.replace(".", ",")
    assert parse_number(turned, decimal=",") == float(whole_part.replace(",", "") + fraction)


@given(st.text(alphabet="0123456789.,-+eE '%", max_size=12))
def test_a_number_is_what_python_reads_too_or_refused(text: str) -> None:
    """Whatever the decimal sign, nothing becomes a number but digits with their signs
    in the right places.
    """
    for decimal, gone in ((None, ", '"), (".", ", '"), (",", ". '")):
        try:
            value = parse_number(text, decimal=decimal)
        except FieldError:
            continue
        plain = text.translate({ord(sign): None for sign in gone}).replace(",", ".")
        assert value == float(plain)


def test_whole_numbers_and_shares() -> None:
    assert (parse_whole("12"), parse_whole("12.0"), parse_whole("1 000")) == (12, 12, 1000)
    for text in ("1.5", "1e400", "x"):
        with pytest.raises(FieldError):
            parse_whole(text)
    assert shares("evenly") == "evenly"
    assert (
        shares("0.1, 0.4, 1")
        == shares("0.1;0.4;1")
        == shares("0,1 0,4 1", decimal=",")
        == (0.1, 0.4, 1.0)
    )
    with pytest.raises(FieldError):
        shares("0.1 x")


def test_days() -> None:
    assert (
        day("2026-11-16")
        == day("20261116")
        == day("16.11.2026", date_format="%d.%m.%Y")
        == "2026-11-16"
    )
    assert day("2026-11-16T08:30:00Z") == "2026-11-16T08:30:00+00:00"
    assert day("16/11/26 08:30", date_format="%d/%m/%y %H:%M") == "2026-11-16T08:30:00"
    for text, options in (
        ("16.11.2026", {}),
        ("2026-02-30", {}),
        ("2026-11-16", {"date_format": "%d.%m.%Y"}),
    ):
        with pytest.raises(FieldError, match="--date-format"):
            day(text, **options)


# ------------------------------------------------------------------- the form of a file


@pytest.mark.parametrize(
    "form",
    [
        {"delimiter": ";;"},
        {"delimiter": '"'},
        {"delimiter": "\n"},
        {"delimiter": ""},
        {"decimal": ";"},
        {"decimal": ""},
        {"date_format": "%Q"},
        {"date_format": "day"},
        {"date_format": "%"},
        {"encoding": "utf-99"},
        {"encoding": "rot13"},
        {"encoding": "\0"},
    ],
    ids=str,
)
def test_forms_that_make_no_sense(form: dict[str, str]) -> None:
    with pytest.raises(pb.errors.ParameterError):
        Form(**form)  # type: ignore[arg-type]


HEADER = "id,category,reward,amount,cost,decision,known"
EVERYTHING = Outcome(
    "l-1", "students", reward=1.5, amount=2.0, cost=3.0, decision=12, known="2026-11-16"
)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (f"{HEADER}\nl-1,students,1.5,2,3,12,2026-11-16\n", {}),
        (f"{HEADER}\nl-1,students,1.5,2,3,12,2026-11-16", {}),
        (f"\ufeff{HEADER}\r\n\r\nl-1,students,1.5,2,3,12.0,2026-11-16\r\n", {}),
        (f'\n\n{HEADER}\n,,,,,,\n  \n"l-1", students ,"1.5",2,3,12,2026-11-16\n', {}),
        (
            "ID ; Category;REWARD;amount;cost;decision;known\nl-1;students;1,5;2;3;12;16.11.2026\n",
            {"decimal": ","},
        ),
        (f"{HEADER.replace(',', chr(9))}\nl-1\tstudents\t1.5\t2\t3\t12\t2026-11-16\n", {}),
        (f"{HEADER.replace(',', '|')}\nl-1|students|1.5|2|3|12|2026-11-16\n", {"delimiter": "|"}),
        (
            "loan,segment,reward,back,amount,cost,decision,known\nl-1,students,9,1.5,2,3,12,2026-11-16\n",
            {
                "columns": {"id": "loan", "category": "Segment", "reward": "back"},
                "ignore_others": True,
            },
        ),
        (f"{HEADER},reason\nl-1,students,1.5,2,3,12,2026-11-16,mended\n", {}),
        (f"reason,{HEADER},\nx,l-1,students,1.5,2,3,12,2026-11-16,\n", {}),
        (
            f'{HEADER},note\nl-1,students,1.5,2,3,12,2026-11-16,"two\nlines, ""quoted"""\n',
            {"ignore_others": True},
        ),
        (f'{HEADER},"a;b"\nl-1,students,1.5,2,3,12,2026-11-16,x\n', {"ignore_others": True}),
        (f"{HEADER}\rl-1,students,1.5,2,3,12,2026-11-16\r", {}),
    ],
)
def test_ways_to_write_a_row(text: str, form: dict[str, object]) -> None:
    date_format = {"date_format": "%d.%m.%Y"} if "16.11.2026" in text else {}
    assert [made for _, made in read(text, **form, **date_format)] == [EVERYTHING]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_encodings(encoding: str) -> None:
    content = "id,category,reward\nl-1,Bäcker,1\n".encode(encoding)
    assert read(content, encoding=encoding) == [(2, Outcome("l-1", "Bäcker", reward=1))]


def test_clients() -> None:
    header = "id,category,decision,matures,emerges,promised"
    rows = ['l-1,a,2,12,"0.1,0.4,1",1.12', "l-2,a,,12,at maturity,", "l-3,a,,,,"]
    assert [made for _, made in read("\n".join([header, *rows]), CLIENT_ROWS)] == [
        Client("l-1", "a", decision=2, matures=12, emerges=(0.1, 0.4, 1.0), promised=1.12),
        Client("l-2", "a", matures=12, emerges="at maturity"),
        Client("l-3", "a"),
    ]


BAD_HEADERS = [
    (
        "id,category,ammount,reward",
        {},
        ["'ammount'", "did you mean amount", "--column amount='ammount'"],
    ),
    ("id,category,reward,colour", {}, ["'colour'", "--ignore-others"]),
    (
        "id,category,rewrad",
        {},
        ["'reward' is missing", "did you mean 'rewrad'", "--column reward='rewrad'"],
    ),
    ("id,category,paid", {}, ["'reward' is missing", "--column reward=NAME", "'paid'"]),
    (
        "id,category,paid",
        {"columns": {"reward": "payed"}},
        ["'payed' is missing", "did you mean 'paid'"],
    ),
    (
        "id,category,reward",
        {"columns": {"rewrad": "reward"}},
        ["rewrad=reward", "did you mean reward=reward"],
    ),
    ("id,category,reward", {"columns": {"x": "reward"}}, ["x=reward", "choose from id, category"]),
    ("id,category,reward,Reward", {}, ["'reward' occurs twice"]),
    ("id|category|reward", {}, ["'id' is missing", "id|category|reward"]),
    ("l-1,students,1", {}, ["'id' is missing"]),
    ("", {}, ["empty", "id, category, reward"]),
    ("\n \n", {}, ["empty"]),
    ('id,category,"reward', {}, ["header", "quotes"]),
    ("id,categ\x1b[2Jory,reward", {}, ["\\x1b[2J"]),
]


@pytest.mark.parametrize(
    ("text", "form", "named"), BAD_HEADERS, ids=[repr(text) for text, *_ in BAD_HEADERS]
)
def test_headers_that_are_not_understood(
    text: str, form: dict[str, object], named: list[str]
) -> None:
    with pytest.raises(pb.errors.InputError) as caught:
        sheet(text + "\nl-1,students,1\n" if text.strip() else text, **form)
    message = str(caught.value)
    assert message.isprintable()
    for part in named:
        assert part in message, message


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("id,category,reward\n".encode("utf-16"), "--encoding utf-16"),
        ("id,category,reward\n".encode("utf-16-le"), "--encoding utf-16"),
        ("id,kategorie_für,reward\n".encode("latin-1"), "0xfc"),
        (b"PK\x03\x04\x14\x00", "save it as CSV"),
        (b"SQLite format 3\x00...", "is not text in utf-8"),
        (b"i" * 1_500_000, "letters or more"),
    ],
)
def test_files_that_are_no_csv(content: bytes, told: str) -> None:
    with pytest.raises(pb.errors.InputError, match=re.escape(told)):
        sheet(content)


# ------------------------------------------------------------------ rows that are wrong

BAD_ROWS = [
    ("l-1,students", "has 2 fields, and the header has 3"),
    ("l-1,students,1,5", "has 4 fields, and the header has 3; a comma inside a field needs quotes"),
    (",students,1", "id is empty"),
    ("l-1,,1", "category is empty"),
    ("l-1,students,", "reward is empty"),
    ("l-1,students,yes", "reward = 'yes' is not a number"),
    ('l-1,students,"1,5"', "use --decimal ,"),
    ("l-1,students,1e300", "reward = 1e+300"),
    ("l\x01-1,students,1", "cannot be printed"),
    (f"{'x' * 501},students,1", "501 letters"),
    ('l-1,"students,1', "quote that is not closed"),
    ('l-1,"students"x,1', "letter behind a closing quote"),
    ('l-1,"stu\ndents",1', "cannot be printed"),
    (f"l-1,students,{'x' * 200}", "..."),
    (f"l-1,students,{'1' * 200_000}", "too long"),
]


@pytest.mark.parametrize(("row", "told"), BAD_ROWS, ids=[row[:20] for row, _ in BAD_ROWS])
def test_a_wrong_row_is_refused_by_itself(row: str, told: str) -> None:
    text = f"id,category,reward\na,students,1\n{row}\nb,students,0\n"
    lines = 1 + row.count("\n")
    first, (place, why), last = read(text)
    assert first == (2, Outcome("a", "students", reward=1))
    assert place == 3
    assert isinstance(why, str)
    assert told in why
    assert why.isprintable()
    assert len(why) < 300
    assert last == (3 + lines, Outcome("b", "students", reward=0))
    assert [each.text for each in sheet(text)][1] == f"{row}\n"


def test_bytes_that_the_encoding_does_not_know_refuse_their_row_only() -> None:
    content = b"id,category,reward\na,B\xe4cker,1\nb,students,0\n"
    (_, why), good = read(content)
    assert "0xe4" in str(why)
    assert "--encoding" in str(why)
    assert good == (3, Outcome("b", "students", reward=0))


def test_a_quote_that_is_not_closed_swallows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "MOST_LINES", 5)
    rows = [f"c{i},students,1" for i in range(30)]
    rows[10] = 'c10,"students,1'
    rows[13] = 'c13,"students",1'
    rows[28] = 'c28,"students,1'
    found = read("id,category,reward\n" + "\n".join(rows))
    assert [place for place, _ in found] == list(range(2, 32))
    assert [place for place, made in found if isinstance(made, str)] == [12, 30]


cells = st.lists(st.text(alphabet='ab1,;"\n \t', max_size=5), max_size=4)


@given(st.lists(cells, max_size=8), st.sampled_from(",;\t"), st.sampled_from(["\n", "\r\n"]))
def test_no_row_is_lost(table: list[list[str]], delimiter: str, ending: str) -> None:
    """However a CSV file looks, each row that has something in it comes out once, with
    the cells that were written.
    """
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=ending)
    writer.writerow(["id", "category", "reward"])
    writer.writerows(table)
    found = [row.cells for row in sheet(text.getvalue(), delimiter=delimiter)]
    assert found == [row for row in table if "".join(row).strip()]


@given(st.text(alphabet='ab1,"\n\r \ud7ff\u00e9', max_size=60), st.booleans())
def test_any_text_comes_out_line_by_line(body: str, marked: bool) -> None:
    """Broken or not: each row has the lines that it says, and every line with a letter
    belongs to one row.
    """
    content = f"id,category,reward\n{body}".encode("utf-8-sig" if marked else "utf-8")
    lines = io.StringIO(body, newline="").readlines()
    seen = [0] * len(lines)
    for row in sheet(content):
        own = io.StringIO(row.text, newline="").readlines()
        assert lines[row.number - 2 :][: len(own)] == own
        for place in range(len(own)):
            seen[row.number - 2 + place] += 1
    assert all(
        number == 1 for number, line in zip(seen, lines, strict=True) if re.search(r"\w", line)
    )


# ------------------------------------------------------------- the file of refused rows


def refuse(path: Path, **form: object) -> Path | None:
    """Send a file to nobody: rows that cannot be read go to a file beside it."""
    with path.open("rb") as file:
        rows = Sheet(file, OUTCOME_ROWS, Form(**form), path.name)  # type: ignore[arg-type]
        with closing(RefusedFile(rows, path, None)) as refused:
            for row in rows:
                if row.made is None:
                    refused.add(row, row.why)
            place = refused.finish()
        rows.detach()
        return place


def test_refused_rows_are_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "outcomes.csv"
    bad = (
        b'"l-1" ; B\xe4cker;1\r\n l-2;students;yes\r\nl-3;"students;1\r\n'
        b'l-4;"stu\r\ndents";1;"x""y"\r\n'
    )
    path.write_bytes(b"\xef\xbb\xbfid;Category;reward\r\na;students;1\r\n" + bad)
    place = refuse(path)
    assert place is not None
    assert place.name == "outcomes.refused.csv"
    header, *lines = place.read_bytes().split(b"\r\n")[:-1]
    assert header == b"\xef\xbb\xbfid;Category;reward;reason"
    before = bad.split(b"\r\n")
    assert all(line.startswith(old) for line, old in zip(lines, before, strict=False))
    assert lines[2] == (
        b'l-3;"students;1;"the row has a quote that is not closed, or a letter '
        b'behind a closing quote"'
    )
    assert lines[4].startswith(b'dents";1;"x""y";"the row has 4 fields')
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "outcomes.csv",
        "outcomes.refused.csv",
    ]


def test_refused_again_for_the_same_reason_is_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "outcomes.csv"
    path.write_text('id,category,reward\nl-1,students,yes\nl-2,"students,1\nl-3,"a,b",no\nl-4,a\n')
    place = refuse(path)
    assert place is not None
    content = place.read_bytes()
    assert refuse(path) == place
    assert refuse(place) == place
    assert place.read_bytes() == content
    assert len(list(tmp_path.iterdir())) == 2


def test_mended_rows_are_read_and_nothing_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "outcomes.csv"
    path.write_text("id,category,reward\nl-1,students,yes\nl-2,students,no\n")
    place = refuse(path)
    assert place is not None
    place.write_text(
        place.read_text().replace("l-1,students,yes", "l-1,students,1").replace("'yes'", "'1'")
    )
    assert next(made for _, made in read(place.read_bytes())) == Outcome(
        "l-1", "students", reward=1
    )
    mended = place.read_bytes()
    second = refuse(place)
    assert second is not None
    assert second.name == "outcomes.refused-2.csv"
    assert (
        second.read_text()
        == "id,category,reward,reason\nl-2,students,no,\"reward = 'no' is not a number\"\n"
    )
    assert refuse(path) == tmp_path / "outcomes.refused-3.csv"
    assert place.read_bytes() == mended


def test_nothing_refused_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "outcomes.csv"
    path.write_text("id,category,reward\nl-1,students,1\n")
    assert refuse(path) is None
    assert [each.name for each in tmp_path.iterdir()] == ["outcomes.csv"]


def test_a_reason_that_the_encoding_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "outcomes.csv"
    path.write_bytes("id,category,reward\nl-1,students,€\n".encode("cp1252"))
    with path.open("rb") as file:
        rows = Sheet(file, OUTCOME_ROWS, Form(encoding="cp1252"), path.name)
        with closing(RefusedFile(rows, path, None)) as refused:
            for row in rows:
                refused.add(row, "日 is no number")
            place = refused.finish()
        rows.detach()
    assert place is not None
    assert (
        place.read_text("cp1252")
        == 'id,category,reward,reason\nl-1,students,€,"\\u65e5 is no number"\n'
    )


def test_thousands_in_a_file_with_semicolons() -> None:
    """That is how programs write where the comma is the decimal sign, so 2.000 is in
    doubt there.
    """
    text = "id;category;reward;cost;key\na;students;0;2.000;monday\nb;students;0;2.5;\n"
    assert read(text)[0] == (
        2,
        "cost = '2.000' could be thousands or a decimal point; use --decimal , or --decimal .",
    )
    assert read(text)[1] == (3, Outcome("b", "students", reward=0, cost=2.5))
    assert read(text, decimal=".")[0] == (
        2,
        Outcome("a", "students", reward=0, cost=2.0, key="monday"),
    )
    assert read(text.splitlines()[0] + "\na;students;0;2.000;\n", decimal=",")[0][1].cost == 2_000.0  # type: ignore
    assert read(text.replace(";", ","))[0][1].cost == 2.0  # type: ignore
