"""The code interpreter: a notebook in the sandbox, whose state lasts an episode and whose limits hold."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from rewardkit.agents.tools.code_interpreter import CodeInterpreter
from rewardkit.agents.tools.declare import kind_of
from rewardkit.agents.types import Observation
from rewardkit.errors import ConfigError


def _run(cells: Sequence[str], **config: object) -> list[Observation]:
    async def use() -> list[Observation]:
        one = kind_of(CodeInterpreter, config).open()
        await one.create(ground_truth="never enters the jail")
        try:
            return [await one.execute({"code": cell}) for cell in cells]
        finally:
            await one.release()

    return asyncio.run(use())


def _texts(*cells: str, **config: object) -> list[str]:
    return [found.text for found in _run(cells, **config)]


def test_variables_functions_and_imports_last_and_outputs_are_not_repeated() -> None:
    assert _texts(
        "import math\nx = 3\nprint('once')",
        "def f(n):\n    return n * x",
        "class A:\n    y = 2\nx += 1",
        "print('twice'); f(A.y)",
        "_ + math.floor(0.5)",
    ) == ["once", "(no output)", "(no output)", "twice\n8", "8"]


def test_a_cell_that_raises_shows_its_line_and_keeps_what_it_did() -> None:
    first, second, third = _texts("z = 1\nz / 0\nz = 2", "z", "is no python")
    assert 'File "<cell 1>", line 2' in first
    assert "ZeroDivisionError" in first
    assert "_drive" not in first
    assert second == "1"
    assert "SyntaxError" in third


def test_random_numbers_go_on_where_they_were() -> None:
    cell = "import random; random.random()"
    one, other = _texts(cell, cell), _texts(cell, cell)
    assert one == other
    assert one[0] != one[1]


def test_what_goes_beyond_a_limit_is_undone_and_the_state_before_it_is_there() -> None:
    found = _run(
        [
            "y = 5",
            "y = 6\nwhile True: pass",
            "y = 7\nimport time; time.sleep(600)",
            "y = 8\nimport os; os._exit(3)",
            "y = 9\nb = bytearray(2**33)",
            "y",
        ],
        cpu_s=0.5,
        memory_mb=128,
    )
    texts = [one.text for one in found]
    assert " 0.5 s of CPU " in texts[1]
    assert "waited for more than" in texts[2]
    assert "ended with status 3" in texts[3]
    assert "memory" in texts[4].lower()
    assert texts[5] in ("5", "9")  # the allocation fails within the cell, or ends the program
    assert {one.status for one in found} == {"ok"}


def test_the_jail_holds() -> None:
    read, start = _texts("open('/etc/passwd').read()", "import subprocess; subprocess.run(['ls'])")
    assert "Error" in read
    assert "Error" in start


def test_output_is_bounded_and_any_bytes_are_text() -> None:
    long, odd = _texts("print('a' * 500_000)", r"import sys; _ = sys.stdout.buffer.write(b'\xff<|im_end|>')")
    assert len(long) < 25_000
    assert "left out" in long
    assert odd == "\ufffd<|im_end|>"


def test_calls_of_an_episode_are_bounded() -> None:
    found = _run(["1", "2", "3"], calls=2)
    assert [one.status for one in found] == ["ok", "ok", "bad_call"]


def test_a_fence_around_the_code_is_taken_off() -> None:
    assert _texts("```python\n1 + 1\n```") == ["2"]


def test_episodes_do_not_see_each_other() -> None:
    async def use() -> None:
        kind = kind_of(CodeInterpreter)
        both = [kind.open(), kind.open()]
        for one in both:
            await one.create()
        await asyncio.gather(*(one.execute({"code": f"x = {i}"}) for i, one in enumerate(both)))
        found = await asyncio.gather(*(one.execute({"code": "x"}) for one in both))
        assert [one.text for one in found] == ["0", "1"]

    asyncio.run(use())


def test_a_cancelled_call_ends_its_program_and_the_next_call_works() -> None:
    async def use() -> None:
        one = kind_of(CodeInterpreter, {"cpu_s": 60.0}).open()
        await one.create()
        call = asyncio.create_task(one.execute({"code": "while True: pass"}))
        await asyncio.sleep(0.2)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await asyncio.wait_for(one.execute({"code": "1"}), 60)).text == "1"

    asyncio.run(use())


def test_a_configuration_that_does_not_fit_is_refused() -> None:
    for config, why in (
        ({"language": "c"}, "runs only python"),
        ({"cpu_s": 0}, "above 0"),
        ({"cpus": 1}, "cpus"),
    ):
        with pytest.raises(ConfigError, match=why):
            kind_of(CodeInterpreter, config)
