import gzip
import json
from pathlib import Path

import pandas
import pytest

import heedful
from heedful.errors import DataError
from heedful.text.readers import read_documents

ROWS = [{"text": f"text {n}", "label": "ab"[n % 2]} for n in range(20)]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def as_csv(delimiter: str = ",", end: str = "\n") -> str:
    lines = [f"text{delimiter}label", *(f"{r['text']}{delimiter}{r['label']}" for r in ROWS)]
    return end.join(lines) + end


JSONL = "\n".join(json.dumps(row) for row in ROWS) + "\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.csv", as_csv()),
        ("d.csv", "\ufeff" + as_csv(end="\r\n")),
        ("d.csv", as_csv(delimiter=";")),
        ("d.tsv", as_csv(delimiter="\t")),
        ("d.jsonl", JSONL),
        ("d.ndjson", JSONL.replace("\n", "\r\n")),
        ("d.json", json.dumps(ROWS)),
        ("d.jsonl.gz", gzip.compress(JSONL.encode(), mtime=0)),
        ("d.csv.gz", gzip.compress(as_csv().encode(), mtime=0)),
    ],
)
def test_every_format_reads_the_same_documents(tmp_path: Path, name, content):
    documents, notes = read_documents(write(tmp_path / name, content))
    assert [{"text": d.text, "label": d.label} for d in documents] == ROWS
    assert notes == []


def test_parquet_reads_the_same_documents(tmp_path: Path):
    pandas.DataFrame(ROWS).to_parquet(tmp_path / "d.parquet")
    documents, _ = read_documents(tmp_path / "d.parquet")
    assert documents.labels == [row["label"] for row in ROWS]


def test_a_folder_per_class_and_a_folder_of_parts(tmp_path: Path):
    for label in ("bad", "good"):
        (tmp_path / "classes" / label).mkdir(parents=True)
        for n in range(10):
            write(tmp_path / "classes" / label / f"{n}.txt", f"{label} text {n}")
    corpus = heedful.read(tmp_path / "classes", dev_share=0.2, test_share=0.0)
    assert (len(corpus.train), len(corpus.dev), len(corpus.test)) == (16, 4, 0)
    parts = tmp_path / "parts"
    parts.mkdir()
    write(parts / "train.csv", as_csv())
    write(parts / "validation.jsonl", JSONL)
    corpus = heedful.read(parts, test_share=0.0)
    assert (len(corpus.train), len(corpus.dev), len(corpus.test)) == (20, 20, 0)


def test_columns_are_guessed_when_obvious_and_taken_by_name_when_given(tmp_path: Path):
    path = write(tmp_path / "d.csv", "id,Review,Sentiment\n1,fine,pos\n2,awful,neg\n")
    assert [d.label for d in read_documents(path)[0]] == ["pos", "neg"]
    path = write(tmp_path / "e.csv", "body,text,stars,label\nx,y,5,a\nz,w,1,b\n")
    documents, _ = read_documents(path, text="body", label="stars")
    assert [(d.text, d.label) for d in documents] == [("x", "5"), ("z", "1")]


def test_blank_and_unlabelled_rows_are_skipped_and_counted(tmp_path: Path):
    path = write(tmp_path / "d.csv", "text,label\na,1\n,1\n  ,0\nb,\nc,0\n")
    documents, notes = read_documents(path)
    assert documents.texts == ["a", "c"]
    assert notes == ["d.csv: 2 blank rows skipped", "d.csv: 1 row without a label skipped"]


def test_quoted_cells_hold_commas_newlines_and_a_book(tmp_path: Path):
    book = "word " * 100_000
    path = write(tmp_path / "d.csv", f'text,label\n"one, two\nthree",1\n"{book}",0\n')
    documents, _ = read_documents(path)
    assert documents[0].text == "one, two\nthree"
    assert len(documents[1].text) == len(book)


def test_a_tsv_that_never_quotes_is_read_as_it_is(tmp_path: Path):
    lines = ['"so-called film\t0', "good\t1", 'what a film"\t0', '"in ""marks"""\t1']
    path = write(tmp_path / "d.tsv", "text\tlabel\n" + "\n".join(lines))
    texts = ['"so-called film', "good", 'what a film"', 'in "marks"']
    assert read_documents(path)[0].texts == texts


def test_a_tsv_whose_cells_run_over_lines_is_read_as_quoted(tmp_path: Path):
    path = write(tmp_path / "d.tsv", 'text\tlabel\n"two\nlines"\t0\ngood\t1\n')
    assert read_documents(path)[0].texts == ["two\nlines", "good"]


def test_a_semicolon_file_may_have_commas_in_its_header(tmp_path: Path):
    path = write(tmp_path / "d.csv", '"id, old";text;label\n1;a, b;x\n')
    assert read_documents(path)[0].texts == ["a, b"]


def test_half_a_surrogate_pair_becomes_a_sign_that_files_can_hold(tmp_path: Path):
    path = write(tmp_path / "d.jsonl", b'{"text": "a \\ud800 b", "label": "x\\udfff"}')
    (document,) = read_documents(path)[0]
    assert (document.text, document.label) == ("a \ufffd b", "x\ufffd")


def test_a_column_of_reasons_in_prose_is_left_alone(tmp_path: Path):
    path = write(tmp_path / "d.csv", "text,label,rationale\na,1,because it says so\n")
    assert read_documents(path)[0][0].rationale is None


def test_a_column_that_appears_late_is_still_a_column(tmp_path: Path):
    rows = [{"text": "a"}] * 200 + [{"text": "b", "label": "x"}]
    path = write(tmp_path / "d.jsonl", "\n".join(map(json.dumps, rows)))
    documents, notes = read_documents(path)
    assert documents.texts == ["b"]
    assert notes == ["d.jsonl: 200 rows without a label skipped"]


@pytest.mark.parametrize(
    ("value", "label"), [(1, "1"), (1.0, "1"), (0.5, "0.5"), (True, "true"), (" x ", "x")]
)
def test_labels_become_words(tmp_path: Path, value, label):
    path = write(tmp_path / "d.jsonl", json.dumps({"text": "a", "label": value}))
    assert read_documents(path)[0][0].label == label


def test_marks_of_people_travel_as_character_spans(tmp_path: Path):
    rows = [
        {"text": "a good film", "label": "1", "rationale": [0, 1, 0]},
        {"text": "a bad film", "label": "0", "rationale": [[2, 5]]},
        {"text": "no marks", "label": "0", "rationale": []},
        {"text": "not asked", "label": "0"},
        {"text": "so so", "label": "0", "token_labels": [2, 3]},
    ]
    rows[2]["rationale"] = [0, 0]
    path = write(tmp_path / "d.jsonl", "\n".join(map(json.dumps, rows)))
    documents, _ = read_documents(path)
    assert [d.rationale for d in documents] == [((2, 6),), ((2, 5),), (), None, None]
    assert documents[4].word_labels == (((0, 2), "2"), ((3, 5), "3"))


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("d.csv", b"", "d.csv is empty. Expected one document per row."),
        ("d.csv", b"text,label\n", "holds no rows"),
        ("d.csv", b"text,label\nok,1\nb\xe9d,0\n", "byte 0xe9 at position 17, line 3"),
        ("d.csv", "text,label\n".encode("utf-16"), "is UTF-16, not UTF-8"),
        (
            "d.csv",
            b"alpha,beta\nx,y\n",
            "which column holds the text? Available columns: alpha, beta",
        ),
        (
            "d.csv",
            b"text,beta\nx,y\n",
            "which column holds the label? Available columns: text, beta",
        ),
        ("d.csv", b"text,label\na,b,c\n", "line 2: 3 cells, but the header names 2 columns"),
        ("d.csv", b'text,label\n"open,1\n', "Is a quotation mark left open?"),
        ("d.jsonl", b'{"text": "a"', "line 1: not JSON"),
        ("d.jsonl", b"[1]", "line 1: expected an object"),
        ("d.json", b"[1]", "item 1: expected an object"),
        ("d.jsonl", b'{"text":"a","label":[1]}', "a label should be a word or a number"),
        ("d.jsonl", b'{"text":"a b","label":1,"rationale":[1]}', "1 rationale mark for 2 words"),
        ("d.jsonl", b'{"text":"ab","label":1,"rationale":[[0,9]]}', "[0, 9] lies outside the text"),
        ("d.jsonl", b'{"text":"a","label":1,"rationale":"[x"}', "rationale should be a list"),
        ("d.jsonl", b'{"text":"a","label":1,"token_labels":[1,2]}', "2 token labels for 1 word"),
        ("d.jsonl", b'{"text":"a b","label":1,"rationale":["x","y"]}', "should be 0 or 1, not 'x'"),
        ("d.jsonl", b'{"text":"a","label":1,"rationale":[["a","b"]]}', "should be [start, end]"),
        (
            "d.jsonl",
            b'{"text":"a","label":1,"token_labels":[null]}',
            "should be a word or a number",
        ),
        ("d.jsonl", b'{"text":["a"],"label":1}', "a text should be a string, not ['a']"),
        ("d.jsonl", b'{"text":"a","label":' + b"1" * 5000 + b"}", "line 1: not JSON"),
        ("d.csv", b"text,text,label\na,b,1\n", "more than one column named 'text'"),
        ("d.csv.gz", b"nonsense", "is not a whole gzip file"),
        ("d.csv.gz", gzip.compress(b"text", mtime=0)[:-6] + b"xxxxxx", "is not a whole gzip file"),
        ("d.parquet", b"nonsense", "is not a Parquet file"),
        ("d.xlsx", b"x", "files of kind '.xlsx' cannot be read. Expected one of .csv"),
        ("d.csv", b"text,label\n ,1\n", "holds no usable row: d.csv: 1 blank row skipped."),
    ],
)
def test_bad_files_are_refused_with_the_place(tmp_path: Path, name, content, sentence):
    with pytest.raises(DataError) as error:
        read_documents(write(tmp_path / name, content))
    assert sentence in str(error.value)


def test_missing_files_and_columns_are_answered_with_what_there_is(tmp_path: Path):
    path = write(tmp_path / "reviews.csv", as_csv())
    with pytest.raises(DataError, match=r"no such file: .*Did you mean 'reviews.csv'\?"):
        read_documents(tmp_path / "revews.csv")
    with pytest.raises(DataError, match=r"no column 'body'\. Available columns: text, label"):
        read_documents(path, text="body")
    with pytest.raises(DataError, match=r"is a directory\. Expected a file"):
        read_documents(tmp_path)
    with pytest.raises(DataError, match="'text' cannot hold both text and label"):
        read_documents(path, label="text")
    with pytest.raises(DataError, match="contains no corpus"):
        heedful.read(tmp_path)


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (["a"] * 30, "every training document has the label 'a'"),
        ([str(n) for n in range(60)], "different labels in"),
    ],
)
def test_labels_that_nobody_can_learn_are_refused(tmp_path: Path, labels, sentence):
    rows = [json.dumps({"text": f"t {n}", "label": x}) for n, x in enumerate(labels)]
    with pytest.raises(DataError, match=sentence):
        heedful.read(write(tmp_path / "d.jsonl", "\n".join(rows)))


def test_a_label_that_only_the_test_part_has_is_refused(tmp_path: Path):
    write(tmp_path / "train.csv", as_csv())
    write(tmp_path / "test.csv", "text,label\nx,c\n")
    with pytest.raises(DataError, match="the test part has labels never seen in training: c"):
        heedful.read(tmp_path)


def test_numbers_with_fractions_are_refused_as_classes(tmp_path: Path):
    rows = "".join(f"text {n},{n % 60 / 7:.3f}\n" for n in range(300))
    path = write(tmp_path / "d.csv", f"text,rating\n{rows}")
    with pytest.raises(DataError, match=r"the labels are numbers with fractions, such as 0\.143"):
        heedful.read(path)
    grades = "".join(f"text {n},{n % 60}\n" for n in range(600))
    many = heedful.read(write(tmp_path / "e.csv", f"text,rating\n{grades}"))
    assert len(set(many.train.labels)) == 60


def test_the_columns_of_a_training_are_read_unless_others_are_named(tmp_path: Path):
    path = write(tmp_path / "d.csv", "text,label,Body,Kind\nold,no,new,yes\n")
    usual = {"text": "Body", "label": "Kind"}
    (found,), _ = read_documents(path, usual=usual)
    assert (found.text, found.label) == ("new", "yes")
    (found,), _ = read_documents(path, "text", usual=usual)
    assert (found.text, found.label) == ("old", "yes")
    (found,), _ = read_documents(path, "Kind", usual={"label": "Kind"})
    assert (found.text, found.label) == ("yes", "no")
    (found,), _ = read_documents(path, usual={"text": "gone", "label": "gone too"})
    assert (found.text, found.label) == ("old", "no")
