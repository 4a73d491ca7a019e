"""Attacks in languages other than Python, each printing PWNED if it succeeds. Data for `native_corpus.py`.

An attack that ends by itself, is killed or does not compile is held; a failure of the sandbox is not.
"""

from __future__ import annotations

from dataclasses import dataclass

SECRET = "EXPECTED-OUTPUT-HIDE-me"
ANY = ("ok", "runtime_error", "compile_error", "cpu_timeout", "idle_timeout", "memory_limit", "output_limit")
STOPPED = tuple(status for status in (*ANY, "process_limit") if status != "ok")
RAN = tuple(status for status in (*ANY, "process_limit") if status != "compile_error")


@dataclass(frozen=True)
class Attack:
    language: str
    code: str
    ends: tuple[str, ...] = RAN
    """How it may end. One that must run does not do so by not compiling."""


_HEAD = """
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <netinet/in.h>
#include <unistd.h>
static int refused(long r) { return r < 0 && (errno == EPERM || errno == ENOSYS || errno == EACCES || errno == ENOENT || errno == EROFS || errno == ETXTBSY); }
#define TRY(call) do { errno = 0; if (!refused((long)(call))) puts("PWNED " #call); } while (0)
static long raw(long n, long a, long b, long c) {
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return r;
}
static void show(const char *path) {
    char text[4096];
    int fd = open(path, O_RDONLY);
    long n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n > 0) printf("PWNED %s: %.*s\\n", path, (int)n, text);
}
"""


def c(body: str, ends: tuple[str, ...] = RAN) -> Attack:
    """An attack in C: what stands in `main`, or whole functions with it."""
    main = body if "main(" in body else f"int main(void) {{ {body}; return 0; }}"
    return Attack("c", _HEAD + main, ends)


def tried(*calls: str) -> Attack:
    """System calls each of which has to be refused."""
    return c("".join(f"TRY({call});" for call in calls))


def shell(body: str, ends: tuple[str, ...] = RAN) -> Attack:
    return Attack("bash", body, ends)


def java(body: str, ends: tuple[str, ...] = RAN) -> Attack:
    head = "import java.io.*; import java.net.*; import java.nio.file.*; import java.util.*;\n"
    return Attack(
        "java",
        f"{head}public class Main {{ public static void main(String[] a) throws Exception {{ {body} }} }}",
        ends,
    )


def node(body: str, ends: tuple[str, ...] = RAN) -> Attack:
    return Attack("javascript", body, ends)


PROCESSES = {
    "fork": tried("fork()", "vfork()", "syscall(SYS_fork)"),
    "fork bomb": c("for (int i = 0; i < 100000; i++) if (fork() >= 0) puts(\"PWNED\")"),
    "raw clone": c("if (raw(SYS_clone, SIGCHLD, 0, 0) >= 0) puts(\"PWNED\")"),
    "raw clone with the parent's memory": c("if (raw(SYS_clone, CLONE_VM | SIGCHLD, 0, 0) >= 0) puts(\"PWNED\")"),
    "clone3": c("char args[88] = {0}; TRY(syscall(435, args, sizeof args))"),
    "ptrace": tried("ptrace(PTRACE_TRACEME, 0, 0, 0)", "ptrace(PTRACE_ATTACH, getppid(), 0, 0)", "ptrace(16, 1, 0, 0)"),
    "memory of another process": c(
        "char x[8]; struct { void *p; size_t n; } v = {x, 8}; TRY(syscall(SYS_process_vm_readv, getppid(), &v, 1, &v, 1, 0));"
        "TRY(syscall(SYS_process_vm_writev, getppid(), &v, 1, &v, 1, 0)); TRY(syscall(438, getppid(), 0, 0))"
    ),
    "signals": tried("kill(-1, 9)", "kill(1, 9)", "kill(getppid(), 9)", "kill(0, 9)", "syscall(SYS_tgkill, 1, 1, 9)",
                     "syscall(424, 3, 9, 0, 0)", "syscall(SYS_rt_sigqueueinfo, getppid(), 9, 0)"),
    "threads": c(
        "void *idle(void *x) { sleep(2); return x; }\nint main(void) { pthread_t t; pthread_attr_t a; pthread_attr_init(&a);"
        "pthread_attr_setstacksize(&a, 32768); int n = 0; for (int i = 0; i < 3000; i++) n += !pthread_create(&t, &a, idle, 0);"
        "usleep(300000); if (n > 400) puts(\"PWNED\"); return 0; }"
    ),
    "execute another program": tried(
        "execl(\"/bin/sh\", \"sh\", \"-c\", \"echo PWNED\", NULL)", "execl(\"/usr/bin/id\", \"id\", NULL)",
        "execl(\"/usr/bin/su\", \"su\", NULL)",
    ),
    "a file in memory": tried("syscall(SYS_memfd_create, \"x\", 0)", "syscall(447, 0)"),
    "namespaces": tried("unshare(CLONE_NEWUSER)", "unshare(CLONE_NEWNS)", "setns(0, 0)", "syscall(SYS_chroot, \"/\")",
                        "syscall(SYS_pivot_root, \".\", \".\")", "syscall(SYS_mount, 0, \"/\", 0, 0, 0)"),
    "stop oneself": c("raise(SIGSTOP)", ("idle_timeout",)),
    "outlive the clock": c(
        "for (int i = 1; i < 65; i++) signal(i, SIG_IGN); struct itimerval z = {0}; setitimer(ITIMER_PROF, &z, 0); for (;;);",
        ("cpu_timeout", "idle_timeout"),
    ),
    "sleep": c("sleep(100)", ("idle_timeout",)),
}  # fmt: skip

KERNEL = {
    "io_uring": c("char p[256] = {0}; TRY(syscall(425, 8, p)); TRY(syscall(426, 3, 1, 0, 0, 0, 0)); TRY(syscall(427, 3, 0, 0, 0))"),
    "odd kernel interfaces": tried(
        "syscall(SYS_bpf, 0, 0, 0)", "syscall(SYS_perf_event_open, 0, 0, -1, -1, 0)", "syscall(SYS_userfaultfd, 0)",
        "syscall(SYS_keyctl, 0, 0)", "syscall(SYS_add_key, 0, 0, 0, 0, 0)", "syscall(SYS_init_module, 0, 0, 0)",
        "syscall(SYS_kexec_load, 0, 0, 0, 0)", "syscall(SYS_personality, 0x40000)", "syscall(SYS_modify_ldt, 0, 0, 0)",
        "syscall(SYS_shmget, 1, 4096, 0600 | 01000)", "syscall(SYS_msgget, 1, 01000)", "syscall(SYS_splice, 0, 0, 1, 0, 1, 0)",
        "syscall(SYS_name_to_handle_at, -100, \"/\", 0, 0, 0)", "syscall(SYS_open_by_handle_at, 0, 0, 0)",
        "syscall(SYS_timer_create, 1, 0, 0)", "syscall(SYS_sethostname, \"x\", 1)", "syscall(SYS_settimeofday, 0, 0)",
        "syscall(SYS_reboot, 0, 0, 0)", "syscall(SYS_mknod, \"x\", 020600, 0)", "syscall(SYS_fanotify_init, 0, 0)",
    ),
    "raw open in assembly": c("long fd = raw(SYS_open, (long)\"/etc/passwd\", 0, 0); if (fd >= 0) puts(\"PWNED\")"),
    "32-bit calls": c(
        "long r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(20L) : \"memory\"); puts(\"PWNED\")", STOPPED
    ),
    "calls of the x32 kind": c("if (raw(0x40000000 + 39, 0, 0, 0) > 0) puts(\"PWNED\")", STOPPED),
    "32-bit code": c(
        "unsigned char code[] = {0xb8,20,0,0,0,0xcd,0x80,0xcb}; void *p = mmap((void*)0x10000000, 4096, 7, MAP_PRIVATE|MAP_ANONYMOUS|MAP_FIXED, -1, 0);"
        "memcpy(p, code, sizeof code); struct { unsigned off; unsigned short seg; } __attribute__((packed)) to = {0x10000000, 0x23};"
        "__asm__ volatile(\"lcall *(%0)\" :: \"r\"(&to) : \"rax\", \"memory\"); puts(\"PWNED\")", STOPPED
    ),
    "more rights": tried("setuid(0)", "setresuid(0, 0, 0)", "setgid(0)", "syscall(SYS_capset, 0, 0)", "prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)",
                         "prctl(PR_SET_SECCOMP, 1, 0, 0, 0)", "prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)", "syscall(SYS_seccomp, 1, 0, 0)"),
    "higher limits": c(
        "struct rlimit r = {RLIM_INFINITY, RLIM_INFINITY}; int all[] = {RLIMIT_AS, RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_NPROC, RLIMIT_NOFILE, RLIMIT_DATA};"
        "for (int i = 0; i < 6; i++) TRY(setrlimit(all[i], &r)); TRY(setpriority(0, 0, -20))"
    ),
}  # fmt: skip

FILES = {
    "files of the host": c(
        "const char *all[] = {\"/etc/passwd\", \"/etc/shadow\", \"/proc/1/environ\", \"/proc/self/environ\", \"/proc/self/maps\","
        "\"/proc/self/mem\", \"/root/.bashrc\", \"/var/log/dpkg.log\", \"/etc/hostname\"};"
        "for (int i = 0; i < 9; i++) show(all[i]); char p[64]; sprintf(p, \"/proc/%d/environ\", getppid()); show(p)"
    ),
    "the canary": c("show(getenv(\"CANARY\") ? getenv(\"CANARY\") : \"/tmp/canary\"); TRY(truncate(\"@CANARY@\", 0)); chmod(\"@CANARY@\", 0777); fchmodat(-100, \"@CANARY@\", 0777, 0);"
                    "TRY(unlink(\"@CANARY@\")); TRY(open(\"@CANARY@\", O_RDONLY)); TRY(open(\"@CANARY@\", O_WRONLY | O_TRUNC))"),
    "write to what is read only": tried("open(\"/usr/lib/x\", O_CREAT | O_WRONLY, 0600)", "open(\"/lib/x\", O_CREAT | O_WRONLY, 0600)",
                                        "mkdir(\"/usr/lib/x\", 0700)", "open(\"/dev/mem\", O_RDWR)"),
    "its own binary": tried("open(\"/proc/self/exe\", O_WRONLY)", "open(\"/proc/self/exe\", O_RDWR)"),
    "inherited descriptors": c("struct stat s; for (int i = 3; i < 4096; i++) if (!fstat(i, &s)) printf(\"PWNED %d\\n\", i)"),
    "inherited environment": c("extern char **environ; for (char **e = environ; *e; e++) puts(*e)"),
    "leases": c("int fd = open(\"/dev/null\", O_RDWR); TRY(fcntl(fd, F_SETLEASE, F_WRLCK)); TRY(fcntl(fd, F_SETOWN, 1)); TRY(fcntl(fd, F_NOTIFY, DN_CREATE))"),
    "the program interpreter": Attack(
        "c", "const char interp[] __attribute__((section(\".interp\"))) = \"/nonexistent/ld.so\"; int main(void) { return 0; }",
        ANY,
    ),
    "network": tried("socket(AF_INET, SOCK_STREAM, 0)", "socket(AF_INET6, SOCK_DGRAM, 0)", "socket(AF_UNIX, SOCK_STREAM, 0)",
                     "socket(AF_NETLINK, SOCK_RAW, 0)", "socket(40, SOCK_STREAM, 0)", "socket(AF_PACKET, SOCK_RAW, 0)"),
}  # fmt: skip

RESOURCES = {
    "an array of 4 GiB": c(
        "static volatile char all[4ULL << 30];\nint main(void) { for (size_t i = 0; i < sizeof all; i += 4096) all[i] = 1; puts(\"PWNED\"); return 0; }",
        STOPPED,
    ),
    "an array of 4 GiB in the file": Attack("c", "char all[4ULL << 30] = {1}; int main(void) { return all[5]; }", STOPPED),
    "memory": c("for (;;) { char *p = malloc(1 << 20); if (!p) return 1; memset(p, 1, 1 << 20); }", STOPPED),
    "shared memory": c(
        "for (int i = 0; i < 2048; i++) { char *p = mmap(0, 1 << 20, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0); if (p == MAP_FAILED) return 1;"
        "memset(p, 1, 1 << 20); } puts(\"PWNED\")", STOPPED
    ),
    "the stack": c("int down(int n) { volatile char pad[4096]; pad[0] = n; return down(n + 1) + pad[0]; }\nint main(void) { return down(0); }", STOPPED),
    "output": c("for (;;) puts(\"flood\")", ("output_limit",)),
    "errors": c("for (;;) fputs(\"flood\", stderr)", ("output_limit",)),
    "a hole in the output": c("if (pwrite(1, \"x\", 1, 1L << 40) == 1) puts(\"PWNED\")", STOPPED),
    "a division": c("volatile int zero = 0, one = 1; printf(\"%d\", one / zero)", ("runtime_error",)),
    "a forged failure of the sandbox": c(
        "for (int i = 0; i < 256; i++) { long one = 1; write(i, &one, 8); } fputs(\"sandbox: OSError: no jail\\n\", stderr); _exit(125)",
        ("runtime_error",),
    ),
    "threads in Go": Attack(
        "go", "package main\nimport (\"runtime\"; \"time\"; \"fmt\")\nfunc main() { for i := 0; i < 2000; i++ { go func() { runtime.LockOSThread();"
        " time.Sleep(9 * time.Second) }() }; time.Sleep(time.Second); fmt.Println(\"PWNED\") }", STOPPED,
    ),
    "memory in Go": Attack("go", "package main\nvar all [][]byte\nfunc main() { for { b := make([]byte, 1<<24); for i := range b { b[i] = 1 }; all = append(all, b) } }", STOPPED),
    "memory that Java does not count": java(
        "List<java.nio.ByteBuffer> all = new ArrayList<>(); for (int i = 0; i < 4096; i++) { java.nio.ByteBuffer b = java.nio.ByteBuffer.allocateDirect(1 << 20);"
        " for (int j = 0; j < b.capacity(); j += 4096) b.put(j, (byte) 1); all.add(b); } System.out.println(\"PWNED\");", STOPPED
    ),
    "threads in Java": java("for (int i = 0; i < 2000; i++) { Thread t = new Thread(() -> { try { Thread.sleep(9000); } catch (Exception e) {} }); t.start(); }"
                            " System.out.println(\"PWNED\");", STOPPED),
    "memory that V8 does not count": node("const all = []; for (let i = 0; i < 4096; i++) all.push(Buffer.alloc(1 << 20, 1)); console.log('PWNED')", STOPPED),
    "workers of Node.js": node("const {Worker} = require('worker_threads'); for (let i = 0; i < 500; i++) new Worker('setTimeout(()=>0, 9000)', {eval: true});"
                               " setTimeout(() => console.log('PWNED'), 2000)", STOPPED),
    "files of Node.js": node("const fs = require('fs'); for (let i = 0; i < 4096; i++) fs.writeFileSync('f' + i, Buffer.alloc(1 << 20)); console.log('PWNED')", STOPPED),
}  # fmt: skip

COMPILERS = {
    "include /dev/zero": Attack("c", '#include "/dev/zero"\nint main(void) { return 0; }', ("compile_error",)),
    "include /dev/urandom": Attack("cpp", '#include "/dev/urandom"\nint main() {}', ("compile_error",)),
    "include /dev/stdin": Attack("c", '#include "/dev/stdin"\nint main(void) { return 0; }'),
    "include a file of the host": Attack("c", '#include "/etc/passwd"\n#include "@CANARY@"\nint main(void) { return 0; }', ("compile_error",)),
    "include the environment": Attack("c", '#include "/proc/self/environ"\n#include "/proc/1/environ"\nint main(void) { return 0; }', ("compile_error",)),
    "include itself": Attack("c", '#include __FILE__\n#include __FILE__\nint main(void) { return 0; }', ("compile_error",)),
    "assemble a file of the host": Attack("c", '__asm__(".data\\nall: .incbin \\"/etc/passwd\\"\\n"); int main(void) { return 0; }', ("compile_error",)),
    "assemble the canary": Attack("c", '__asm__(".data\\n.incbin \\"@CANARY@\\"\\n"); int main(void) { return 0; }', ("compile_error",)),
    "assemble /dev/zero": Attack("c", '__asm__(".data\\n.incbin \\"/dev/zero\\"\\n"); int main(void) { return 0; }', ANY),
    "assemble for ever": Attack("c", '__asm__(".data\\n.rept 2000000000\\n.quad 1\\n.endr\\n"); int main(void) { return 0; }', ("compile_error",)),
    "assemble a huge object": Attack("c", '__asm__(".data\\n.fill 4294967296, 1, 1\\n"); int main(void) { return 0; }', ("compile_error",)),
    "templates without end": Attack("cpp", "template <int N> struct A { static const int v = A<N + 1>::v + A<N + 2>::v; };\nint main() { return A<0>::v; }", ("compile_error",)),
    "templates that double": Attack(
        "cpp", "template <int N, class T> struct A { using L = A<N - 1, A<N, T>>; using R = A<N - 1, A<N, A<N, T>>>; typename L::X a; typename R::X b; struct X { typename L::X a; typename R::X b; }; };\n"
        "template <class T> struct A<0, T> { struct X { int x; }; };\nint main() { return sizeof(A<40, int>::X); }", ("compile_error",),
    ),
    "a constant without end": Attack("cpp", "constexpr int f() { int i = 0; while (true) i ^= 1; return i; }\nconstexpr int x = f();\nint main() {}", ("compile_error",)),
    "macros that double": Attack(
        "c", "#define A(x) B(x) B(x)\n" + "".join(f"#define {chr(66 + i)}(x) {chr(67 + i)}(x) {chr(67 + i)}(x)\n" for i in range(23))
        + "#define Z(x) x\n#define Y(x) Z(x) Z(x) Z(x)\nint main(void) { return sizeof(\"\" A(\"aaaaaaaaaaaaaaaa\")); }", ("compile_error",)
    ),
    "an option of the linker": Attack("c", '__asm__(".section .note.GNU-stack,\\"x\\"\\n.global main2\\n"); __attribute__((section(".text#"))) int x = 1; int main(void) { return 0; }', ANY),
    "a plugin by pragma": Attack("c", '#pragma GCC optimize("-fplugin=/etc/passwd")\n#pragma GCC target("arch=nonsense")\nint main(void) { return 0; }', ANY),
    "include in Rust": Attack("rust", 'fn main() { println!("PWNED {}", include_str!("/etc/passwd")); }', ("compile_error",)),
    "environment in Rust": Attack("rust", 'fn main() { println!("PWNED {}", env!("REWARDKIT_CANARY")); }', ("compile_error",)),
    "a constant without end in Rust": Attack("rust", "#![allow(long_running_const_eval)]\nconst X: u64 = { let mut i = 0u64; loop { i = i.wrapping_add(1); if i == u64::MAX { break; } } i };\nfn main() { println!(\"PWNED {}\", X); }", ("compile_error",)),
    "macros without end in Rust": Attack("rust", '#![recursion_limit="10000000"]\nmacro_rules! m { ($($x:tt)*) => { m!($($x)* $($x)* a) } }\nfn main() { m!(a); }', ("compile_error",)),
    "the C of Go": Attack("go", 'package main\n// #cgo LDFLAGS: -fplugin=/tmp/x\n// #include "/etc/passwd"\nimport "C"\nfunc main() {}', ("compile_error",)),
    "embedding in Go": Attack("go", 'package main\nimport _ "embed"\n//go:embed ../../etc/passwd\nvar all string\nfunc main() { println("PWNED", all) }', ("compile_error",)),
    "strings that double in Java": Attack(
        "java", 'public class Main { static final String A0 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";\n'
        + "".join(f"static final String A{i + 1} = A{i} + A{i} + A{i} + A{i};\n" for i in range(16)) + "public static void main(String[] a) { System.out.println(A16); } }",
        ("compile_error",),
    ),
}  # fmt: skip

RUNTIMES = {
    "a name like an option": Attack("java", "public class J_Xmx1t { public static void main(String[] a) { System.out.println(1); } }"),
    "processes of Java": java('try { new ProcessBuilder("/bin/sh", "-c", "echo PWNED").inheritIO().start().waitFor(); } catch (IOException e) { System.out.println(e); }'),
    "files of the host in Java": java('for (String p : new String[]{"/etc/passwd", "/proc/self/environ", "/proc/1/environ", "@CANARY@"}) try { System.out.println("PWNED " + Files.readString(Path.of(p))); } catch (IOException e) { }'),
    "network in Java": java('try { new Socket("127.0.0.1", @PORT@); System.out.println("PWNED"); } catch (IOException e) { }'),
    "the machine in Java": java("Runtime.getRuntime().halt(125);", ("runtime_error",)),
    "hooks in Java": java("Runtime.getRuntime().addShutdownHook(new Thread(() -> { while (true); })); System.exit(0);", ("cpu_timeout", "idle_timeout")),
    "processes of Node.js": node("try { console.log(require('child_process').execSync('echo PWNED').toString()) } catch (e) { }"),
    "files of the host in Node.js": node("const fs = require('fs'); for (const p of ['/etc/passwd', '/proc/self/environ', '@CANARY@', '/root/.bashrc']) try { console.log('PWNED ' + fs.readFileSync(p)) } catch (e) { }"),
    "network in Node.js": node("try { const s = require('net').connect(@PORT@, '127.0.0.1', () => { console.log('PWNED'); process.exit() }); s.on('error', () => process.exit()) } catch (e) { }"),
    "signals of Node.js": node("for (const p of [1, process.ppid, -1]) try { process.kill(p, 'SIGKILL'); console.log('PWNED') } catch (e) { }"),
    "environment of Node.js": node("console.log(JSON.stringify(process.env))"),
    "a handler in Node.js": node("process.on('SIGTERM', () => {}); process.on('exit', () => { for (;;); })", ("cpu_timeout", "idle_timeout")),
    "processes in Rust": Attack("rust", 'fn main() { if std::process::Command::new("/bin/true").spawn().is_ok() { println!("PWNED"); } if let Ok(s) = std::fs::read_to_string("@CANARY@") { println!("PWNED {}", s); } }'),
    "processes in Go": Attack("go", 'package main\nimport ("fmt"; "os"; "os/exec"; "net")\nfunc main() { if exec.Command("/bin/true").Run() == nil { fmt.Println("PWNED") }; if b, e := os.ReadFile("@CANARY@"); e == nil { fmt.Println("PWNED", string(b)) }; if _, e := net.Dial("tcp", "127.0.0.1:@PORT@"); e == nil { fmt.Println("PWNED") } }'),
    "other databases": Attack("sql", "ATTACH '@CANARY@' AS x; SELECT 'PWNED', * FROM x.sqlite_master;", STOPPED),
    "extensions": Attack("sql", "SELECT load_extension('/lib/x86_64-linux-gnu/libc.so.6', 'exit'); SELECT 'PWNED';", STOPPED),
    "a database on the host": Attack("sql", "ATTACH '/usr/lib/x.db' AS x; CREATE TABLE x.t (a); SELECT 'PWNED';", STOPPED),
    "a fork bomb in Bash": shell(":(){ :|:& };:\nsleep 0.5"),
    "processes that stay": shell("setsid sleep 100 & (setsid nohup sleep 100 >/dev/null 2>&1 &) ; sleep 0.1; echo left"),
    "a busy process apart": shell("(while :; do :; done) & (while :; do :; done) & wait", ("cpu_timeout", "idle_timeout")),
    "signals in Bash": shell("for p in 1 $PPID -1 0; do kill -9 $p 2>/dev/null && [ $p != 0 ] && echo PWNED $p; done; kill -INT 1 && echo PWNED; true"),
    "files of the host in Bash": shell("cat /etc/passwd /etc/shadow /proc/1/environ @CANARY@ && echo PWNED; head -c 100 @CANARY@ && echo PWNED; echo x > @CANARY@ && echo PWNED; ls /root /home && echo PWNED; true"),
    "environment of Bash": shell("env; tr '\\0' '\\n' < /proc/self/environ && echo PWNED; true"),
    "network in Bash": shell("(echo x > /dev/tcp/127.0.0.1/@PORT@) 2>/dev/null && echo PWNED; true"),
    "set-uid programs": shell("for p in su mount passwd sudo newgrp chsh; do [ -u /usr/bin/$p ] && /usr/bin/$p </dev/null >/dev/null 2>&1 && echo PWNED $p; done; id -u | grep -qx 0 && [ -w /usr/bin ] && echo PWNED; true"),
    "memory of many processes": shell("for i in 1 2 3 4 5 6 7 8; do (x=0123456789abcdef01234567; for j in {1..20}; do x=$x$x; done; sleep 3) & done; wait; echo PWNED", STOPPED),
    "disk": shell("for i in $(seq 100); do head -c 4000000 /dev/zero > f$i || exit 1; done; echo PWNED", STOPPED),
    "a file to execute": shell("printf '#!/bin/sh\\necho PWNED\\n' > x; chmod +x x; ./x; cp /bin/true t; ./t && echo PWNED; true"),
}  # fmt: skip

ATTACKS = {**PROCESSES, **KERNEL, **FILES, **RESOURCES, **COMPILERS, **RUNTIMES}
