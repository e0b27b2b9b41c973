"""Which clang++ compiles the simulator for `./gemm test --clang`."""

from tools import clang


def test_the_newest_on_path_is_taken(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    monkeypatch.setenv("PATH", f"{first}:{tmp_path / 'nowhere'}:{second}")
    assert clang.newest() is None

    def install(folder, name):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)

    install(second, "clang++")
    assert clang.newest() == str(second / "clang++")
    for folder, name in (
        (first, "clang++-9"),
        (second, "clang++-19"),
        (second, "clang++-20.old"),
        (first, "clang++-19"),
    ):
        install(folder, name)
    assert clang.newest() == str(first / "clang++-19"), "by number, and the folder that PATH names first"
    (second / "clang++-21").write_text("no program")
    assert clang.newest() == str(first / "clang++-19")
