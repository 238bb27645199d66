import json

import pytest

from combray.errors import NotFound
from combray.eval.datasets import anchormem
from combray.importers.base import BadImport

RUN = {
    "sample_id": "conv-1",
    "chunks": [
        {
            "chunk_id": "c",
            "session": "session_2",
            "dia_ids": ["D2:1", "D2:2"],
            "fact_ids": ["f", "f"],
        }
    ],
    "facts": [{"fact_id": "f", "text": "Ann bought a hat.", "chunks": ["c"]}],
    "events": [{"event_id": "e", "text": "A hat.", "fact_ids": ["f", "f"], "chunk_ids": ["c"]}],
    "answers": [
        {
            "qa_index": 3,
            "answer": "a hat",
            "retrieved_chunk_ids": ["c"],
            "retrieved_event_ids": [],
            "topk_facts": ["f"],
        }
    ],
}


def write(folder, run):
    folder.mkdir(exist_ok=True)
    (folder / "conv-1.json").write_text(json.dumps(run))
    return folder


def test_a_released_run_is_read_from_its_folder_or_the_one_above(tmp_path):
    folder = write(tmp_path / "locomo_facts_anchormem", RUN)
    run = anchormem(tmp_path)["conv-1"]
    assert run == anchormem(folder)["conv-1"]
    assert run.chunks[0].turns == (
        ("conv-1/session_2", "D2:1"),
        ("conv-1/session_2", "D2:2"),
    )
    assert run.chunks[0].facts == run.events[0].facts == ("f", "f")
    assert run.facts == {"f": "Ann bought a hat."}
    assert run.answers[0].question == 3


@pytest.mark.parametrize(
    ("part", "wrong", "named"),
    [
        ("chunks", [{**RUN["chunks"][0], "session": 2}], "chunks 1: 'session' must be text"),
        ("facts", {}, "'facts' must be an array"),
        ("facts", [1], "facts 1: an item must be an object"),
        ("events", [{**RUN["events"][0], "fact_ids": [1]}], "events 1: 'fact_ids' must be an"),
        ("answers", [{**RUN["answers"][0], "qa_index": "3"}], "answers 1: 'qa_index' must be"),
    ],
)
def test_a_file_that_is_no_such_run_is_refused_with_its_place(tmp_path, part, wrong, named):
    folder = write(tmp_path / "run", RUN | {part: wrong})
    with pytest.raises(BadImport, match=named):
        anchormem(folder)


def test_a_folder_without_conversations_is_not_found(tmp_path):
    with pytest.raises(NotFound):
        anchormem(tmp_path)
