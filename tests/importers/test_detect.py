import pytest

from combray.errors import ConfigError
from combray.importers import BadImport, detect, read


@pytest.mark.parametrize(
    "raw", [b"", b"\n \n", b"{}", b"[]", b'"text"', b"plain words", b"\xff\xfe\x00"]
)
def test_an_unknown_format_is_an_error_that_lists_the_known(tmp_path, raw):
    path = tmp_path / "file"
    path.write_bytes(raw)
    with pytest.raises(BadImport) as caught:
        detect(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_a_typed_error(tmp_path):
    with pytest.raises(BadImport, match="cannot be read"):
        detect(tmp_path / "none.json")


def test_a_folder_is_a_typed_error(tmp_path):
    with pytest.raises(BadImport, match="cannot be read"):
        list(read(tmp_path, "combray"))


def test_an_unknown_format_name_is_an_error_that_lists_the_known(tmp_path):
    with pytest.raises(ConfigError, match="combray, locomo, openai"):
        read(tmp_path / "x", "pdf")
