"""The loads in Python; the first line of stdin names the one to play. Data for `test_loads.py`."""

import os
import sys
import threading


def threads() -> None:
    all_here = threading.Barrier(61)
    for _ in range(60):
        threading.Thread(target=all_here.wait).start()
    all_here.wait()
    print("threads 60")


def recursion() -> None:
    def depth(n: int) -> int:
        return 1 + depth(n - 1) if n else 0

    sys.setrecursionlimit(60_000)
    print("recursion", depth(50_000))


def thread_recursion() -> None:
    threading.stack_size(64 << 20)
    thread = threading.Thread(target=recursion)
    thread.start()
    thread.join()


def files() -> None:
    held = [open(f"file{i}", "w+") for i in range(100)]  # noqa: SIM115
    print("files", len(held))


def libraries() -> None:
    import importlib

    names = (
        "argparse asyncio base64 bz2 calendar cgi cmd code codecs colorsys concurrent.futures configparser csv "
        "ctypes.util curses dbm decimal difflib dis doctest email fileinput filecmp fnmatch ftplib getopt gettext glob gzip hashlib "
        "heapq hmac html http.client http.cookies imaplib ipaddress keyword linecache locale logging lzma mailbox mimetypes modulefinder "
        "multiprocessing numbers optparse pdb pickle pkgutil platform plistlib poplib pprint profile pstats pydoc queue quopri "
        "sched secrets select selectors shelve shlex shutil smtplib socketserver sqlite3 ssl statistics tarfile tempfile timeit "
        "tokenize trace tracemalloc turtledemo unittest urllib.request uuid wave weakref xml.etree.ElementTree xmlrpc.client zipfile zlib"
    )
    found = [
        importlib.import_module(name) for name in names.split() if name not in ("cgi", "curses", "turtledemo")
    ]
    print("libraries", len(found) >= 80)


def arrays() -> None:
    held = [0] * (4 << 20)
    for place in range(0, len(held), 1 << 20):
        held[place] = 1
    print("arrays", sum(held))


def small_files() -> None:
    os.mkdir("folder")
    for i in range(300):
        with open(f"folder/{i}", "w") as file:
            file.write("x" * 100)
    print("small_files", sum(os.path.getsize(f"folder/{name}") for name in os.listdir("folder")))


globals()[sys.stdin.readline().strip()]()
