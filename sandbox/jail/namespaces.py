"""Moves the fork server into its own namespaces and a minimal root file system, for level `warm`.

The server does this once at its start, because creating namespaces costs more than a fork. A run can leave
files only in its working directory, which `fresh_box` replaces.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence

from . import kernel, limits

BOX = "/box"
WORK = "/box/w"
"""Working directory of a run. It is a small tmpfs and the only writable place."""

ENTRIES_A_MB = 32
"""Maximum number of files and folders in the working directory, per MiB of its size."""

_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_LINKS = (
    ("w", "/box/cwd"),
    ("box/w", "/tmp"),
    ("box/w", "/mnt"),
    *((f"box/w/{name}", f"/{name}") for name in ("app", "tests", "logs")),  # paths used by Harbor's scripts
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
)
_SPACES = (
    kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS
)


def can_become(uid: int) -> bool:
    """Return True if this process can change to a user id and a group id, and drop its groups.

    Root in a user namespace, as in a rootless container, can only change to the ids that the namespace maps.
    """
    if os.geteuid() != 0:
        return False
    with open("/proc/self/setgroups") as file:
        if file.read().strip() != "allow":
            return False
    return all(_is_mapped(uid, f"/proc/self/{name}") for name in ("uid_map", "gid_map"))


def _is_mapped(number: int, path: str) -> bool:
    with open(path) as file:
        ranges = [tuple(map(int, line.split())) for line in file]
    return any(first <= number < first + count for first, _, count in ranges)


def enter(*, as_root: bool) -> bool:
    """Enter new namespaces, and return True if runs can have their own user id.

    Only the process that becomes pid 1 in the new namespaces returns from this call. The calling process
    stays outside, waits for the new process and then exits. If the calling process is killed first, so is the
    new process. Root needs no user namespace, so its runs can have their own user id. Any other user, and
    root without the required privilege, needs a user namespace, which maps only one user id.

    Args:
        as_root: True if this process is root and can become another user.
    """
    if as_root:
        try:
            kernel.unshare(_SPACES)
        except PermissionError:
            as_root = False
    if not as_root:
        _unshare_user()
    inner = os.fork()
    if inner:
        os.closerange(0, limits.FILES)
        os.waitpid(inner, 0)
        os._exit(0)
    kernel.die_with_parent()
    return as_root


def _unshare_user() -> None:
    uid = os.geteuid()
    gid = os.getegid()
    kernel.unshare(_SPACES | kernel.CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"1000 {uid} 1"), ("gid_map", f"1000 {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def build_root(readable: Sequence[str], box_mb: int) -> None:
    """Replace the root file system with a minimal one.

    The new root contains the absolute paths in `readable` (read-only), a few devices and `WORK`.
    """
    os.umask(0o022)  # the program runs as another user and must be able to read the folders created below
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    trees = {
        path: kernel.clone_tree(path) for path in readable if os.path.isdir(path) and not os.path.islink(path)
    }
    links = {path: os.readlink(path) for path in readable if os.path.islink(path)}
    devices = {path: kernel.clone_tree(path) for path in _DEVICES if os.path.exists(path)}
    stage = next(path for path in ("/tmp", "/var", "/usr", "/dev") if os.path.isdir(path))
    kernel.mount(
        "sandbox", stage, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=1m,nr_inodes=2k,mode=0755"
    )
    for path in sorted(trees):
        if not os.path.isdir(stage + path):  # the path is not inside a folder that is already mounted
            os.makedirs(stage + path)
            kernel.attach_tree(trees.pop(path), stage + path, read_only=True)
    for tree in trees.values():
        os.close(tree)
    for path, target in links.items():
        if not os.path.lexists(stage + path):
            os.makedirs(os.path.dirname(stage + path), exist_ok=True)
            os.symlink(target, stage + path)
    os.makedirs(stage + "/dev", exist_ok=True)
    for path, tree in devices.items():
        os.close(os.open(stage + path, os.O_CREAT | os.O_WRONLY, 0o666))
        kernel.attach_tree(tree, stage + path, read_only=False, devices=True)
    os.makedirs(stage + WORK)
    os.mkdir(stage + "/proc")
    for target, path in _LINKS:
        if not os.path.lexists(stage + path):
            os.symlink(target, stage + path)
    _mount_proc(stage + "/proc")
    _mount_box(stage + WORK, box_mb)
    kernel.pivot_to(stage)
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    kernel.set_mount_attributes(root, 1, recursive=False)
    os.close(root)
    host = b"sandbox"
    kernel.libc.sethostname(ctypes.c_char_p(host), ctypes.c_size_t(len(host)))


def _mount_proc(target: str) -> None:
    """Mount the new namespace's /proc for paths like /dev/stdin, if the host allows it.

    Landlock denies opening any file in /proc itself. In a container with a masked /proc, the mount fails, and
    paths like /dev/stdin do not work.
    """
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    try:
        kernel.mount("proc", target, "proc", flags, "subset=pid")
    except OSError as error:
        print(f"no /proc: {error}", file=sys.stderr)


def _mount_box(target: str, box_mb: int) -> None:
    options = f"size={box_mb}m,nr_inodes={ENTRIES_A_MB * box_mb},mode=0777"
    kernel.mount("box", target, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC, options)


def fresh_box(box_mb: int) -> None:
    """Mount a new tmpfs as the working directory if the last run left any files in it."""
    try:
        with os.scandir(WORK) as left:
            used = next(left, None) is not None
    except OSError:  # the run changed the folder's mode
        used = True
    if used or os.stat(WORK).st_mode & 0o777 != 0o777:
        os.chdir("/")
        kernel.unmount(WORK)
        _mount_box(WORK, box_mb)
        os.chdir(WORK)
