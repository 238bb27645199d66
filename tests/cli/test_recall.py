"""`recall` and `explain`: the same query, the evidence or the reasons."""

import json

import pytest


@pytest.fixture
def told(cli):
    cli(
        *("remember", "mira", "We sail to Lisbon in June.", "--speaker", "Ana"),
        *("--session", "one", "--at", "2024-03-03", "--tag", "trip"),
    )
    cli(
        *("remember", "mira", "Lisbon was hot and the bread was good.", "--speaker", "Ben"),
        *("--session", "two", "--at", "2024-07-01", "--role", "assistant"),
    )
    for n in range(8):
        cli("remember", "mira", f"Bread number {n} came out flat.", "--session", "three")
    return cli


def found(cli, *arguments):
    done = cli("recall", "mira", "Lisbon", "--no-abstain", "--method", "bm25", "--json", *arguments)
    assert done.code == 0, done.err
    return [item["turn"]["session"] for item in json.loads(done.out)["items"]]


def test_the_pack_stands_alone_on_standard_output(told):
    done = told("recall", "mira", "Who sails to Lisbon?", "--no-abstain")
    assert done.out.startswith("<memory")
    assert "Ana: We sail to Lisbon in June." in done.out
    assert done.out.endswith("</memory>\n")
    assert "tokens" in done.err


@pytest.mark.parametrize(
    ("arguments", "sessions"),
    [
        ((), ["one", "two"]),
        (("--speaker", "ana"), ["one"]),
        (("--session", "two"), ["two"]),
        (("--session", "one", "--session", "two"), ["one", "two"]),
        (("--role", "assistant"), ["two"]),
        (("--tag", "trip"), ["one"]),
        (("--since", "2024-04-01"), ["two"]),
        (("--until", "2024-04-01"), ["one"]),
        (("--speaker", "nobody"), []),
    ],
)
def test_filters_say_where_to_look(told, arguments, sessions):
    assert found(told, *arguments) == sessions


def test_k_and_the_budget_bound_what_is_found(told):
    done = told("recall", "mira", "flat bread", "--k", "2", "--no-abstain", "--json")
    assert len(json.loads(done.out)["items"]) <= 2
    small = json.loads(
        told("recall", "mira", "bread", "--budget", "64", "--no-abstain", "--json").out
    )
    assert small["n_tokens"] <= small["budget_tokens"] == 64


def test_abstention_is_no_error_and_gives_its_reason(told):
    done = told("recall", "mira", "xylophone", "--method", "bm25")
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("nothing to show: ")
    told_json = json.loads(told("recall", "mira", "xylophone", "--method", "bm25", "--json").out)
    assert told_json["abstained"] is True
    assert told_json["text"] == ""
    assert told_json["reason"]


def test_ids_can_be_listed_beside_the_pack(told):
    done = told("recall", "mira", "Lisbon", "--method", "bm25", "--no-abstain", "--show-ids")
    assert "[1] t1:" in done.err
    assert "t1:" not in done.out


def test_a_bank_without_vectors_says_that_recall_is_lexical(cli, monkeypatch):
    monkeypatch.setenv("COMBRAY_EMBEDDER", "none")
    cli("remember", "mira", "Words about bread.")
    done = cli("recall", "mira", "bread", "--no-abstain")
    assert "lexical" in done.err


def test_explain_shows_scores_channels_cuts_and_timings(told):
    done = told("explain", "mira", "Lisbon bread", "--no-abstain", "--budget", "64")
    assert done.code == 0
    for part in ("Lisbon was hot", "lexical", "support", "milliseconds", "left out: "):
        assert part in done.out


def test_explain_shows_the_first_turns_unless_asked_for_all(told):
    for n in range(20):
        told("remember", "mira", f"Lisbon bread of day {n}.", "--session", "four")
    arguments = ("explain", "mira", "Lisbon bread", "--no-abstain", "--k", "20", "--budget", "64")
    few, every = told(*arguments), told(*arguments, "--all")
    assert "more turns; --all shows them" in few.out
    assert few.out.count(" · four #") < 11 < every.out.count(" · four #")


def test_explain_as_json_adds_the_whole_ranking_to_the_recall(told):
    arguments = ("mira", "Lisbon bread", "--no-abstain", "--json")
    recall = json.loads(told("recall", *arguments).out)
    explained = json.loads(told("explain", *arguments).out)
    assert recall.keys() < explained.keys()
    assert [item["turn"] for item in explained["items"]] == [
        item["turn"] for item in recall["items"]
    ]
    for hit in explained["hits"]:
        assert hit["score"] == pytest.approx(sum(hit["contributions"].values()))
    assert {"cut", "signals", "threshold", "timings_ms", "params"} <= explained.keys()


def test_naive_times_are_read_in_the_zone_of_the_bank(cli, monkeypatch):
    monkeypatch.setenv("COMBRAY_ZONE", "Asia/Tokyo")
    cli("remember", "mira", "Lisbon at nine.", "--session", "s", "--at", "2024-03-03T09:00:00")
    assert found(cli, "--since", "2024-03-03T09:00:00") == ["s"]
    assert found(cli, "--since", "2024-03-03T09:00:00+00:00") == []
