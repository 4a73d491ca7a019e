"""Java, with a JDK. A program is one file, whose name and main class are determined from the source.

A program may use jar files from rewardkit's CLASSPATH and from its own working directory. If CLASSPATH
contains JUnit's console launcher, a program may also consist of tests.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rewardkit.sandbox.apart import java as apart_java
from rewardkit.sandbox.languages.base import (
    Language,
    LanguageCommand,
    Toolchain,
    ask,
    linked_folders,
    program,
)
from rewardkit.sandbox.outcome import Limits

# With the serial collector and no performance data, the VM starts fast, regardless of the number of cores.
_VM = ("-XX:+UseSerialGC", "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_RUN_VM = ("-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xshare:auto", "-Xss64m", "-Djava.io.tmpdir=.")

_SKIPPED = r'//[^\n]*|/\*.*?(?:\*/|\Z)|"""(?:\\.|.)*?(?:"""|\Z)|"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?'
_TOKEN = re.compile(
    _SKIPPED + r"|(?P<kind>\b(?:class|interface|enum|record)\s+(?P<name>\w+))"
    r"|(?P<main>\bvoid\s+main\s*\()|(?P<brace>[{}])|(?P<package>\bpackage\s+(?P<path>[\w.]+)\s*;)"
    r"|(?P<public>\bpublic\b)|(?P<end>;)",
    re.DOTALL,
)

_RELEASE = re.compile(r'^JAVA_VERSION="(.+)"$', re.MULTILINE)


def names(source: str) -> tuple[str, str]:
    """Return the required name of the source file without its suffix, and the class to start."""
    depth = 0
    package = ""
    current = ""
    public = ""
    main = ""
    started = ""
    is_public = False
    for token in _TOKEN.finditer(source):
        if token["brace"] or token["end"]:
            depth += {"{": 1, "}": -1}.get(token[0], 0)
            is_public = False
        elif token["package"] and depth == 0:
            package = token["path"] + "."
        elif token["public"]:
            is_public = True
        elif token["kind"] and depth == 0:
            current = token["name"]
            public = public or (current if is_public else "")
            started = started or (current if current == apart_java.SERVER else "")
            is_public = False
        elif token["main"] and not main:
            main = current
    return public or main or "Main", package + (started or main or public or "Main")


def discover() -> Toolchain:
    """Return this machine's JDK, with the jar files in CLASSPATH.

    Raises:
        LanguageUnavailable: No JDK is installed.
    """
    javac = program("javac", "install a JDK (Debian: apt-get install default-jdk-headless)")
    home = os.path.dirname(os.path.dirname(javac))
    java = os.path.join(home, "bin", "java")
    found = jars()

    def build(source: str) -> Sequence[Sequence[LanguageCommand]]:
        file = f"{names(source)[0]}.java"
        flags = [f"-J{flag}" for flag in (*_VM, "-Xmx1024m")]
        words = ("-proc:none", "-nowarn", "-encoding", "UTF-8", "-cp", _joined(".", "*", *found), "-d", ".")
        argv = (javac, *flags, *words, file)
        return [[LanguageCommand(argv, file, "*.class")]]

    def run(source: str, limits: Limits) -> LanguageCommand:
        classes = _joined("program.jar", "*", *found)
        flags = (*_RUN_VM, f"-Xmx{limits.memory_mb}m", "-cp", classes, names(source)[1])
        command = LanguageCommand((java, *flags), "program.jar", profile="managed")
        return replace(command, assertions=("-ea",))

    folders = (
        home,
        *linked_folders(f"{home}/conf"),
        *linked_folders(f"{home}/lib"),
        *map(os.path.dirname, found),
    )
    return Toolchain(_version(home, javac), tuple(dict.fromkeys(folders)), run, build)


def jars() -> tuple[str, ...]:
    """Return the jar files in CLASSPATH. As in Java, `FOLDER/*` means all jar files in a folder."""
    named = os.environ.get("CLASSPATH", "").split(os.pathsep)
    found = [
        path for name in named for path in sorted(glob.glob(f"{name}.jar" if name.endswith("/*") else name))
    ]
    return tuple(dict.fromkeys(os.path.realpath(path) for path in found if path.endswith(".jar")))


def _joined(*classes: str) -> str:
    return os.pathsep.join(classes)


def _version(home: str, javac: str) -> str:
    """Return the version of a JDK, from its release file if possible, because running javac is slow."""
    try:
        found = _RELEASE.search(Path(home, "release").read_text())
    except OSError:
        found = None
    return f"javac {found[1]}" if found else ask(javac, "-version").strip()


_HELLO = """import java.util.*;
public class Main {
    public static void main(String[] args) { System.out.println(new Scanner(System.in).nextInt() + 1); }
}
"""

JAVA = Language(
    "java",
    "Java",
    (),
    discover,
    _HELLO,
    cpu_factor=2.0,
    startup_s=0.5,
    is_compiled=True,
    apart=apart_java.apart,
    mark=r"\bpublic\s+static\s+void\s+main\s*\(",
)
