"""What Python programs use: the first line of stdin names the features to play, the rest is their input."""

import os
import sys


# feature: prints_by_every_way
def prints_by_every_way():
    print("a", 1, 2.5, None, [1, "x"], sep="|", end="!\n")
    print("unbuffered", flush=True)
    sys.stdout.write("written\n")
    sys.stdout.writelines(["one\n", "two\n"])
    sys.stdout.flush()
    sys.stdout.buffer.write(b"bytes \xff\xfe\n")
    sys.stdout.buffer.flush()
    os.write(1, b"by descriptor\n")
    print("to stdout", file=sys.stdout)
    print("%05.2f %s" % (3.14159, "x"), f"{10**20:,} {255:#x} {1e100:g}")


# feature: prints_much
def prints_much():
    for i in range(20000):
        print(i, i * i)
    sys.stdout.write("x" * 300000 + "\n")


# feature: prints_unicode
def prints_unicode():
    print("wörld 日本 \U0001f600 \u200b|")
    print(ascii("é"), "é".encode(), len("é"), sys.stdout.encoding, sys.getdefaultencoding())
    print(sys.getfilesystemencoding(), sys.stdin.encoding)


# feature: reads_lines, alone
def reads_lines():
    print(sum(map(int, input().split())))
    print(repr(input()), list(map(int, sys.stdin.readline().split())))
    for line in sys.stdin:
        print(repr(line))
    try:
        input()
    except EOFError as error:
        print("EOF", error)


# feature: reads_all, alone
def reads_all():
    print(sys.stdin.read().split())


# feature: reads_bytes, alone
def reads_bytes():
    print(sys.stdin.buffer.readline(), sys.stdin.buffer.read())


# feature: reads_by_descriptor, alone
def reads_by_descriptor():
    print(open(0).read().splitlines())


# feature: reads_dev_stdin, alone
def reads_dev_stdin():
    print(len(open("/dev/stdin").read()) > 0)


# feature: reads_fileinput, alone
def reads_fileinput():
    import fileinput

    print([line.strip() for line in fileinput.input()])


# feature: reads_by_replaced_input, alone
def reads_by_replaced_input():
    import io

    data = io.BytesIO(os.read(0, os.fstat(0).st_size))
    sys.stdin = io.TextIOWrapper(data)
    print(input(), input())


# feature: seeks_in_stdin, alone
def seeks_in_stdin():
    print(sys.stdin.isatty(), sys.stdout.isatty(), os.isatty(2))
    print(sys.stdin.read(3), sys.stdin.readable(), sys.stdin.writable())


# feature: exits_with_a_status, alone
def exits_with_a_status():
    print("said")
    sys.exit(7)


# feature: exits_with_a_text, alone
def exits_with_a_text():
    print("said")
    raise SystemExit("why")


# feature: exits_by_os, alone
def exits_by_os():
    print("flushed", flush=True)
    print("lost")
    os._exit(5)


# feature: exits_large, alone
def exits_large():
    sys.exit(256 + 3)


# feature: fails, alone
def fails():
    print("before")
    raise ValueError("no")


# feature: aborts, alone
def aborts():
    print("before", flush=True)
    os.abort()


# feature: kills_itself, alone
def kills_itself():
    import signal

    os.kill(os.getpid(), signal.SIGTERM)


# feature: interrupts_itself, alone
def interrupts_itself():
    import signal

    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        print("interrupted")


# feature: hooks_at_the_end, alone
def hooks_at_the_end():
    import atexit
    import weakref

    class Thing:
        pass

    thing = Thing()
    globals()["kept"] = thing
    weakref.finalize(thing, print, "finalized")
    atexit.register(print, "first registered, last")
    atexit.register(print, "last registered, first")
    sys.excepthook = lambda kind, error, trace: print("hook", kind.__name__, error)
    raise KeyError("x")


# feature: threads_that_outlive_main, alone
def threads_that_outlive_main():
    import threading
    import time

    threading.Thread(target=lambda: (time.sleep(0.05), print("late"))).start()
    print("main ends")


# feature: catches_signals
def catches_signals():
    import signal
    import time

    got = []
    for number in (signal.SIGUSR1, signal.SIGALRM, signal.SIGTERM, signal.SIGHUP):
        before = signal.signal(number, lambda n, frame: got.append(signal.Signals(n).name))
        os.kill(os.getpid(), number)
        signal.signal(number, before)
    signal.signal(signal.SIGALRM, lambda n, frame: got.append("timer"))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    while "timer" not in got:
        time.sleep(0.001)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    print(got, signal.getsignal(signal.SIGPIPE))


# feature: an_alarm_ends_a_loop
def an_alarm_ends_a_loop():
    import signal

    def late(number, frame):
        raise TimeoutError("late")

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        while True:
            pass
    except TimeoutError as error:
        print(error)


# feature: recursion
def recursion():
    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)

    print(sys.getrecursionlimit(), down(900))
    try:
        down(10**5)
    except RecursionError as error:
        print(error)


# feature: deep_recursion
def deep_recursion():
    sys.setrecursionlimit(30000)

    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)

    print(down(20000))


# feature: deep_recursion_in_a_thread
def deep_recursion_in_a_thread():
    import threading

    sys.setrecursionlimit(200000)
    threading.stack_size(128 * 1024 * 1024)

    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)

    thread = threading.Thread(target=lambda: print(down(100000)))
    thread.start()
    thread.join()
    threading.stack_size(0)


# feature: threads
def threads():
    import queue
    import threading

    counts, lock, barrier = [0], threading.Lock(), threading.Barrier(4)
    local = threading.local()

    def work(n):
        barrier.wait()
        local.x = n
        for _ in range(1000):
            with lock:
                counts[0] += local.x

    running = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    given = queue.Queue()
    threading.Thread(target=lambda: [given.put(i) for i in range(5)], daemon=True).start()
    print(counts, [given.get() for _ in range(5)])
    event, done = threading.Event(), threading.Semaphore(0)
    threading.Timer(0.01, event.set).start()
    print(
        event.wait(5),
        done.acquire(timeout=0.01),
        threading.current_thread().name,
        threading.active_count() > 0,
    )


# feature: many_threads
def many_threads():
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(16) as pool:
        print(sum(pool.map(lambda n: n * n, range(100))))


# feature: asynchronous
def asynchronous():
    import asyncio

    async def add(a, b):
        await asyncio.sleep(0.001)
        return a + b

    async def main():
        print(await asyncio.gather(*(add(n, 1) for n in range(5))))
        lines = asyncio.Queue()
        task = asyncio.create_task(lines.get())
        await lines.put("queued")
        print(await task, await asyncio.to_thread(sum, [1, 2]))
        try:
            await asyncio.wait_for(asyncio.sleep(9), 0.01)
        except TimeoutError:
            print("timeout")
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(add(n, n)) for n in range(3)]
        print([task.result() for task in tasks])

    asyncio.run(main())


# feature: processes, differs at every level: starts processes
def processes():
    import subprocess

    print(subprocess.run(["echo", "said"], capture_output=True, text=True).stdout)


# feature: a_pool_of_processes, differs at every level: starts processes
def a_pool_of_processes():
    import multiprocessing

    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(pool.map(abs, [-1]))


# feature: a_shell, differs at every level: starts processes
def a_shell():
    print(os.system("exit 3") >> 8, os.popen("echo said").read())


# feature: opens_sockets, differs at every level: opens sockets
def opens_sockets():
    import socket

    with socket.socket() as one:
        print(one.fileno() > 0)


# feature: pairs_of_sockets
def pairs_of_sockets():
    import socket

    one, other = socket.socketpair()
    one.sendall(b"through")
    print(other.recv(20))
    one.close()
    print(other.recv(20))
    other.close()


# feature: pipes_and_select
def pipes_and_select():
    import select

    reading, writing = os.pipe()
    os.write(writing, b"x\ny\n")
    print(select.select([reading], [], [], 1)[0] == [reading])
    os.close(writing)
    with os.fdopen(reading) as file:
        print(file.read())


# feature: temporary_files
def temporary_files():
    import tempfile

    with tempfile.NamedTemporaryFile("w+", suffix=".txt") as file:
        file.write("text")
        file.flush()
        print(open(file.name).read(), os.path.basename(file.name).endswith(".txt"))
    with tempfile.TemporaryFile() as file:
        file.write(b"x" * 100000)
        file.seek(0)
        print(len(file.read()))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a")
        open(path, "w").close()
        print(os.listdir(folder))
    print(os.path.exists(folder), os.path.isdir(tempfile.gettempdir()))
    with tempfile.SpooledTemporaryFile(10) as file:
        file.write(b"more than ten bytes")
        file.seek(0)
        print(file.read())
    handle, path = tempfile.mkstemp()
    os.write(handle, b"x")
    os.close(handle)
    print(os.path.getsize(path))
    os.remove(path)


# feature: a_literal_tmp, differs at guard: writes to a fixed path in /tmp
def a_literal_tmp():
    path = f"/tmp/agreement-{os.getpid()}-{os.urandom(6).hex()}"
    with open(path, "x") as file:
        file.write("x")
    print(os.path.getsize(path))
    os.remove(path)


# feature: files
def files():
    with open("a.txt", "w", encoding="utf-8") as file:
        print(file.write("zeile\nwörld\n"), file.tell())
    with open("a.txt", "a+") as file:
        file.write("more\n")
        file.seek(0)
        print(file.readlines())
    with open("a.txt", "r+b") as file:
        file.truncate(6)
        print(file.read())
    os.rename("a.txt", "b.txt")
    os.makedirs("d/e", exist_ok=True)
    os.replace("b.txt", "d/e/c.txt")
    print(sorted(os.walk("d")), os.stat("d/e/c.txt").st_size)
    os.symlink("d/e/c.txt", "l")
    os.link("d/e/c.txt", "h")
    print(os.readlink("l"), open("l").read(), os.path.samefile("h", "l"), os.path.islink("l"))
    os.unlink("l")
    os.unlink("h")
    try:
        os.rmdir("d")
    except OSError as error:
        print(error.strerror)


# feature: truncates_by_path, differs at every level: truncates a file by its path
def truncates_by_path():
    with open("long", "w") as file:
        file.write("long")
    os.truncate("long", 2)
    print(os.path.getsize("long"))


# feature: copies_files
def copies_files():
    import pathlib
    import shutil

    source = pathlib.Path("source")
    source.write_text("text")
    shutil.copy("source", "copy")
    shutil.copy2("source", "copy2")
    shutil.copyfile("source", "copy3")
    shutil.copymode("source", "copy3")
    pathlib.Path("tree/sub").mkdir(parents=True)
    shutil.move("copy3", "tree/sub/moved")
    shutil.copytree("tree", "tree2")
    print(sorted(str(p) for p in pathlib.Path(".").rglob("*") if p.name in ("copy", "copy2", "moved")))
    shutil.make_archive("packed", "zip", "tree")
    shutil.unpack_archive("packed.zip", "unpacked")
    print(pathlib.Path("unpacked/sub/moved").read_text())
    shutil.make_archive("packed", "gztar", "tree")
    pathlib.Path("touched").touch()
    pathlib.Path("touched").touch()
    print(shutil.disk_usage(".").total > 0)


# feature: modes_and_times_of_files
def modes_and_times_of_files():
    open("m", "w").close()
    os.chmod("m", 0o600)
    os.utime("m", (1, 1))
    handle = os.open("m", os.O_RDWR)
    os.fchmod(handle, 0o600)
    os.fsync(handle)
    os.close(handle)
    os.mkdir("sealed", 0o700)
    print("set")


# feature: modes_are_kept, differs at every level: changes the mode, owner or times of files
def modes_are_kept():
    open("k", "w").close()
    os.chmod("k", 0o751)
    os.utime("k", (1, 2))
    print(oct(os.stat("k").st_mode), os.stat("k").st_mtime)


# feature: locks_files
def locks_files():
    import fcntl

    with open("lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.flock(file, fcntl.LOCK_UN)
        fcntl.lockf(file, fcntl.LOCK_EX)
        fcntl.lockf(file, fcntl.LOCK_UN)
    print("locked")


# feature: maps_files
def maps_files():
    import mmap

    with open("mapped", "w+b") as file:
        file.write(b"0123456789")
        file.flush()
        with mmap.mmap(file.fileno(), 0) as held:
            held[2:4] = b"xy"
            print(held[:], held.find(b"y"))
    with mmap.mmap(-1, 4096) as shared:
        shared.write(b"anonymous")
        print(shared[:9])
    print(open("mapped").read())


# feature: databases
def databases():
    import dbm.dumb
    import shelve
    import sqlite3

    with sqlite3.connect("data.db") as held:
        held.execute("create table t (a, b real)")
        held.executemany("insert into t values (?, ?)", [(1, 1.5), (2, None)])
    print(held.execute("select sum(a), total(b) from t").fetchall())
    held.close()
    with sqlite3.connect("data.db") as held:
        print(held.execute("select count(*) from t").fetchone())
    held.close()
    with dbm.dumb.open("dumb", "c") as kept:
        kept["k"] = "v"
        print(kept["k"])
    with shelve.Shelf({}) as shelf:
        shelf["a"] = [1]
        print(shelf["a"])


# feature: environment
def environment():
    os.environ["SET"] = "here"
    print(os.getenv("SET"), os.environ.get("NOT_SET", "default"), os.path.expandvars("$SET/x"))
    del os.environ["SET"]
    print("SET" in os.environ, os.sep, os.linesep == "\n", os.name, sys.platform)


# feature: the_hosts_environment, differs at every level: reads the host's environment
def the_hosts_environment():
    print("PATH" in os.environ, "HOME" in os.environ)


# feature: arguments_and_files_of_the_program
def arguments_and_files_of_the_program():
    print(len(sys.argv), os.path.basename(sys.argv[0]), __name__, os.path.basename(__file__))
    print(os.path.isabs(os.getcwd()), os.path.isdir("."), os.access(".", os.W_OK))


# feature: reads_its_own_source, differs at every level: reads its own source as a file
def reads_its_own_source():
    print(len(open(__file__).read()) > 1000)


# feature: inspects_itself
def inspects_itself():
    import inspect
    import traceback

    print(inspect.getsource(recursion).splitlines()[0], inspect.signature(main))
    try:
        1 / 0
    except ZeroDivisionError:
        print(traceback.format_exc().splitlines()[-1], sys.exc_info()[0].__name__)


# feature: users_and_the_machine, differs at every level: looks up its user name
def users_and_the_machine():
    import getpass
    import pwd

    print(pwd.getpwuid(os.getuid()).pw_name != "", getpass.getuser() != "")


# feature: the_machine
def the_machine():
    import platform

    print(platform.system(), os.cpu_count() > 0, len(os.sched_getaffinity(0)) > 0, os.getpid() > 0)
    print(os.getloadavg()[0] >= 0 if os.path.exists("/proc/loadavg") else True, os.uname().sysname)


# feature: locales
def locales():
    import locale

    print(locale.getpreferredencoding().lower(), locale.setlocale(locale.LC_ALL, "C"))
    print(locale.setlocale(locale.LC_ALL, "C.UTF-8"), locale.format_string("%d", 1234567, grouping=True))
    print(sorted("bÄa", key=locale.strxfrm))
    try:
        locale.setlocale(locale.LC_ALL, "xx_YY")
    except locale.Error as error:
        print(error)


# feature: the_default_locale, differs at every level: takes the locale from the environment
def the_default_locale():
    import locale

    print(locale.setlocale(locale.LC_ALL, ""))


# feature: time
def time():
    import datetime
    import time
    import zoneinfo

    before = time.monotonic(), time.perf_counter(), time.process_time(), time.thread_time()
    time.sleep(0.01)
    after = time.monotonic(), time.perf_counter(), time.process_time(), time.thread_time()
    print(all(a >= b for a, b in zip(after, before)), after[0] - before[0] >= 0.01, time.time() > 1.6e9)
    print(
        time.gmtime(0)[:6], time.localtime(0)[:6], time.strftime("%Y", time.gmtime(86400 * 366)), time.tzname
    )
    print(datetime.datetime.fromtimestamp(0), datetime.datetime.now().year > 2020)
    print(datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo("America/New_York")).utcoffset())
    print(datetime.datetime.strptime("2024-02-29", "%Y-%m-%d").strftime("%A %j"))


# feature: randomness
def randomness():
    import random
    import secrets
    import uuid

    random.seed(42)
    print([random.randint(1, 100) for _ in range(5)], random.random(), random.sample(range(50), 3))
    print(random.gauss(0, 1), random.choices("abc", k=4), random.Random("text").random())
    print(
        len(os.urandom(8)),
        len(secrets.token_hex(4)),
        len(str(uuid.uuid4())),
        uuid.uuid5(uuid.NAMESPACE_DNS, "x"),
    )
    items = list(range(10))
    random.shuffle(items)
    print(items)


# feature: big_numbers
def big_numbers():
    import decimal
    import fractions
    import math

    print(2**1000 % 10**20, math.factorial(200) // 10**300, pow(3, 10**6, 10**9 + 7), math.isqrt(10**40))
    decimal.getcontext().prec = 50
    print(decimal.Decimal(2).sqrt(), fractions.Fraction(1, 3) + fractions.Fraction(1, 6))
    print(
        0.1 + 0.2,
        1e308 * 10,
        float("nan"),
        -0.0,
        1e22,
        1.0,
        123456789012345680.0,
        round(2.5),
        7 // -2,
        -7 % 3,
    )
    try:
        int("1" * 5000)
    except ValueError as error:
        print(str(error)[:40])


# feature: asserts
def asserts():
    try:
        assert 1 == 2, "they differ"
    except AssertionError as error:
        print(error, __debug__, sys.flags.optimize)


# feature: warns
def warns():
    import warnings

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.warn("careful")
    print(len(found), found[0].message)
    warnings.warn("to stderr")


# feature: logs
def logs():
    import io
    import logging

    held = io.StringIO()
    logging.basicConfig(stream=held, level=logging.INFO, format="%(levelname)s %(message)s", force=True)
    logging.info("info")
    logging.getLogger("x").error("no")
    print(held.getvalue())


# feature: redirects
def redirects():
    import contextlib
    import io

    held = io.StringIO()
    with contextlib.redirect_stdout(held):
        print("caught")
    print(repr(held.getvalue()))
    before, sys.stdout = sys.stdout, io.StringIO()
    print("caught too")
    got, sys.stdout = sys.stdout.getvalue(), before
    print(got, end="")


# feature: redirects_descriptors
def redirects_descriptors():
    sys.stdout.flush()
    kept = os.dup(1)
    handle = os.open("out", os.O_CREAT | os.O_RDWR, 0o600)
    os.dup2(handle, 1)
    print("into a file")
    sys.stdout.flush()
    os.dup2(kept, 1)
    os.close(handle)
    os.close(kept)
    print(open("out").read())


# feature: reopens_stdout
def reopens_stdout():
    sys.stdout.reconfigure(line_buffering=True, write_through=True)
    print("reconfigured", sys.stdout.line_buffering)
    with open(1, "w", closefd=False, buffering=1) as again:
        again.write("again\n")
    print("and on")


# feature: closes_stdout, alone
def closes_stdout():
    print("said")
    sys.stdout.close()


# feature: a_wrapped_stdout, alone
def a_wrapped_stdout():
    import io

    sys.stdout = io.TextIOWrapper(open(sys.stdout.fileno(), "wb", 0), write_through=True)
    print("wrapped")
    out = io.BytesIO()
    out.write(b"at the end\n")
    os.write(1, out.getvalue())


# feature: fast_output_of_contests, alone
def fast_output_of_contests():
    import atexit
    import io

    reader = io.BytesIO(os.read(0, os.fstat(0).st_size)).readline
    held = io.StringIO()
    sys.stdout.flush()
    atexit.register(lambda: os.write(1, held.getvalue().encode()))
    held.write(f"{reader().split()}\n")


# feature: compresses
def compresses():
    import bz2
    import gzip
    import io
    import lzma
    import tarfile
    import zipfile
    import zlib

    data = b"again " * 100
    print(all(m.decompress(m.compress(data)) == data for m in (bz2, gzip, lzma, zlib)), zlib.crc32(data))
    with zipfile.ZipFile("z.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", "text")
    print(zipfile.ZipFile("z.zip").read("a"))
    with tarfile.open("t.tar.gz", "w:gz") as archive:
        archive.add("z.zip")
    with tarfile.open("t.tar.gz") as archive:
        archive.extractall("untarred", filter="data")
    print(os.listdir("untarred"), gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(b"x"))).read())


# feature: standard_library
def standard_library():
    import argparse
    import base64
    import bisect
    import calendar
    import collections
    import configparser
    import csv
    import dataclasses
    import difflib
    import enum
    import functools
    import hashlib
    import heapq
    import hmac
    import html
    import io
    import itertools
    import json
    import operator
    import pickle
    import pprint
    import re
    import statistics
    import string
    import struct
    import textwrap
    import typing
    import urllib.parse
    import xml.etree.ElementTree as tree

    print(
        hashlib.sha256(b"x").hexdigest()[:8],
        hashlib.md5(b"x").hexdigest()[:8],
        hashlib.new("sha3_256", b"x").digest_size,
    )
    print(hmac.new(b"k", b"m", "sha1").hexdigest()[:8], base64.b64encode(b"xyz"), html.escape("<a>"))
    print(json.dumps({"a": [1, None, 1.5]}, sort_keys=True), pickle.loads(pickle.dumps({1: {2}})))
    print(
        list(csv.reader(io.StringIO("a,b\n1,2\n"))),
        re.findall(r"(\w)(\d)", "a1b2"),
        string.ascii_lowercase[:3],
    )
    print(
        collections.Counter("hello").most_common(1),
        list(itertools.permutations("ab")),
        heapq.nsmallest(2, [3, 1, 2]),
    )
    print(functools.reduce(operator.mul, range(1, 6)), bisect.bisect([1, 2, 3], 2), statistics.mean([1, 2]))
    print(
        struct.pack("<ih", 1, 2),
        calendar.monthrange(2024, 2),
        textwrap.fill("a b c", 3),
        pprint.pformat({1: 2}),
    )
    print(urllib.parse.urlparse("http://x/y?z=1").query, tree.fromstring("<a><b/></a>")[0].tag)
    print(argparse.ArgumentParser().parse_args([]), difflib.get_close_matches("appel", ["apple"]))
    parser = configparser.ConfigParser()
    parser.read_string("[a]\nb=1\n")
    print(parser["a"]["b"], enum.Enum("E", "X").X, typing.get_type_hints(standard_library))
    print(dataclasses.make_dataclass("P", ["x"])(1))


# feature: more_of_the_library
def more_of_the_library():
    import array
    import ctypes
    import email.message
    import fnmatch
    import glob
    import graphlib
    import gettext
    import http
    import importlib
    import ipaddress
    import mimetypes
    import ssl
    import timeit
    import tokenize
    import tracemalloc
    import unittest
    import doctest
    import unicodedata

    print(
        array.array("i", [1]).itemsize,
        ctypes.sizeof(ctypes.c_long),
        fnmatch.fnmatch("a.py", "*.py"),
        glob.glob("nothing*"),
    )
    print(
        list(graphlib.TopologicalSorter({2: [1]}).static_order()),
        gettext.gettext("x"),
        http.HTTPStatus(404).phrase,
    )
    print(
        importlib.import_module("json").__name__,
        ipaddress.ip_address("::1").is_loopback,
        mimetypes.guess_type("a.html"),
    )
    print(
        unicodedata.name("é"),
        timeit.timeit("1", number=1) >= 0,
        ssl.OPENSSL_VERSION_NUMBER > 0,
        doctest.OK if hasattr(doctest, "OK") else 0,
    )
    tracemalloc.start()
    print(tracemalloc.get_traced_memory()[0] >= 0, email.message.Message().get_content_type(), tokenize.NAME)
    tracemalloc.stop()
    held = unittest.TestResult()
    unittest.FunctionTestCase(lambda: None).run(held)
    print(held.testsRun, held.wasSuccessful(), ctypes.CDLL(None).abs(-3))


# feature: runs_code
def runs_code():
    import ast
    import code
    import gc
    import types

    names = {}
    exec(compile("x = [i for i in range(3)]\ndef f(): return x", "<own>", "exec"), names)
    print(names["f"](), eval("1 + 1"), ast.literal_eval("[1, {'a': 2}]"), types.SimpleNamespace(a=1))
    print(gc.collect() >= 0, gc.isenabled(), sys.getrefcount(names) > 0, code.compile_command("1+") is None)


# feature: writes_a_module
def writes_a_module():
    with open("own_module.py", "w") as file:
        file.write("value = 42\n")
    sys.path.insert(0, ".")
    import own_module

    print(own_module.value)


# feature: memory
def memory():
    held = [bytearray(1 << 20) for _ in range(100)]
    print(len(held), sys.getsizeof(0))
    try:
        bytearray(1 << 60)
    except MemoryError:
        print("too much")


# feature: limits_of_its_own
def limits_of_its_own():
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(usage.ru_maxrss > 0, usage.ru_utime >= 0, resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 16)


# feature: raises_its_limits
def raises_its_limits():
    import resource

    resource.setrlimit(resource.RLIMIT_STACK, (resource.getrlimit(resource.RLIMIT_STACK)[0],) * 2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (32, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    print("set")


# feature: numeric_packages
def numeric_packages():
    import numpy as np

    generator = np.random.default_rng(0)
    np.random.seed(0)
    print(
        np.arange(6).reshape(2, 3).sum(0), np.linalg.det(np.eye(3)), generator.integers(100), np.random.rand()
    )
    np.save("a.npy", np.ones(3))
    print(np.load("a.npy"), np.array([1.5, float("nan")]), (np.ones((50, 50)) @ np.ones((50, 50))).sum())


def main():
    line = b""
    while (byte := os.read(0, 1)) not in (b"\n", b""):
        line += byte
    names = line.decode().split()
    for name in names:
        print("==", name, flush=True)
        if len(names) == 1:
            globals()[name]()
            return
        try:
            globals()[name]()
        except Exception as error:
            print(type(error).__name__, error)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
