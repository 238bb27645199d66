import json

import pytest

from combray import Memory


@pytest.fixture
def five(database):
    with Memory.open(database, embedder="hash") as memory:
        for name in "edcba":
            memory.create_bank(name)


def names(done):
    return [bank["name"] for bank in json.loads(done.out)["banks"]]


def test_banks_come_in_order_and_page_by_page(cli, five):
    first = cli("banks", "--limit", "2", "--json")
    assert names(first) == ["a", "b"]
    cursor = json.loads(first.out)["next_after"]
    second = cli("banks", "--limit", "3", "--after", cursor, "--json")
    assert names(second) == ["c", "d", "e"]
    assert json.loads(second.out)["next_after"] is None


def test_all_banks_come_at_once_if_asked_for(cli, five):
    done = cli("banks", "--all", "--limit", "2", "--json")
    assert names(done) == list("abcde")
    assert json.loads(done.out)["next_after"] is None


def test_the_table_says_that_there_are_more(cli, five):
    done = cli("banks", "--limit", "2")
    assert [line.split()[0] for line in done.out.splitlines()] == ["bank", "a", "b"]
    assert "--after 'b'" in done.err


def test_a_new_user_has_no_banks_and_no_file_after_asking(cli, database):
    done = cli("banks")
    assert (done.code, done.out) == (0, "")
    assert "combray remember" in done.err
    assert not database.exists()
    assert json.loads(cli("banks", "--json").out) == {"banks": [], "next_after": None}
