"""Calls Linux through ctypes for Landlock, seccomp, mounts and namespaces, which the `os` module lacks.

Each function raises OSError with the name of the call that failed. The callers decide on the policy.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
from collections.abc import Iterable

from .seccomp import OWN_PID, BpfInstruction

libc = ctypes.CDLL(None, use_errno=True)
# `PyDLL` forks with the GIL held and without Python's after-fork hooks.
# The hooks of `random` and `threading` would copy hundreds of memory pages in every child.
# The fork server has only one thread, so it does not need these hooks.
_fork = ctypes.PyDLL(None).fork

_ARM = platform.machine() == "aarch64"
_SECCOMP = 277 if _ARM else 317
_PIVOT_ROOT = 41 if _ARM else 155
_CAPSET = 91 if _ARM else 126
_OPEN_TREE = 428
_MOVE_MOUNT = 429
_MOUNT_SETATTR = 442
_LANDLOCK_CREATE = 444
_LANDLOCK_ADD = 445
_LANDLOCK_RESTRICT = 446

_PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REC = 0x4000
MS_PRIVATE = 0x40000
_MNT_DETACH = 2
_AT_EMPTY_PATH = 0x1000
_AT_RECURSIVE = 0x8000
_AT_FDCWD = -100

READ_ONLY = 0b1101  # rights to execute files (or map them as code), read files and read directories
READ_WRITE_FILE = 0b110


_call = libc.syscall
_call.restype = ctypes.c_long


def syscall(name: str, number: int, *arguments: object) -> int:
    """Make one system call and return its result. Integers are passed as C longs."""
    converted = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _checked(name, _call(ctypes.c_long(number), *converted))


def _checked(name: str, result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def fork() -> int:
    """Fork without Python's after-fork hooks, and return 0 in the child or the child's pid in the parent."""
    return _checked("fork", _fork())


def prctl(option: int, argument: int) -> None:
    _checked("prctl", libc.prctl(option, ctypes.c_ulong(argument), 0, 0, 0))


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent thread exits. A change of the uid undoes this."""
    _checked("prctl", _call(*_DIE_WITH_PARENT))


def set_thread_stack(size: int) -> None:
    """Set the stack size of new threads in this process, in bytes, unless a thread is given another size."""
    attributes = ctypes.create_string_buffer(64)  # larger than any pthread_attr_t
    libc.pthread_attr_init(attributes)
    libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(size))
    libc.pthread_setattr_default_np(attributes)


def unshare(flags: int) -> None:
    _checked("unshare", libc.unshare(flags))


def drop_capabilities() -> None:
    """Drop every capability of this thread. With no_new_privs, the thread can never regain a capability."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", 0x20080522, 0))
    syscall("capset", _CAPSET, header, ctypes.create_string_buffer(24))


# --- mounts ---


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    _checked(
        f"mount {target}",
        libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode()),
    )


def clone_tree(path: str) -> int:
    """Return the descriptor of a detached copy of the mounts at `path`, like a bind mount."""
    flags = 1 | os.O_CLOEXEC | _AT_RECURSIVE
    return syscall(f"open_tree {path}", _OPEN_TREE, _AT_FDCWD, path.encode(), flags)


def attach_tree(tree: int, target: str, *, read_only: bool, devices: bool = False) -> None:
    """Mount a detached tree at `target`, and close its descriptor."""
    attributes = (1 if read_only else 0) | 2 | (0 if devices else 4)
    set_mount_attributes(tree, attributes)
    syscall(f"move_mount {target}", _MOVE_MOUNT, tree, b"", _AT_FDCWD, target.encode(), 4)
    os.close(tree)


def set_mount_attributes(tree: int, attributes: int, *, recursive: bool = True) -> None:
    """Set the attributes read-only (1), nosuid (2) and nodev (4) of a mount, given by its descriptor."""
    request = ctypes.create_string_buffer(struct.pack("=4Q", attributes, 0, 0, 0))
    flags = _AT_EMPTY_PATH | (_AT_RECURSIVE if recursive else 0)
    syscall("mount_setattr", _MOUNT_SETATTR, tree, b"", flags, request, 32)


def unmount(target: str) -> None:
    _checked(f"umount {target}", libc.umount2(target.encode(), _MNT_DETACH))


def pivot_to(new_root: str) -> None:
    """Make `new_root` (a mount point) the root, and detach the old root."""
    os.chdir(new_root)
    syscall("pivot_root", _PIVOT_ROOT, b".", b".")
    unmount(".")
    os.chdir("/")


# --- Landlock ---
_FILE_RIGHTS = 0b1000_0000_0000_0111 | 1 << 14  # rights that apply to files other than directories


def landlock_version() -> int:
    """Return the version of the kernel's Landlock ABI.

    Raises:
        OSError: The kernel lacks Landlock, or it is disabled.
    """
    return syscall("landlock", _LANDLOCK_CREATE, None, 0, 1)


def landlock_rules(version: int, rules: Iterable[tuple[str, int]]) -> int:
    """Create a ruleset that allows only the given rights below each path, and return its descriptor."""
    handled = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    network = 3 if version >= 4 else 0
    scoped = 3 if version >= 6 else 0
    attributes = struct.pack("=3Q", handled, network, scoped)[
        : 24 if version >= 6 else 16 if version >= 4 else 8
    ]
    ruleset = syscall(
        "landlock_create_ruleset",
        _LANDLOCK_CREATE,
        ctypes.create_string_buffer(attributes),
        len(attributes),
        0,
    )
    for path, rights in rules:
        try:
            target = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # the path is missing or inaccessible, so there is nothing to allow
        if not os.path.isdir(path):
            rights &= _FILE_RIGHTS
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights & handled, target))
        syscall("landlock_add_rule", _LANDLOCK_ADD, ruleset, 1, rule, 0)
        os.close(target)
    return ruleset


def all_rights() -> int:
    """Return all rights on files and directories. A ruleset ignores rights that the kernel lacks."""
    return (1 << 16) - 1


def restrict_self(ruleset: int) -> None:
    """Enter a Landlock ruleset permanently. The process must have set no_new_privs."""
    _checked("landlock_restrict_self", _call(_RESTRICT_SELF, ctypes.c_long(ruleset), _ZERO))


def no_new_privileges() -> None:
    _checked("prctl no_new_privs", _call(*_NO_NEW_PRIVS))


# These arguments are converted once, because converting them takes longer than the system calls.
_ZERO, _ONE = ctypes.c_long(0), ctypes.c_long(1)
_NO_NEW_PRIVS = (
    ctypes.c_long(167 if _ARM else 157),
    ctypes.c_long(_PR_SET_NO_NEW_PRIVS),
    _ONE,
    _ZERO,
    _ZERO,
    _ZERO,
)
_DIE_WITH_PARENT = (_NO_NEW_PRIVS[0], ctypes.c_long(_PR_SET_PDEATHSIG), ctypes.c_long(signal.SIGKILL))
_RESTRICT_SELF = ctypes.c_long(_LANDLOCK_RESTRICT)
_SET_FILTER = ctypes.c_long(_SECCOMP)


# --- seccomp ---


class Filter:
    """A seccomp program in the kernel's format, which a child can install."""

    def __init__(self, program: list[BpfInstruction]) -> None:
        self._code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *i) for i in program))
        self._pids = [8 * n + 4 for n, i in enumerate(program) if i[3] == OWN_PID]
        self._header = ctypes.create_string_buffer(
            struct.pack("=H6xQ", len(program), ctypes.addressof(self._code))
        )

    def install(self) -> None:
        """Install the filter in this process permanently. The process must have set no_new_privs."""
        pid = struct.pack("=I", os.getpid())
        for offset in self._pids:
            ctypes.memmove(ctypes.addressof(self._code) + offset, pid, 4)
        _checked("seccomp", _call(_SET_FILTER, _ONE, _ZERO, self._header))
