"""What holds of a person, from the turn that was said to the entry that is shown, and back when it is forgotten."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import permutations

import pytest
from tests.methods.atom.scripted import Scripted

from combray import Memory
from combray.errors import Conflict, InvalidInput, NotFound
from combray.model import MadeBy, RecordKind, Status
from combray.store.derived import Closing, Derivation, RecordRow, UnitRow

LISBON, PORTO = "Caroline lives in Lisbon.", "Caroline lives in Porto."
NOW = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock():
    return [NOW]


@pytest.fixture
def memory(tmp_path, clock):
    opened = Memory.open(
        tmp_path / "m.db", embedder="hash", llm=Scripted().llm(), clock=lambda: clock[0]
    )
    with opened:
        yield opened


@pytest.fixture
def bank(memory):
    made = memory.create_bank("b")
    made.enrichment.use("atom")
    return made


def say(bank, text, day, speaker="Caroline", **more):
    bank.remember([{"speaker": speaker, "text": text, **more}], session=f"s{day}", said_at=day)


def work(bank):
    bank.enrichment.run()
    assert [job.error for job in bank.enrichment.jobs("failed")] == []


def moved(bank):
    say(bank, "I live in Lisbon.", "2023-05-01")
    work(bank)
    say(bank, "I moved, I live in Porto now.", "2023-07-20")
    work(bank)


def told(bank, subject="Caroline", at=None):
    return [entry.text for entry in bank.profile(subject, at=at)]


def test_what_holds_now_comes_with_its_facts_its_turns_and_what_held_before(bank):
    moved(bank)
    (entry,) = bank.profile("Caroline")
    assert (entry.text, entry.valid_from, entry.valid_to) == (PORTO, date(2023, 7, 1), None)
    assert entry.keywords == ("home",)
    assert [fact.text for fact in entry.facts] == [PORTO]
    assert [turn.text for turn in entry.turns] == ["I moved, I live in Porto now."]
    (before,) = entry.earlier
    assert (before.text, before.valid_to) == (LISBON, date(2023, 7, 1))
    assert [turn.text for turn in before.turns] == ["I live in Lisbon."]
    assert [(fact.text, fact.status) for fact in before.facts] == [(LISBON, Status.SUPERSEDED)]


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("2023-04-30", []),
        ("2023-05-01", [LISBON]),
        ("2023-06-30T23:59", [LISBON]),
        ("2023-07", [PORTO]),
        (date(2023, 7, 1), [PORTO]),
        (datetime(2030, 1, 1, tzinfo=UTC), [PORTO]),
        ("2023", []),
    ],
)
def test_the_version_of_a_day_is_the_one_whose_interval_has_it(bank, at, expected):
    moved(bank)
    assert told(bank, at=at) == expected


def test_a_day_is_one_of_the_zone_of_the_bank(memory):
    bank = memory.create_bank("east", zone="Asia/Tokyo")
    bank.enrichment.use("atom")
    moved(bank)
    assert bank.profile("Caroline", at=datetime(2023, 6, 30, 14, 59, tzinfo=UTC)).at.day == 30
    assert told(bank, at=datetime(2023, 6, 30, 15, 0, tzinfo=UTC)) == [PORTO]


def test_an_entry_goes_with_its_last_support_and_what_held_before_holds_again(bank):
    moved(bank)
    lisbon, porto = bank.turns()
    bank.forget(turns=[porto.id])
    assert told(bank) == [LISBON]
    assert bank.profile("Caroline").entries[0].valid_to is None
    bank.forget(turns=[lisbon.id])
    with pytest.raises(NotFound, match="no profiles yet"):
        bank.profile("Caroline")
    work(bank)
    with pytest.raises(NotFound, match="nothing that was said lasts"):
        bank.profile("Caroline")


def test_what_rests_on_an_expired_turn_is_not_shown(bank, clock):
    say(bank, "I live in Lisbon.", "2023-05-01")
    say(bank, "I moved, I live in Porto now.", "2023-07-20", expires_at="2024-06-01")
    work(bank)
    assert told(bank) == [PORTO]
    clock[0] = NOW + timedelta(days=365)
    assert told(bank) == []
    assert told(bank, at="2023-06-01") == [LISBON]


def test_a_bank_without_profiles_says_which_commands_make_them(memory):
    bank = memory.create_bank("plain")
    with pytest.raises(NotFound, match="combray enrich plain --method atom") as raised:
        bank.profile("Caroline")
    assert (raised.value.kind, raised.value.name) == ("profile", "Caroline")
    bank.enrichment.use("atom")
    say(bank, "I live in Lisbon.", "2023-05-01")
    with pytest.raises(NotFound, match="1 job is left: `combray work` does it"):
        bank.profile("Caroline")


@pytest.mark.parametrize("subject", ["", " ", 7, None])
def test_a_subject_is_a_name(bank, subject):
    with pytest.raises(InvalidInput, match="a person's name"):
        bank.profile(subject)


def test_a_day_that_is_none_is_refused(bank):
    moved(bank)
    with pytest.raises(InvalidInput, match="not an ISO 8601 time"):
        bank.profile("Caroline", at="last May")


class ByHand:
    """A bank whose profile records are written down here, each as a method would leave it."""

    def __init__(self, memory, name="hand"):
        self.bank = memory.create_bank(name)
        self.store, self.name = memory._parts.store, name

    def said(self, text, day, speaker="Ann"):
        receipt = self.bank.remember([{"text": text, "speaker": speaker}], session=day, said_at=day)
        return self.store.docs(self.name, receipt.ids)[0]

    def made(self, kind, id_, doc, detail, inputs=(), closes=(), text=""):
        row = RecordRow(id=id_, kind=kind, text=text or id_, sources=(doc,), detail=detail)
        unit = UnitRow(
            kind="k",
            key=f"u-{id_}",
            turns=(doc,),
            inputs=tuple(inputs),
            made_by=MadeBy(method="atom"),
            records=(row,),
            closes=tuple(closes),
        )
        receipt = self.store.derive(self.name, "atom", Derivation(units=[unit]), at=NOW)
        return receipt.records[id_]

    def version(self, subject, text, day, *, since="", timeline="", doc=None):
        """A fact, the candidate drawn from it, and the version that was made of the candidate."""
        doc = doc or self.said(text, day, subject)
        fact = self.made(RecordKind.FACT, f"fact {text}", doc, {"people": [subject]})
        detail = {"subject": subject, "people": [subject], "valid_from": since}
        candidate = self.made(
            RecordKind.PROFILE, f"candidate {text}", doc, {**detail, "candidate": True}, [fact]
        )
        detail["timeline"] = timeline or text
        return self.made(RecordKind.PROFILE, f"version {text}", doc, detail, [candidate], text=text)

    def confirmed(self, subject, text, day, by):
        """A candidate that says what a version says already."""
        doc = self.said(text, day, subject)
        fact = self.made(RecordKind.FACT, f"fact {text}", doc, {"people": [subject]})
        detail = {"subject": subject, "people": [subject], "candidate": True}
        number = self.made(RecordKind.PROFILE, f"candidate {text}", doc, detail, [fact])
        unit = UnitRow(
            kind="k",
            key=f"c-{text}",
            turns=(doc,),
            inputs=(number,),
            made_by=MadeBy(method="atom"),
            closes=(Closing(record=number, status=Status.MERGED, by=f"version {by}"),),
        )
        self.store.derive(self.name, "atom", Derivation(units=[unit]), at=NOW)


@pytest.fixture
def hand(memory):
    return ByHand(memory)


def test_facts_are_found_through_the_candidate_and_candidates_are_never_shown(hand):
    hand.version("Ann", "Ann sings.", "2023-05-01", since="2022")
    (entry,) = hand.bank.profile("Ann")
    assert (entry.text, entry.valid_from) == ("Ann sings.", date(2022, 1, 1))
    assert [fact.text for fact in entry.facts] == ["fact Ann sings."]


def test_what_only_repeats_a_statement_is_evidence_for_it(hand):
    hand.version("Ann", "Ann sings.", "2023-05-01", since="2022")
    hand.confirmed("Ann", "She does sing.", "2023-06-01", by="Ann sings.")
    (entry,) = hand.bank.profile("Ann")
    assert [fact.text for fact in entry.facts] == ["fact Ann sings.", "fact She does sing."]
    assert [turn.text for turn in entry.turns] == ["Ann sings.", "She does sing."]


def test_versions_of_one_day_are_one_with_the_evidence_of_both(hand):
    hand.version("Ann", "Ann sings well.", "2023-06-01", since="2022", timeline="t")
    hand.version("Ann", "Ann sings.", "2023-05-01", since="2022-01", timeline="t")
    (entry,) = hand.bank.profile("Ann")
    assert (entry.text, entry.earlier) == ("Ann sings well.", ())
    assert [turn.text for turn in entry.turns] == ["Ann sings.", "Ann sings well."]


def test_the_order_in_which_versions_arrive_does_not_matter(memory):
    said = [
        ("Ann lives in Lisbon.", "2023-05-01", ""),
        ("Ann lives in Porto.", "2023-07-20", "2023-07"),
        ("Ann has moved to Porto.", "2023-08-02", "2023-07-01"),
        ("Ann lives in Faro.", "2023-07-01", "2021"),
    ]
    shown = []
    for n, order in enumerate(permutations(said)):
        hand = ByHand(memory, f"b{n}")
        for text, day, since in order:
            hand.version("Ann", text, day, since=since, timeline="home")
        shown.append([hand.bank.profile("Ann").json(), hand.bank.profile("Ann", at="2022").json()])
    assert all(one == shown[0] for one in shown)
    (entry,) = shown[0][0]["entries"]
    assert entry["text"] == "Ann has moved to Porto."
    assert [(one["text"], one["valid_from"], one["valid_to"]) for one in entry["earlier"]] == [
        ("Ann lives in Faro.", "2021-01-01", "2023-05-01"),
        ("Ann lives in Lisbon.", "2023-05-01", "2023-07-01"),
    ]
    assert [one["text"] for one in shown[0][1]["entries"]] == ["Ann lives in Faro."]


def test_an_undated_statement_holds_since_it_is_not_known_when(hand):
    hand.version("Ann", "Ann sings.", "2023-05-01")
    (entry,) = hand.bank.profile("Ann")
    assert entry.valid_from is None
    assert told(hand.bank, "Ann", "2023-04-30") == []
    assert told(hand.bank, "Ann", "2023-05-01") == ["Ann sings."]


def test_a_short_form_finds_the_one_person_it_fits(hand):
    hand.version("Melanie", "Melanie paints.", "2023-05-01")
    hand.version("Ann", "Ann sings.", "2023-05-01")
    for name in ("Mel", "melanie", "Melanie Stone"):
        found = hand.bank.profile(name)
        assert (found.subject, [entry.text for entry in found]) == ("Melanie", ["Melanie paints."])


def test_statements_under_both_names_of_a_person_are_one_profile(hand):
    hand.version("Melanie", "Melanie paints.", "2023-05-01")
    hand.version("Mel", "Mel swims.", "2023-05-02")
    assert told(hand.bank, "Mel") == ["Melanie paints.", "Mel swims."]
    assert hand.bank.profile("Mel").subject == "Melanie"


def test_a_short_form_of_two_people_lists_them(hand):
    hand.version("Melanie", "Melanie paints.", "2023-05-01")
    hand.said("Hi!", "2023-05-01", "Melissa")
    with pytest.raises(Conflict, match="'Mel' may be 'Melanie', 'Melissa'"):
        hand.bank.profile("Mel")
    hand.said("Hi!", "2023-05-02", "Mel")
    with pytest.raises(Conflict, match="'Mel' may be 'Melanie', 'Melissa'"):
        hand.bank.profile("Mel")
    assert told(hand.bank, "Melanie") == ["Melanie paints."]


def test_an_unknown_person_lists_the_known_ones(hand):
    hand.version("Melanie", "Melanie paints.", "2023-05-01")
    hand.version("Ann", "Ann sings.", "2023-05-01")
    hand.said("Hi!", "2023-05-01", "Bo")
    for name in ("Bo", "Zora"):
        with pytest.raises(NotFound, match="'Ann', 'Melanie'") as raised:
            hand.bank.profile(name)
        assert (raised.value.kind, raised.value.name) == ("profile", name)


def test_no_bank_sees_the_profiles_of_another(memory, hand):
    hand.version("Ann", "Ann sings.", "2023-05-01")
    other = ByHand(memory, "other")
    other.version("Ann", "Ann is silent.", "2023-05-01")
    assert told(hand.bank, "Ann") == ["Ann sings."]
    assert told(other.bank, "Ann") == ["Ann is silent."]


def test_a_profile_as_json_is_plain(hand):
    hand.version("Ann", "Ann sings.", "2023-05-01", since="2022")
    hand.version("Ann", "Ann whistles.", "2023-06-01", since="2023", timeline="Ann sings.")
    shown = hand.bank.profile("Ann", at="2023-06").json()
    assert (shown["subject"], shown["at"]) == ("Ann", "2023-06-01")
    (entry,) = shown["entries"]
    assert entry["id"] == "version Ann whistles."
    assert (entry["valid_from"], entry["valid_to"]) == ("2023-01-01", None)
    assert entry["facts"][0]["text"] == "fact Ann whistles."
    assert entry["facts"][0]["turns"] == [entry["turns"][0]["id"]]
    assert entry["turns"][0]["said_at"] == "2023-06-01T00:00:00+00:00"
    assert [one["valid_to"] for one in entry["earlier"]] == ["2023-01-01"]
