import json

import pytest

from combray.errors import NotFound
from combray.eval.datasets import data_root


@pytest.fixture(scope="session")
def benchmark_data():
    try:
        return data_root()
    except NotFound as error:
        pytest.skip(str(error))


TOWNS = ["Porto", "Lyon", "Ghent", "Turin", "Graz", "Oslo"]


def locomo_conversation(name, people):
    first, second = people
    conversation = {"speaker_a": first, "speaker_b": second}
    for number, town in enumerate(TOWNS, 1):
        said = [
            (first, f"I have just come back from {town}, what a week."),
            (second, f"How was the food in {town}?"),
            (
                first,
                f"The market had {['cod', 'pralines', 'waffles', 'truffles', 'pears', 'herring'][number - 1]}.",
            ),
            (second, "I spent the weekend repairing my bicycle."),
        ]
        conversation[f"session_{number}_date_time"] = f"1:56 pm on {number} May, 2023"
        conversation[f"session_{number}"] = [
            {"speaker": who, "dia_id": f"D{number}:{i}", "text": text}
            for i, (who, text) in enumerate(said, 1)
        ]
    qa = [
        {
            "question": f"Who went to {town}?",
            "answer": first,
            "evidence": [f"D{n}:1"],
            "category": 1 + n % 4,
        }
        for n, town in enumerate(TOWNS, 1)
    ]
    qa.append({"question": f"When did {second} go to Oslo?", "evidence": ["D6:1"], "category": 5,
               "adversarial_answer": "6 May"})  # fmt: skip
    qa.append({"question": "Is any of them shy?", "answer": "no", "evidence": [], "category": 3})
    return {"sample_id": name, "conversation": conversation, "qa": qa}


@pytest.fixture
def small_locomo(tmp_path):
    path = tmp_path / "locomo10.json"
    conversations = [
        locomo_conversation("conv-26", ("Ann", "Ben")),
        locomo_conversation("conv-50", ("Cleo", "Dan")),
    ]
    path.write_text(json.dumps(conversations))
    return path


@pytest.fixture
def small_realmem(tmp_path):
    folder = tmp_path / "realmem"
    folder.mkdir()
    for person in ("Adeleke_Okonjo", "Zoe"):
        turns = [
            {"id": f"{town}:{i}", "session": town, "speaker": who, "role": who.lower(),
             "text": text, "at": "2025-12-15 (Monday)"}
            for town in TOWNS
            for i, (who, text) in enumerate(
                [("User", f"Plan me a weekend in {town}."), ("Assistant", f"In {town}, start at the station.")]
            )
        ]  # fmt: skip
        questions = [
            {"id": f"Q-{n}", "category": "Dynamic Updating", "question": f"What did we plan for {TOWNS[n - 1]}?",
             "at": "2025-12-28 (Sunday)", "asked_in": TOWNS[n], "evidence_sessions": [TOWNS[n - 1]],
             "evidence_turns": []}
            for n in range(1, len(TOWNS))
        ]  # fmt: skip
        document = {"id": person, "turns": turns, "questions": questions}
        (folder / f"{person}.json").write_text(json.dumps(document))
    return folder


@pytest.fixture
def small_pool(tmp_path):
    path = tmp_path / "questions_500_evidence_turns.json"
    document = [
        {
            "question_id": f"q{n}{'_abs' if n == 5 else ''}",
            "question_type": "multi-session",
            "is_abstention": n == 5,
            "question": f"What did I buy in {town}?",
            "question_date_oracle": None if n == 5 else "2023/05/23 (Tue) 19:11",
            "evidence_sessions": [
                {"session_id": None, "date": "2023/05/21 (Sun) 11:54", "turns": [
                    {"role": "user", "content": f"I bought a hat in {town}.", "has_answer": True},
                    {"role": "assistant", "content": "A good choice."},
                ]}
            ],
        }
        for n, town in enumerate(TOWNS)
    ]  # fmt: skip
    path.write_text(json.dumps(document))
    return path
