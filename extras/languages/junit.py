"""JUnit tests, run by JUnit's console launcher with the compiler, runtime and jar files for Java."""

from __future__ import annotations

from dataclasses import replace

from rewardkit.sandbox.languages.base import Language, LanguageCommand, LanguageUnavailable, Toolchain
from rewardkit.sandbox.languages.java import discover, jars
from rewardkit.sandbox.outcome import Limits


def _discover() -> Toolchain:
    if not any("junit-platform-console" in jar for jar in jars()):
        raise LanguageUnavailable(
            "CLASSPATH has no JUnit console launcher; add junit-platform-console-standalone-*.jar to "
            "CLASSPATH"
        )
    tools = discover()

    def run(source: str, limits: Limits) -> LanguageCommand:
        java = tools.run(source, limits)
        named = ("--class-path", "program.jar", "--scan-class-path", "program.jar")
        words = (*named, "--disable-ansi-colors", "--fail-if-no-tests")
        return replace(java, argv=(*java.argv[:-1], "org.junit.platform.console.ConsoleLauncher", *words))

    return replace(tools, run=run, version=f"{tools.version} with JUnit")


_HELLO = """import org.junit.jupiter.api.Test;
class MainTest {
    @Test void test() { System.out.println("\\n42\\n"); }
}
"""
JUNIT = Language("junit", "JUnit", (), _discover, _HELLO, is_compiled=True, answers=False)
