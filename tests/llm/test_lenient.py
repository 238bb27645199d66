import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from combray.llm.lenient import Broken, read

texts = st.text(st.characters(codec="utf-8"), max_size=12)
scalars = st.none() | st.booleans() | st.integers(-999, 999) | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@given(
    values.filter(lambda value: isinstance(value, list | dict)),
    st.sampled_from([None, 2]),
    st.booleans(),
)
def test_what_is_json_is_read_as_json(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert read(text) == (value, True, len(text))


@given(st.lists(values, max_size=4), st.sampled_from([None, 2]), st.booleans(), st.data())
def test_a_prefix_of_a_list_gives_a_prefix_of_its_elements(value, indent, ascii_only, data):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    cut = data.draw(st.integers(1, len(text) - 1))
    found, whole, _ = read(text[:cut])
    assert not whole
    assert found == value[: len(found)]


@given(st.lists(st.text("ab'\"[],: \\", max_size=6)), st.data())
def test_a_prefix_never_gives_half_a_string_however_it_is_punctuated(value, data):
    text = json.dumps(value)
    cut = data.draw(st.integers(1, len(text) - 1))
    found, _, _ = read(text[:cut])
    assert found == value[: len(found)]
    assert len(found) >= sum(len(json.dumps(value[: i + 1])) <= cut for i in range(len(value)))


@given(st.text("[]{}\",:1a'“” \\", max_size=30))
def test_anything_else_is_broken_and_nothing_worse(text):
    try:
        value, _, end = read("[" + text)
    except Broken:
        return
    assert isinstance(value, list)
    assert 0 < end <= len(text) + 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("['a', 'b']", ["a", "b"]),
        ("['it is Ann's [old] car', 'b']", ["it is Ann's [old] car", "b"]),
        ("[“a”, “b”]", ["a", "b"]),
        ('["a", "b",]', ["a", "b"]),
        ("{'a': True, 'b': None}", {"a": True, "b": None}),
        (r'["it\'s", "a\nb", "\u00e9"]', ["it's", "a\nb", "é"]),
        ('["two\nlines"]', ["two\nlines"]),
    ],
)
def test_small_sins_are_read(text, value):
    assert read(text) == (value, True, len(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"facts": ["a", "b [x]', {"facts": ["a"]}),
        ('{"facts": ["a", "b', {"facts": ["a"]}),
        ('{"facts": ["a"], "note": "hal', {"facts": ["a"]}),
        ('{"facts": ["a", "b"', {"facts": ["a", "b"]}),
        ("['a', 'Ann'", ["a"]),
        ("[1, 12", [1]),
        ('[{"a": 1}, {"a": 2, "b', [{"a": 1}]),
        ('[{"a": 1}', [{"a": 1}]),
        ('{"a": {"b": 1, "c', {}),
        ('{"a"', {}),
        ("[", []),
    ],
)
def test_what_breaks_off_is_left_out(text, value):
    assert read(text)[:2] == (value, False)


@pytest.mark.parametrize("text", ['["a" "b"]', "[a b]", '{"a" 1}', "{a: 1}", "[1 2]", "[" * 100])
def test_what_json_cannot_have_is_broken(text):
    with pytest.raises(Broken):
        read(text)
