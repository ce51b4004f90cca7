"""What the packages of peers hold, by the names in their files: the evidence for the table in the README.

    pip download --no-deps --dest peers flwr pfl opacus byzfl
    python benchmarks/peers/names_in_packages.py peers/*.whl

Nothing is installed or run. A name that is there says that something of that kind is; one that is nowhere in
the source of a package says that it is not.
"""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

# What is looked for: classes of that name, and words anywhere in the source.
CLASSES = {
    "accountants": r"\w*Accountant",
    "robust rules": r"(?:\w*Krum|Bulyan|\w*Median|\w*TrimmedAvg|TrMean|CenteredClipping|MDA|MoNNA|Meamed"
    r"|CAF|SMEA|NNM|Bucketing|ARC)",
    "attacks": r"(?:SignFlipping|\w*InnerProductManipulation|\w*ALittleIsEnough|Mimic|Inf|Gaussian"
    r"|LabelFlipping|\w*Attack)",
}
WORDS = {
    "secure aggregation": r"secagg|secure_?aggregation",
    "attacks by name": r"backdoor|label_?flip|sign_?flip",
    "proof against attackers": r"certified|certify_",
    "audit of ε": r"canary|canaries",
    "inference attacks": r"membership_?inference",
    "real parties": r"\bgrpc\b",
}


def names_in(package: Path) -> dict[str, str]:
    """What is found of each kind: names of classes, or in how many files a word is."""
    with zipfile.ZipFile(package) as archive:
        sources = [
            archive.read(name).decode()
            for name in archive.namelist()
            if name.endswith(".py") and "/tests/" not in name
        ]
    found = {}
    for kind, pattern in CLASSES.items():
        classes = {
            each for text in sources for each in re.findall(rf"^class ({pattern})\b", text, re.MULTILINE)
        }
        found[kind] = ", ".join(sorted(classes)) or "-"
    for kind, pattern in WORDS.items():
        files = sum(bool(re.search(pattern, text, re.IGNORECASE)) for text in sources)
        found[kind] = f"in {files} files" if files else "-"
    return found


def main() -> None:
    for name in sys.argv[1:]:
        print(Path(name).name)
        for kind, found in names_in(Path(name)).items():
            print(f"  {kind}: {found}")


if __name__ == "__main__":
    main()
