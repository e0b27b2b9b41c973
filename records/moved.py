"""Records that were made before they had a folder of their own: found where they were kept, and brought here."""

from pathlib import Path

from base.paths import ROOT
from base.progress import say
from records import files, read

OLD_PLACE = Path("plots") / "data"


def bring_over(root: Path = ROOT) -> None:
    """Puts every file of records under the old place among those here, and says so in one line.

    Of a measurement that has been made again since, the record that is here stays.
    """
    old, new = root / OLD_PLACE, root / "records"
    found = sorted(old.glob("*/**/*.jsonl"))
    for file in found:
        here = new / file.relative_to(old)
        newer = read(here)
        files.put(here, read(file))
        files.put(here, newer)
        file.unlink()
    if found:
        gpus = ", ".join(dict.fromkeys(str(file.relative_to(old).parts[0]) for file in found))
        say(f"The records of {gpus} were moved from {OLD_PLACE}/ to {new.name}/")
        for folder in sorted([old, *(path for path in old.rglob("*") if path.is_dir())], reverse=True):
            if not any(folder.iterdir()):
                folder.rmdir()
