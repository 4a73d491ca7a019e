"""Bash, with the programs in /usr/bin. Scripts start processes, so they need a level with namespaces."""

from __future__ import annotations

from rewardkit.sandbox.languages.base import Language, LanguageCommand, Toolchain, ask, program
from rewardkit.sandbox.outcome import Limits

_READABLE = ("/usr/bin", "/bin", "/usr/share/awk", "/etc/alternatives")


def _discover() -> Toolchain:
    bash = program("bash", "install it (Debian: apt-get install bash)")
    version = ask(bash, "--version").splitlines()[0]

    def run(source: str, limits: Limits) -> LanguageCommand:
        return LanguageCommand((bash, "main.sh"), "main.sh", profile="shell")

    return Toolchain(version, _READABLE, run)


BASH = Language(
    "bash",
    "Bash",
    ("sh", "shell"),
    _discover,
    "read x\necho $(($(echo $x) + 1)) | cat\n",
    cpu_factor=5.0,
    processes=32,
)
