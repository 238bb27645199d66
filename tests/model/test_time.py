from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from combray.errors import ConfigError, InvalidInput
from combray.model.time import aware, from_stored, offset_of, to_micros, to_stored, zone


def test_a_naive_time_is_read_in_the_given_zone():
    read = aware(datetime(2024, 1, 1, 12), ZoneInfo("Asia/Tokyo"))
    assert read.astimezone(UTC) == datetime(2024, 1, 1, 3, tzinfo=UTC)


def test_the_same_instant_in_two_offsets_is_stored_alike():
    tokyo = datetime(2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=9)))
    assert to_stored(tokyo) == to_stored(tokyo.astimezone(UTC))


def test_text_that_is_no_time_says_so():
    with pytest.raises(InvalidInput, match="not an ISO 8601 time"):
        aware("last week", UTC)


def test_an_unknown_zone_names_the_form_it_wants():
    with pytest.raises(ConfigError, match="IANA"):
        zone("Mars/Olympus")


def test_a_time_at_the_edge_of_the_calendar_is_refused():
    with pytest.raises(InvalidInput):
        aware(datetime(1, 1, 1), ZoneInfo("Asia/Tokyo"))


@given(
    st.datetimes(
        timezones=st.timezones(), min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)
    )
)
def test_stored_times_round_trip_and_sort(value):
    text = to_stored(value)
    assert len(text) == 27
    assert from_stored(text, offset_of(value)) == value.astimezone(UTC)
    assert to_micros(from_stored(text)) == to_micros(value)
