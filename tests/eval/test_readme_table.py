import runpy
from pathlib import Path

import pytest

from combray.eval import Setup, SpeedSetup, run_locomo, run_longmemeval_pool, run_realmem, run_speed

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "readme_table.py"
README = "# Combray\n\n<!-- results -->\nold\n<!-- /results -->\n\nMore.\n"


@pytest.fixture
def main():
    return runpy.run_path(str(SCRIPT))["main"]


@pytest.fixture
def results(tmp_path, small_locomo, small_realmem, small_pool):
    folder = tmp_path / "results"

    def setup(data):
        return Setup(data=data, embedder="hash")

    made = run_locomo("bm25", baselines=["late"], setup=setup(small_locomo))
    made.save(folder)
    (folder / "locomo-bm25.json").rename(folder / "locomo.json")
    run_realmem(["bm25", "dense"], setup=setup(small_realmem)).save(folder)
    run_longmemeval_pool(["bm25"], setup=setup(small_pool)).save(folder)
    return folder


def written(tmp_path, text=README):
    path = tmp_path / "README.md"
    path.write_text(text)
    return path


def test_the_block_is_rewritten_and_nothing_else(main, results, tmp_path):
    readme = written(tmp_path)
    arguments = ["--readme", str(readme), "--results", str(results)]
    assert main([*arguments, "--check"]) == 1
    assert main(arguments) == 0
    text = readme.read_text()
    assert text.startswith("# Combray\n\n<!-- results -->\n")
    assert text.endswith("\n<!-- /results -->\n\nMore.\n")
    assert "old" not in text
    assert "| `bm25` | 1.000 |" in text
    assert "| `dense` | – | " in text
    assert "combray bench realmem" in text
    assert main([*arguments, "--check"]) == 0


def test_speed_is_shown_where_it_was_measured(main, results, tmp_path):
    setup = SpeedSetup(sizes=(30,), n_queries=2, n_singles=1, n_batch=5, n_embedded=2)
    run_speed("bm25", setup=setup).save(results)
    (results / "speed-bm25.json").rename(results / "speed.json")
    readme = written(tmp_path)
    assert main(["--readme", str(readme), "--results", str(results)]) == 0
    assert "| 30 | " in readme.read_text()


def test_a_missing_result_says_how_to_make_it(main, results, tmp_path, capsys):
    (results / "realmem.json").unlink()
    readme = written(tmp_path)
    assert main(["--readme", str(readme), "--results", str(results)]) == 1
    assert "combray bench realmem" in capsys.readouterr().err
    assert readme.read_text() == README


@pytest.mark.parametrize("text", ["no marks", "<!-- /results --> <!-- results -->"])
def test_a_readme_without_its_marks_is_left_alone(main, results, tmp_path, text):
    readme = written(tmp_path, text)
    assert main(["--readme", str(readme), "--results", str(results)]) == 1
    assert readme.read_text() == text
