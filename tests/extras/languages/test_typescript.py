"""The remedies for missing npm packages name versions that work."""

from __future__ import annotations

from pathlib import Path

from rewardkit_extras.languages import typescript

DOCKERFILE = Path(__file__).parents[3] / "deploy" / "Dockerfile.run-code"


def test_the_remedy_installs_the_versions_of_the_image() -> None:
    said = typescript.remedy(("jest", *typescript._BABEL))
    assert said.startswith(
        "npm install --global jest@29 @babel/core@7 @babel/preset-env@7 @babel/preset-typescript@7,"
    )
    assert said.partition(",")[0] in DOCKERFILE.read_text()
