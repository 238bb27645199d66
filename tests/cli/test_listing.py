"""`sessions` and `turns`: what is there, page by page, the newest last."""

import json

import pytest

from combray import Memory


@pytest.fixture
def told(cli, database):
    with Memory.open(database, embedder="hash") as memory:
        bank = memory.create_bank("mira")
        for day, name in ((3, "walk"), (1, "tea"), (2, "call")):
            for n in range(3):
                bank.remember(
                    {"text": f"{name} {n}", "id": f"{name}-{n}"},
                    session=name,
                    said_at=f"2024-05-0{day}T10:0{n}",
                )
    return cli


def values(done, key, field):
    assert done.code == 0, done.err
    return [row[field] for row in json.loads(done.out)[key]]


def test_sessions_come_in_order_of_time_and_page_by_page(told):
    assert values(told("sessions", "mira", "--json"), "sessions", "name") == ["tea", "call", "walk"]
    first = told("sessions", "mira", "--limit", "2", "--json")
    assert json.loads(first.out)["next_after"] == "call"
    rest = told("sessions", "mira", "--after", "call", "--json")
    assert values(rest, "sessions", "name") == ["walk"]
    last = told("sessions", "mira", "--last", "--limit", "1", "--json")
    assert values(last, "sessions", "name") == ["walk"]
    assert "--after 'call'" in told("sessions", "mira", "--limit", "2").err


def test_the_table_of_sessions_says_when_they_begin(told):
    lines = told("sessions", "mira").out.splitlines()
    assert [line.split()[:4] for line in lines[1:]] == [
        ["tea", "3", "2024-05-01", "10:00"],
        ["call", "3", "2024-05-02", "10:00"],
        ["walk", "3", "2024-05-03", "10:00"],
    ]


def test_turns_come_in_the_order_they_were_stored(told):
    every = values(told("turns", "mira", "--json"), "turns", "client_id")
    assert every == [f"{name}-{n}" for name in ("walk", "tea", "call") for n in range(3)]
    one = told("turns", "mira", "--session", "tea", "--json")
    assert values(one, "turns", "client_id") == ["tea-0", "tea-1", "tea-2"]
    last = told("turns", "mira", "--last", "--limit", "2", "--json")
    assert values(last, "turns", "client_id") == ["call-1", "call-2"]


def test_turns_go_on_page_by_page(told):
    seen, after = [], []
    while True:
        page = json.loads(told("turns", "mira", "--limit", "4", "--json", *after).out)
        seen += [turn["client_id"] for turn in page["turns"]]
        if page["next_after"] is None:
            break
        after = ["--after", page["next_after"]]
    assert len(seen) == len(set(seen)) == 9
    assert "There are more" in told("turns", "mira", "--limit", "4").err
    assert "There are more" not in told("turns", "mira", "--all", "--limit", "4").err


def test_a_clients_own_id_serves_to_go_on_and_to_forget(told):
    rest = told("turns", "mira", "--after", "call-0", "--json")
    assert values(rest, "turns", "client_id") == ["call-1", "call-2"]
    done = told("forget", "mira", "--turn", "walk-1", "--yes")
    assert (done.code, "walk 1" in done.err) == (0, True)
    table = told("turns", "mira").out
    assert "walk-0" in table
    assert "walk-1" not in table


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("turns", "mirra"), "Did you mean 'mira'? `combray banks` lists"),
        (("sessions", "mirra"), "Did you mean 'mira'?"),
        (("recall", "mirra", "tea"), "Did you mean 'mira'?"),
        (("doctor", "mirra"), "Did you mean 'mira'?"),
        (("export", "mirra"), "Did you mean 'mira'?"),
        (("turns", "mira", "--session", "te"), "Did you mean 'tea'? `combray sessions mira` lists"),
        (("sessions", "mira", "--after", "te"), "Did you mean 'tea'?"),
        (("forget", "mira", "--session", "te", "--yes"), "Did you mean 'tea'?"),
        (("turns", "mira", "--after", "x"), "`combray turns mira` lists"),
    ],
)
def test_a_mistyped_name_is_answered_with_those_that_are_near(told, arguments, says):
    done = told(*arguments)
    assert (done.code, done.out) == (3, "")
    assert says in done.err


def test_an_empty_bank_has_neither(cli, database):
    with Memory.open(database, embedder="hash") as memory:
        memory.create_bank("mira")
    assert "No sessions." in cli("sessions", "mira").err
    assert "No turns." in cli("turns", "mira").err
    assert json.loads(cli("turns", "mira", "--json").out)["turns"] == []
