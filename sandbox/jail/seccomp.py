"""Builds the allow-list of system calls as a seccomp BPF program, which `kernel.py` installs.

All other calls fail with EPERM, and the kernel never executes them. The program searches ranges of call
numbers as a binary tree, which keeps the program fast. Speed matters because the kernel runs the program once
for every call number when the program is installed, and then at every call.
"""

from __future__ import annotations

import errno
import platform
from collections.abc import Iterator
from dataclasses import dataclass

BpfInstruction = tuple[int, int, int, int]
"""One BPF instruction, as (code, jump if true, jump if false, constant)."""

# From linux/bpf_common.h and linux/seccomp.h.
_LOAD = 0x20
_JUMP = 0x05
_JUMP_EQUAL = 0x15
_JUMP_AT_LEAST = 0x35
_AND = 0x54
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
_ERRNO = 0x00050000
_DENY = _ERRNO | errno.EPERM
_MISSING = _ERRNO | errno.ENOSYS
_PRETEND = _ERRNO | 0  # this action reports success without executing the call

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_X32_BIT = 0x40000000

OWN_PID = 0x7E57_91D0
"""Placeholder for the child's pid. The child replaces it before installing the program."""

# name: number on x86_64, number on aarch64 (asm/unistd_64.h, asm-generic/unistd.h of Linux 6.1).
_PLAIN: dict[str, tuple[int | None, int | None]] = {
    # calls on files, by descriptor and by path (Landlock decides which files may be opened)
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "fstat": (5, 80), "stat": (4, None),
    "lstat": (6, None), "newfstatat": (262, 79), "statx": (332, 291), "lseek": (8, 62),
    "pread64": (17, 67), "pwrite64": (18, 68), "readv": (19, 65), "writev": (20, 66),
    "preadv": (295, 69), "pwritev": (296, 70), "access": (21, None), "faccessat": (269, 48),
    "faccessat2": (439, 439), "readlink": (89, None), "readlinkat": (267, 78), "getcwd": (79, 17),
    "chdir": (80, 49), "fchdir": (81, 50), "getdents64": (217, 61), "getdents": (78, None),
    "creat": (85, None), "mkdir": (83, None), "mkdirat": (258, 34), "rmdir": (84, None), "unlink": (87, None),
    "unlinkat": (263, 35), "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276),
    "symlink": (88, None), "symlinkat": (266, 36), "link": (86, None), "linkat": (265, 37),
    "ftruncate": (77, 46), "statfs": (137, 43), "fstatfs": (138, 44), "umask": (95, 166),
    "pipe": (22, None), "pipe2": (293, 59), "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24),
    "close_range": (436, 436), "shutdown": (48, 210), "recvfrom": (45, 207),
    "getsockopt": (55, 209), "getsockname": (51, 204),
    # calls that wait
    "poll": (7, None), "ppoll": (271, 73), "select": (23, None), "pselect6": (270, 72),
    "epoll_create": (213, None), "epoll_create1": (291, 20), "epoll_ctl": (233, 21),
    "epoll_wait": (232, None), "epoll_pwait": (281, 22), "eventfd": (284, None),
    "eventfd2": (290, 19), "futex": (202, 98), "nanosleep": (35, 101), "clock_nanosleep": (230, 115),
    "pause": (34, None), "wait4": (61, 260), "waitid": (247, 95), "sched_yield": (24, 124),
    # memory management
    "mmap": (9, 222), "munmap": (11, 215), "mprotect": (10, 226), "mremap": (25, 216),
    "madvise": (28, 233), "brk": (12, 214), "membarrier": (324, 283), "get_mempolicy": (239, 236),
    # the process's own signals and timers
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137), "rt_sigsuspend": (130, 133),
    "sigaltstack": (131, 132), "restart_syscall": (219, 128), "getitimer": (36, 102),
    "setitimer": (38, 103), "alarm": (37, None),
    # queries about the process and the system
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "gettimeofday": (96, 169),
    "time": (201, None), "times": (100, 153), "getpid": (39, 172), "gettid": (186, 178),
    "getppid": (110, 173), "getuid": (102, 174), "geteuid": (107, 175), "getgid": (104, 176),
    "getegid": (108, 177), "getresuid": (118, 148), "getresgid": (120, 150), "getgroups": (115, 158),
    "getpgrp": (111, None), "getpgid": (121, 155), "getsid": (124, 156), "uname": (63, 160),
    "getrlimit": (97, 163), "getrusage": (98, 165), "sysinfo": (99, 179), "getcpu": (309, 168),
    "sched_getaffinity": (204, 123), "sched_getparam": (143, 121), "sched_getscheduler": (145, 120),
    "getrandom": (318, 278),
    # internal calls of the C library, and exit
    "arch_prctl": (158, None), "set_tid_address": (218, 96), "set_robust_list": (273, 99),
    "rseq": (334, 293), "exit": (60, 93), "exit_group": (231, 94),
}  # fmt: skip

_CHECKED: dict[str, tuple[int | None, int | None]] = {
    "open": (2, None), "openat": (257, 56), "fcntl": (72, 25), "ioctl": (16, 29), "clone": (56, 220),
    "prctl": (157, 167), "kill": (62, 129), "tgkill": (234, 131), "prlimit64": (302, 261),
    "socketpair": (53, 199), "sendto": (44, 206),
}  # fmt: skip

_FORKS: dict[str, tuple[int | None, int | None]] = {"fork": (57, None), "vfork": (58, None)}
# Additional calls that compilers and other runtimes make. Programs that they execute keep the filter.
_EXECUTES: dict[str, tuple[int | None, int | None]] = {
    "execve": (59, 221), "execveat": (322, 281), "fadvise64": (221, 223), "fallocate": (285, 47),
    "capget": (125, 90),
}  # fmt: skip
_GROUPS: dict[str, tuple[int | None, int | None]] = {"setpgid": (109, 154), "setsid": (112, 157)}
# Landlock cannot restrict changes of a file's mode or times, or locks on readable files.
# Programs that copy files or use a database only need these calls to report success.
_PRETENDED: dict[str, tuple[int | None, int | None]] = {
    "fsync": (74, 82), "fdatasync": (75, 83), "msync": (26, 227), "syncfs": (306, 267), "flock": (73, 32),
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "utime": (132, None),
    "utimes": (235, None), "utimensat": (280, 88),
}  # fmt: skip
# These calls are reported as missing. Libraries then use older calls, whose flags a filter can check.
_ABSENT: dict[str, tuple[int | None, int | None]] = {
    "clone3": (435, 435), "openat2": (437, 437), "fchmodat2": (452, 452), "copy_file_range": (326, 285),
    "pkey_alloc": (330, 289), "io_uring_setup": (425, 425),
}  # fmt: skip
# These calls fail as on a file system without extended attributes.
_UNSUPPORTED: dict[str, tuple[int | None, int | None]] = {
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "getxattr": (191, 8),
    "lgetxattr": (192, 9), "fgetxattr": (193, 10), "listxattr": (194, 11), "llistxattr": (195, 12),
    "flistxattr": (196, 13), "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
}  # fmt: skip

_CLONE_THREAD = 0x0001_0000
# Flags for new namespaces of any kind, and CLONE_PARENT, which would prevent the server from reaping a child.
_CLONE_NEVER = 0x7E02_0000 | 0x8000
_FCNTL = (0, 1, 2, 3, 4, 1030)  # dup, and reading and setting flags, but no leases, owners or pipe sizes
_FCNTL_LOCKS = (6, 7, 37, 38)
_IOCTL = (
    0x5401,
    0x5413,
    0x541B,
    0x5450,
    0x5451,
    0x5421,
)  # isatty, window size, FIONREAD, (non)CLOEXEC, FIONBIO
_PRCTL = (15, 16, 0x53564D41)  # thread names, and PR_SET_VMA, with which malloc names its arenas
_O_ACCMODE = 0o3
_O_TRUNC = 0o1000
_AF_UNIX = 1
_MAP_SHARED = 0x01
_MAP_ANONYMOUS = 0x20
_MAP_GROWSDOWN = 0x100
_PROT_WRITE = 0x2


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """Set of system calls that a run may make, in addition to those that every Python program may make.

    The profiles below are the only instances. Profiles are compared by identity, so that each child can look
    up its filter quickly.
    """

    fork: bool = False
    execute: bool = False
    """True to allow executing other programs, which keep the filter, and the calls of compilers and
    runtimes."""
    counted: bool = False
    """True to forbid mappings that RLIMIT_DATA does not count, for runtimes that reserve too much memory."""


PYTHON = Profile()
FORKING = Profile(fork=True)
NATIVE = Profile(execute=True)
MANAGED = Profile(execute=True, counted=True)
SHELL = Profile(execute=True, fork=True)


def build(profile: Profile) -> list[BpfInstruction]:
    """Return the BPF program for this machine, in which `OWN_PID` must still be replaced.

    Raises:
        OSError: The machine is neither x86_64 nor aarch64.
    """
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise OSError(
            errno.ENOSYS,
            f"the seccomp filter does not support the architecture {machine}; expected x86_64 or aarch64",
        )
    column, audit_code = _ARCHITECTURES[machine]
    leaves: dict[int, list[BpfInstruction]] = {}
    for names, leaf in _groups(profile):
        leaves.update({n: leaf for numbers in names.values() if (n := numbers[column]) is not None})
    for name, check in _checks(profile).items():
        if (number := (_CHECKED.get(name) or _PLAIN[name])[column]) is not None:
            leaves[number] = check
    return [
        (_LOAD, 0, 0, 4),
        (_JUMP_EQUAL, 1, 0, audit_code),
        _return(_KILL_PROCESS),
        (_LOAD, 0, 0, 0),
        (_JUMP_AT_LEAST, 0, 1, _X32_BIT),
        _return(_KILL_PROCESS),
        *_search(_intervals(leaves)),
    ]


def _groups(
    profile: Profile,
) -> Iterator[tuple[dict[str, tuple[int | None, int | None]], list[BpfInstruction]]]:
    """Yield the calls whose arguments do not matter, in groups, with the action for each group."""
    yield _PLAIN, [_return(_ALLOW)]
    yield _PRETENDED, [_return(_PRETEND)]
    yield _ABSENT, [_return(_MISSING)]
    yield _UNSUPPORTED, [_return(_ERRNO | errno.EOPNOTSUPP)]
    yield (
        {"sendfile": (40, 71)},
        [_return(_ERRNO | errno.EINVAL)],
    )  # callers then fall back to read and write
    yield _FORKS, [_return(_ALLOW if profile.fork else _DENY)]
    if profile.execute:
        yield _EXECUTES, [_return(_ALLOW)]
    if profile == SHELL:
        yield _GROUPS, [_return(_ALLOW)]


def _checks(profile: Profile) -> dict[str, list[BpfInstruction]]:
    """Return the calls that are allowed only with certain arguments, each with the code that checks them."""
    own = _any_but_first() if profile == SHELL else _if_among(0, (OWN_PID,))
    # A file that is opened only for reading must not be truncated.
    opening = _if_masked(1, _O_TRUNC | _O_ACCMODE, _O_TRUNC, _DENY, _ALLOW)
    thread = _if_masked(0, _CLONE_THREAD, _CLONE_THREAD, _ALLOW, _ALLOW if profile.fork else _DENY)
    return {
        **({"mmap": _counted_mapping()} if profile.counted else {}),
        "open": opening,
        "openat": _if_masked(2, _O_TRUNC | _O_ACCMODE, _O_TRUNC, _DENY, _ALLOW),
        "fcntl": _if_among(1, _FCNTL_LOCKS, _PRETEND, _if_among(1, _FCNTL)),
        "ioctl": _if_among(1, _IOCTL),
        "prctl": _if_among(0, _PRCTL),
        "kill": own,
        "tgkill": own,
        "prlimit64": _if_among(0, (0,)),
        "socketpair": _if_among(0, (_AF_UNIX,)),
        "sendto": [*_unless_zero(4, high=False), *_unless_zero(4, high=True), _return(_ALLOW)],
        "clone": [
            (_LOAD, 0, 0, _argument(0)),
            (_AND, 0, 0, _CLONE_NEVER),
            (_JUMP_EQUAL, 1, 0, 0),
            _return(_DENY),
            *thread,
        ],
    }


def _intervals(leaves: dict[int, list[BpfInstruction]]) -> list[tuple[int, list[BpfInstruction]]]:
    """Return ranges that cover all call numbers, as (first number, action), with equal neighbours merged."""
    deny = [_return(_DENY)]
    cover: list[tuple[int, list[BpfInstruction]]] = [(0, deny)]
    for number in range(max(leaves) + 2):
        leaf = leaves.get(number, deny)
        if leaf != cover[-1][1]:
            cover.append((number, leaf))
    return cover[1:] if len(cover) > 1 and cover[1][0] == 0 else cover


def _search(cover: list[tuple[int, list[BpfInstruction]]]) -> list[BpfInstruction]:
    if len(cover) == 1:
        return cover[0][1]
    middle = len(cover) // 2
    low, high = _search(cover[:middle]), _search(cover[middle:])
    # A conditional jump can skip at most 255 instructions. An unconditional jump can skip any number.
    return [(_JUMP_AT_LEAST, 0, 1, cover[middle][0]), (_JUMP, 0, 0, len(low)), *low, *high]


def _argument(index: int, *, high: bool = False) -> int:
    """Return the offset of the low or high half of an argument in a little-endian struct seccomp_data."""
    return 16 + 8 * index + (4 if high else 0)


def _return(action: int) -> BpfInstruction:
    return (_RETURN, 0, 0, action)


def _if_among(
    index: int, values: tuple[int, ...], then: int = _ALLOW, otherwise: list[BpfInstruction] | None = None
) -> list[BpfInstruction]:
    rest = otherwise or [_return(_DENY)]
    tests = [(_JUMP_EQUAL, len(values) - 1 - i + len(rest), 0, value) for i, value in enumerate(values)]
    return [(_LOAD, 0, 0, _argument(index)), *tests, *rest, _return(then)]


def _counted_mapping() -> list[BpfInstruction]:
    """Return a check that forbids stack mappings and shared mappings, except of files for reading."""
    return [
        (_LOAD, 0, 0, _argument(3)),
        (_AND, 0, 0, _MAP_GROWSDOWN),
        (_JUMP_EQUAL, 0, 7, 0),
        (_LOAD, 0, 0, _argument(3)),
        (_AND, 0, 0, _MAP_SHARED | _MAP_ANONYMOUS),
        (_JUMP_EQUAL, 4, 0, _MAP_SHARED | _MAP_ANONYMOUS),
        (_JUMP_EQUAL, 0, 4, _MAP_SHARED),
        (_LOAD, 0, 0, _argument(2)),
        (_AND, 0, 0, _PROT_WRITE),
        (_JUMP_EQUAL, 1, 0, 0),
        _return(_DENY),
        _return(_ALLOW),
    ]


def _any_but_first() -> list[BpfInstruction]:
    """Return a check that allows signals to any process in the namespace except the first."""
    return [
        (_LOAD, 0, 0, _argument(0)),
        (_JUMP_EQUAL, 1, 0, 1),
        (_JUMP_AT_LEAST, 0, 1, 0x8000_0000),
        _return(_DENY),
        _return(_ALLOW),
    ]


def _if_masked(index: int, mask: int, wanted: int, then: int, otherwise: int) -> list[BpfInstruction]:
    return [
        (_LOAD, 0, 0, _argument(index)),
        (_AND, 0, 0, mask),
        (_JUMP_EQUAL, 0, 1, wanted),
        _return(then),
        _return(otherwise),
    ]


def _unless_zero(index: int, *, high: bool) -> list[BpfInstruction]:
    return [(_LOAD, 0, 0, _argument(index, high=high)), (_JUMP_EQUAL, 1, 0, 0), _return(_DENY)]
