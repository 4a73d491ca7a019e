/* What C programs use: the first line of stdin names the features to play, the rest is their input. */

#define _GNU_SOURCE
#include <assert.h>
#include <complex.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <iconv.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <regex.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#define SAY(...) (printf(__VA_ARGS__), putchar('\n'))

/* feature: prints_by_every_way */
static void prints_by_every_way(void) {
    puts("puts");
    fputs("fputs\n", stdout);
    fwrite("fwrite\n", 1, 7, stdout);
    fflush(stdout);
    if (write(1, "write\n", 6) != 6) return;
    dprintf(1, "dprintf %d\n", 42);
    printf("%5.2f|%-5d|%05d|%x|%c|%s|%g|%e|%lld|%zu\n", 3.14159, 7, 42, 255, 'c', "s", 1e20, 12345.678, 1LL << 40, sizeof(long));
    putchar('\n');
    printf("%'d %*d %.*s %p\n", 1234567, 6, 42, 2, "abc", NULL);
}

/* feature: prints_much */
static void prints_much(void) {
    for (int i = 0; i < 50000; i++) printf("%d %d\n", i, i * 2);
}

/* feature: prints_with_its_own_buffer, alone */
static void prints_with_its_own_buffer(void) {
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    puts("fully buffered, written at the end");
}

/* feature: prints_unbuffered, alone */
static void prints_unbuffered(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    fprintf(stdout, "no buffer");
    _exit(0);
}

/* feature: output_that_is_lost, alone */
static void output_that_is_lost(void) {
    printf("in a buffer when it ends");
    _exit(3);
}

/* feature: reads_by_scanf, alone */
static void reads_by_scanf(void) {
    int a, b;
    char word[100];
    double d;
    printf("%d ", scanf("%d %d", &a, &b));
    printf("%d %d ", a, b);
    printf("%d ", scanf("%99s", word));
    printf("%s %d ", word, scanf(" %*s %lf", &d));
    printf("%.1f ", d);
    printf("%d\n", scanf("%d", &a));
    while (scanf("%99s", word) == 1) puts(word);
    SAY("%d", feof(stdin) != 0);
}

/* feature: reads_lines, alone */
static void reads_lines(void) {
    char *line = NULL, text[64];
    size_t size = 0;
    if (fgets(text, sizeof text, stdin)) printf("%s", text);
    for (ssize_t n; (n = getline(&line, &size, stdin)) > 0;) printf("%zd %s", n, line);
    free(line);
}

/* feature: reads_characters, alone */
static void reads_characters(void) {
    int c, sum = 0;
    while ((c = getchar()) != EOF) sum = (sum * 31 + c) % 1000003;
    SAY("%d", sum);
}

/* feature: reads_unlocked, alone */
static void reads_unlocked(void) {
    int x = 0, c;
    while (isdigit(c = getchar_unlocked())) x = x * 10 + c - '0';
    ungetc(c, stdin);
    SAY("%d %d", x, getchar());
}

/* feature: reads_blocks, alone */
static void reads_blocks(void) {
    char text[4096];
    size_t n = fread(text, 1, sizeof text, stdin);
    SAY("%zu %.5s", n, text);
}

/* feature: reads_by_descriptor, alone */
static void reads_by_descriptor(void) {
    char text[4096];
    SAY("%zd %d", read(0, text, sizeof text), isatty(0));
}

/* feature: maps_its_input, alone */
static void maps_its_input(void) {
    struct stat found;
    fstat(0, &found);
    char *text = mmap(NULL, found.st_size, PROT_READ, MAP_PRIVATE, 0, 0);
    SAY("%d %.14s", text != MAP_FAILED, text);
}

/* feature: reopens_its_input, alone */
static void reopens_its_input(void) {
    FILE *file = fopen("in.txt", "w");
    fputs("5 6\n", file);
    fclose(file);
    int a = 0, b = 0;
    if (!freopen("in.txt", "r", stdin) || scanf("%d %d", &a, &b) != 2) return;
    SAY("%d", a + b);
}

/* feature: reopens_its_output, alone */
static void reopens_its_output(void) {
    puts("before");
    if (!freopen("out.txt", "w", stdout)) return;
    puts("into the file");
}

/* feature: opens_dev_stdin, alone */
static void opens_dev_stdin(void) {
    FILE *file = fopen("/dev/stdin", "r");
    int c = file ? fgetc(file) : -2;
    SAY("%d", c > 0);
}

/* feature: returns_a_status, alone */
static void returns_a_status(void) { exit(42); }

/* feature: hooks_at_the_end, alone */
static void last(void) { puts("last"); }
static void first(void) { puts("first"); }
static void hooks_at_the_end(void) {
    atexit(last);
    atexit(first);
}

/* feature: aborts, alone */
static void aborts(void) { abort(); }

/* feature: asserts, alone */
static void asserts(void) {
    puts("before");
    fflush(stdout);
    assert(1 + 1 == 3);
}

/* feature: divides_by_zero, alone */
static void divides_by_zero(void) {
    volatile int zero = 0;
    SAY("%d", 1 / zero);
}

/* feature: reads_nowhere, alone */
static void reads_nowhere(void) {
    volatile int *nowhere = NULL;
    SAY("%d", *nowhere);
}

/* feature: overflows_its_stack, alone */
static int endless(int n) {
    volatile char frame[1 << 16];
    frame[n & 0xffff] = n;
    return endless(n + 1) + frame[1];
}
static void overflows_its_stack(void) {
    SAY("%d", endless(0));
}

/* feature: raises_a_signal, alone */
static void raises_a_signal(void) { raise(SIGTERM); }

/* feature: catches_signals */
static volatile sig_atomic_t caught;
static void catching(int number) { caught = number; }
static void catches_signals(void) {
    int all[] = {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGFPE, SIGPIPE};
    for (int i = 0; i < 6; i++) {
        signal(all[i], catching);
        raise(all[i]);
        printf("%d ", caught == all[i]);
        signal(all[i], SIG_DFL);
    }
    struct sigaction act = {.sa_handler = catching};
    sigaction(SIGALRM, &act, NULL);
    struct itimerval soon = {.it_value = {0, 10000}};
    caught = 0;
    setitimer(ITIMER_REAL, &soon, NULL);
    while (!caught) usleep(1000);
    SAY("%d", caught == SIGALRM);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGUSR2);
    int got;
    sigwait(&set, &got);
    SAY("%d", got == SIGUSR2);
}

/* feature: recovers_from_a_fault */
static sigjmp_buf back;
static void jumping(int number) { siglongjmp(back, number); }
static void recovers_from_a_fault(void) {
    signal(SIGSEGV, jumping);
    int number = sigsetjmp(back, 1);
    if (!number) {
        volatile int *nowhere = NULL;
        *nowhere = 1;
    }
    SAY("%d", number == SIGSEGV);
    signal(SIGSEGV, SIG_DFL);
}

/* feature: an_alternate_stack */
static void an_alternate_stack(void) {
    stack_t other = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    struct sigaction act = {.sa_handler = catching, .sa_flags = SA_ONSTACK};
    SAY("%d %d", sigaltstack(&other, NULL), sigaction(SIGUSR1, &act, NULL));
    raise(SIGUSR1);
    other.ss_flags = SS_DISABLE;
    sigaltstack(&other, NULL);
}

/* feature: deep_recursion */
static int deep(int n) {
    volatile char frame[64];
    frame[n & 63] = n;
    return n ? deep(n - 1) + 1 + frame[n & 63] * 0 : 0;
}
static void deep_recursion(void) { SAY("%d", deep(40000)); }

/* feature: a_large_array_on_the_stack */
static void a_large_array_on_the_stack(void) {
    volatile char large[6 << 20];
    large[0] = large[sizeof large - 1] = 1;
    SAY("%d", large[0] + large[sizeof large - 1]);
}

/* feature: a_large_static_array */
static int table[50 << 20];
static void a_large_static_array(void) {
    for (int i = 0; i < 1000; i++) table[i * 1000] = i;
    SAY("%d", table[999000]);
}

/* feature: threads */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static long total;
static int turn;
static _Thread_local int own;
static void *adding(void *of) {
    pthread_barrier_wait(&barrier);
    own = (int)(intptr_t)of;
    for (int i = 0; i < 10000; i++) {
        pthread_mutex_lock(&mutex);
        total += own;
        pthread_mutex_unlock(&mutex);
    }
    pthread_mutex_lock(&mutex);
    while (turn != own - 1) pthread_cond_wait(&ready, &mutex);
    printf("%d ", own);
    turn++;
    pthread_cond_broadcast(&ready);
    pthread_mutex_unlock(&mutex);
    return of;
}
static void threads(void) {
    pthread_t all[4];
    pthread_barrier_init(&barrier, NULL, 4);
    for (intptr_t i = 0; i < 4; i++)
        if (pthread_create(all + i, NULL, adding, (void *)(i + 1))) SAY("no thread");
    for (int i = 0; i < 4; i++) pthread_join(all[i], NULL);
    SAY("%ld", total);
}

/* feature: many_threads */
static void *counting(void *of) {
    atomic_fetch_add((atomic_int *)of, 1);
    return NULL;
}
static void many_threads(void) {
    pthread_t all[40];
    atomic_int count = 0;
    for (int i = 0; i < 40; i++)
        if (pthread_create(all + i, NULL, counting, &count)) SAY("no thread %d", i);
    for (int i = 0; i < 40; i++) pthread_join(all[i], NULL);
    SAY("%d", count);
}

/* feature: a_thread_with_a_large_stack */
static void *deeply(void *of) { return (void *)(intptr_t)deep((int)(intptr_t)of); }
static void a_thread_with_a_large_stack(void) {
    pthread_t one;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 20);
    void *got = NULL;
    if (pthread_create(&one, &attributes, deeply, (void *)800000)) SAY("no thread");
    else pthread_join(one, &got);
    SAY("%d", (int)(intptr_t)got);
}

/* feature: standard_threads */
static int standing(void *of) { return *(int *)of + 1; }
static void standard_threads(void) {
    thrd_t one;
    int given = 41, got = 0;
    thrd_create(&one, standing, &given);
    thrd_join(one, &got);
    mtx_t lock;
    mtx_init(&lock, mtx_plain);
    mtx_lock(&lock);
    mtx_unlock(&lock);
    SAY("%d", got);
}

/* feature: semaphores_and_locks */
static void semaphores_and_locks(void) {
    sem_t semaphore;
    sem_init(&semaphore, 0, 1);
    struct timespec past = {1, 0};
    printf("%d ", sem_wait(&semaphore));
    printf("%d ", sem_timedwait(&semaphore, &past));
    SAY("%d", errno == ETIMEDOUT);
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    printf("%d ", pthread_rwlock_rdlock(&lock));
    SAY("%d", pthread_rwlock_trywrlock(&lock) == EBUSY);
    pthread_spinlock_t spin;
    SAY("%d", pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) | pthread_spin_lock(&spin));
}

/* feature: forks, differs at every level: starts processes */
static void forks(void) {
    fflush(stdout);
    int status = -1;
    pid_t child = fork();
    if (child == 0) _exit(3);
    waitpid(child, &status, 0);
    SAY("%d", WEXITSTATUS(status));
}

/* feature: runs_commands, differs at every level: starts processes */
static void runs_commands(void) {
    fflush(stdout);
    SAY("%d", system("exit 3") >> 8);
    FILE *pipe = popen("echo said", "r");
    char text[20] = "";
    if (pipe && fgets(text, sizeof text, pipe)) printf("%s", text);
}

/* feature: opens_sockets, differs at every level: opens sockets */
static void opens_sockets(void) { SAY("%d", socket(AF_INET, SOCK_STREAM, 0) >= 0); }

/* feature: pipes */
static void pipes(void) {
    int ends[2], pair[2];
    char text[10] = "";
    if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return;
    dprintf(ends[1], "through");
    struct pollfd wanted = {ends[0], POLLIN, 0};
    printf("%d ", poll(&wanted, 1, 1000));
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    printf("%d ", select(ends[0] + 1, &set, NULL, NULL, NULL));
    printf("%zd ", read(ends[0], text, 9));
    printf("%s %zd ", text, send(pair[0], "x", 1, 0));
    SAY("%zd", recv(pair[1], text, 9, 0));
    for (int i = 0; i < 2; i++) close(ends[i]), close(pair[i]);
}

/* feature: temporary_files_in_tmp, differs at guard: writes to a fixed path in /tmp */
static void temporary_files_in_tmp(void) {
    FILE *file = tmpfile();
    char name[] = "/tmp/agreement-XXXXXX", text[10] = "";
    int fd = mkstemp(name);
    if (!file || fd < 0) {
        SAY("none");
        return;
    }
    fputs("kept", file);
    rewind(file);
    SAY("%s", fgets(text, sizeof text, file));
    fclose(file);
    close(fd);
    unlink(name);
}

/* feature: temporary_files */
static void temporary_files(void) {
    char path[PATH_MAX], *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/own-XXXXXX", folder ? folder : ".");
    int fd = mkstemp(path);
    printf("%d %zd ", fd >= 0, write(fd, "x", 1));
    SAY("%d", unlink(path));
    close(fd);
    strcpy(path, "dir-XXXXXX");
    printf("%d ", mkdtemp(path) != NULL);
    SAY("%d", rmdir(path));
}

/* feature: files */
static int visited(const char *path, const struct stat *found, int kind, struct FTW *at) {
    (void)found, (void)at;
    printf("%s%s ", kind == FTW_D || kind == FTW_DP ? "/" : "", path);
    return 0;
}
static void files(void) {
    FILE *file = fopen("a.txt", "w+");
    fprintf(file, "%d %s\n", 42, "text");
    rewind(file);
    int x;
    char word[10];
    if (fscanf(file, "%d %9s", &x, word) == 2) SAY("%d %s %ld", x, word, ftell(file));
    fseek(file, 0, SEEK_END);
    SAY("%ld %d", ftell(file), ftruncate(fileno(file), 3));
    fclose(file);
    struct stat found;
    stat("a.txt", &found);
    printf("%lld %d ", (long long)found.st_size, mkdir("d", 0755));
    SAY("%d", rename("a.txt", "d/b.txt"));
    printf("%d %d ", symlink("d/b.txt", "l"), link("d/b.txt", "h"));
    SAY("%d", access("l", R_OK));
    nftw("d", visited, 10, FTW_DEPTH | FTW_PHYS);
    glob_t names;
    printf("%d ", glob("d/*", 0, NULL, &names));
    SAY("%zu", names.gl_pathc);
    DIR *folder = opendir("d");
    for (struct dirent *each; (each = readdir(folder));) if (each->d_name[0] != '.') puts(each->d_name);
    closedir(folder);
    printf("%d %d %d ", unlink("l"), unlink("h"), remove("d/b.txt"));
    printf("%d ", rmdir("d"));
    SAY("%d", rmdir("d"));
    SAY("%s", fopen("not there", "r") ? "there" : strerror(errno));
    SAY("%d", close(creat("created", 0600)));
}

/* feature: modes_and_locks_of_files */
static void modes_and_locks_of_files(void) {
    int fd = open("m", O_CREAT | O_RDWR, 0600);
    struct flock whole = {.l_type = F_WRLCK};
    SAY("%d %d %d", chmod("m", 0600), fchmod(fd, 0600), utimensat(AT_FDCWD, "m", NULL, 0));
    SAY("%d %d %d %d", flock(fd, LOCK_EX), fcntl(fd, F_SETLK, &whole), fsync(fd), posix_fallocate(fd, 0, 100));
    close(fd);
}

/* feature: modes_are_kept, differs at every level: changes the mode, owner or times of files */
static void modes_are_kept(void) {
    struct stat found;
    close(open("k", O_CREAT | O_RDWR, 0600));
    chmod("k", 0751);
    stat("k", &found);
    SAY("%o", found.st_mode & 0777);
}

/* feature: maps_memory */
static void maps_memory(void) {
    char *own = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *shared = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int fd = open("mapped", O_CREAT | O_RDWR, 0600);
    if (ftruncate(fd, 4096)) return;
    char *file = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    strcpy(file, "in the file");
    own[5] = shared[5] = 'x';
    char text[20] = "";
    printf("%d %zd ", msync(file, 4096, MS_SYNC), pread(fd, text, 11, 0));
    puts(text);
    SAY("%d %d", mprotect(own, 4096, PROT_READ), munmap(own, 1 << 20));
    close(fd);
}

/* feature: memory */
static void memory(void) {
    char **all = malloc(100 * sizeof *all);
    for (int i = 0; i < 100; i++) memset(all[i] = malloc(1 << 20), i, 1 << 20);
    all[0] = realloc(all[0], 5 << 20);
    int sum = 0;
    for (int i = 0; i < 100; i++) sum += all[i][7], free(all[i]);
    free(all);
    void *aligned = NULL;
    volatile size_t huge = (size_t)1 << 60;
    printf("%d ", sum);
    SAY("%d %d", posix_memalign(&aligned, 64, 100), malloc(huge) == NULL);
    free(aligned);
    int *zeroed = calloc(1000, sizeof *zeroed), *small = alloca(40);
    small[0] = zeroed[999];
    SAY("%d", small[0]);
    free(zeroed);
}

/* feature: environment */
static void environment(void) {
    setenv("SET", "here", 1);
    SAY("%s %d", getenv("SET"), getenv("NOT_SET") == NULL);
    unsetenv("SET");
    putenv("PUT=there");
    SAY("%d %s %d", getenv("SET") == NULL, getenv("PUT"), getenv("PATH") != NULL && getenv("HOME") != NULL);
}

/* feature: the_user, differs at every level: looks up its user name */
static void the_user(void) { SAY("%d", getpwuid(getuid()) != NULL); }

/* feature: reads_proc, differs at every level: reads /proc */
static void reads_proc(void) { SAY("%d", open("/proc/self/status", O_RDONLY) >= 0); }

/* feature: random_devices */
static void random_devices(void) {
    char bytes[16];
    int fd = open("/dev/urandom", O_RDONLY), null = open("/dev/null", O_WRONLY);
    SAY("%zd %zd", read(fd, bytes, 16), write(null, bytes, 16));
    SAY("%d", getentropy(bytes, 16));
    srand(42);
    int one = rand();
    srand(42);
    srandom(7);
    srand48(7);
    SAY("%d %ld %.6f", one == rand(), random(), drand48());
}

/* feature: locales */
static void locales(void) {
    SAY("%s", setlocale(LC_ALL, "C"));
    SAY("%s", setlocale(LC_ALL, ""));
    SAY("%s", setlocale(LC_ALL, "C.UTF-8"));
    SAY("%zu %d %s", mbstowcs(NULL, "wörld", 0), iswalpha(L'ö') != 0, localeconv()->decimal_point);
    SAY("%d %s", setlocale(LC_ALL, "xx_YY") == NULL, "wörld");
    char out[20] = "", in[] = "w\xf6rld", *from = in, *to = out;
    size_t left = 5, room = 19;
    iconv_t table = iconv_open("UTF-8", "ISO-8859-1");
    if (table != (iconv_t)-1) iconv(table, &from, &left, &to, &room);
    SAY("%s", out);
    setlocale(LC_ALL, "C");
}

/* feature: wide_characters, alone */
static void wide_characters(void) {
    setlocale(LC_ALL, "C.UTF-8");
    wint_t c;
    int count = 0;
    while ((c = getwchar()) != WEOF) count += c > 127;
    fprintf(stderr, "stderr");
    SAY("%d", count);
}

/* feature: time_of_day */
static void time_of_day(void) {
    struct timespec before, after, pause = {0, 10000000};
    clock_gettime(CLOCK_MONOTONIC, &before);
    nanosleep(&pause, NULL);
    usleep(1000);
    clock_gettime(CLOCK_MONOTONIC, &after);
    SAY("%d %d", after.tv_sec > before.tv_sec || after.tv_nsec - before.tv_nsec >= 10000000, clock() >= 0);
    time_t zero = 0, then = 86400 * 366;
    struct tm parts = *gmtime(&then);
    char text[50];
    strftime(text, sizeof text, "%Y-%m-%d %A %j", &parts);
    SAY("%s %d %s %s", text, mktime(&parts) == then, localtime(&zero)->tm_zone, tzname[0]);
    struct timeval now;
    struct rusage used;
    SAY("%d %d %d", gettimeofday(&now, NULL), time(NULL) > 1600000000, getrusage(RUSAGE_SELF, &used));
    printf("%s", asctime(gmtime(&zero)));
}

/* feature: limits */
static void limits(void) {
    struct rlimit found;
    getrlimit(RLIMIT_STACK, &found);
    SAY("%d", found.rlim_cur >= 8 << 20);
    SAY("%d %d", setrlimit(RLIMIT_STACK, &found), setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}));
}

/* feature: raises_its_stack */
static void raises_its_stack(void) {
    struct rlimit found;
    getrlimit(RLIMIT_STACK, &found);
    found.rlim_cur = 64 << 20;
    SAY("%d", setrlimit(RLIMIT_STACK, &found));
}

/* feature: the_machine */
static void the_machine(void) {
    struct utsname about;
    SAY("%d %s", uname(&about), about.sysname);
    SAY("%d %ld %d", sysconf(_SC_NPROCESSORS_ONLN) > 0, sysconf(_SC_PAGESIZE), getpid() > 0);
    char path[PATH_MAX];
    SAY("%d %d", getcwd(path, sizeof path) != NULL, realpath(".", path) != NULL);
}

/* feature: numbers */
static void numbers(void) {
    SAY("%.10f %.10f %.4f %g %g", sqrt(2), sin(1), pow(2, 0.5), INFINITY, -NAN);
    SAY("%.3Lf %.2f %.2f", (long double)1 / 3, creal(csqrt(-1)), cimag(csqrt(-1)));
    __int128 big = (__int128)1 << 100;
    SAY("%llu %" PRId64 " %d", (unsigned long long)(big >> 64), INT64_MAX, INT_MIN);
    char *end = NULL;
    long twelve = strtol("12x", &end, 10);
    SAY("%ld %f %llx %c", twelve, strtod("1e3", NULL), strtoull("ff", NULL, 16), *end);
    SAY("%d %d %d", __builtin_popcount(255), __builtin_clz(1), (int)lround(2.5));
    SAY("%.17g %a", 0.1, 0.1);
}

/* feature: strings */
static int ascending(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int joined(char *to, const char *form, ...) {
    va_list all;
    va_start(all, form);
    int n = vsprintf(to, form, all);
    va_end(all);
    return n;
}
static void strings(void) {
    char text[] = "a,b,,c", out[50], *rest = text;
    for (char *part; (part = strsep(&rest, ","));) printf("[%s]", part);
    printf("%d ", joined(out, "%d-%s", 1, "x"));
    puts(out);
    int values[] = {3, 1, 2}, wanted = 2;
    qsort(values, 3, sizeof *values, ascending);
    SAY("%d %td", values[0], (int *)bsearch(&wanted, values, 3, sizeof *values, ascending) - values);
    regex_t form;
    regmatch_t at[1];
    regcomp(&form, "[0-9]+", REG_EXTENDED);
    printf("%d ", regexec(&form, "ab12", 1, at, 0));
    SAY("%d", (int)at[0].rm_so);
    regfree(&form);
    char *made = NULL;
    size_t size;
    FILE *memory = open_memstream(&made, &size);
    fprintf(memory, "in memory %d", 1);
    fclose(memory);
    SAY("%s %zu %s %s", made, size, strdup("x"), strstr("hay needle", "nee"));
    FILE *held = fmemopen(made, size, "r");
    SAY("%d", fscanf(held, "in memory %d", values));
}

/* feature: nested_functions_and_vectors */
typedef int four __attribute__((vector_size(16)));
static void nested_functions_and_vectors(void) {
    int base = 10;
    int add(int x) { return x + base; }
    int (*volatile called)(int) = add;
    four a = {1, 2, 3, 4}, b = a * a;
    SAY("%d %d %d", called(5), b[3], ({ int y = 3; y * 2; }));
}

/* feature: getopt_and_arguments */
extern char *program_invocation_short_name;
static void getopt_and_arguments(void) { SAY("%d", program_invocation_short_name[0] != 0); }

#define F(name) {#name, name}
static const struct { const char *name; void (*play)(void); } FEATURES[] = {
    F(prints_by_every_way), F(prints_much), F(prints_with_its_own_buffer), F(prints_unbuffered), F(output_that_is_lost),
    F(reads_by_scanf), F(reads_lines), F(reads_characters), F(reads_unlocked), F(reads_blocks), F(reads_by_descriptor),
    F(maps_its_input), F(reopens_its_input), F(reopens_its_output), F(opens_dev_stdin), F(returns_a_status),
    F(hooks_at_the_end), F(aborts), F(asserts), F(divides_by_zero), F(reads_nowhere), F(overflows_its_stack),
    F(raises_a_signal), F(catches_signals), F(recovers_from_a_fault), F(an_alternate_stack), F(deep_recursion),
    F(a_large_array_on_the_stack), F(a_large_static_array), F(threads), F(many_threads), F(a_thread_with_a_large_stack),
    F(standard_threads), F(semaphores_and_locks), F(forks), F(runs_commands), F(opens_sockets), F(pipes),
    F(temporary_files_in_tmp), F(temporary_files), F(files), F(modes_and_locks_of_files), F(modes_are_kept),
    F(maps_memory), F(memory), F(environment), F(the_user), F(reads_proc), F(random_devices), F(locales),
    F(wide_characters), F(time_of_day), F(limits), F(raises_its_stack), F(the_machine), F(numbers), F(strings),
    F(nested_functions_and_vectors), F(getopt_and_arguments),
};

int main(void) {
    char line[8192];
    int n = 0;
    while (n < 8191 && read(0, line + n, 1) == 1 && line[n] != '\n') n++;
    line[n] = 0;
    int alone = strchr(line, ' ') == NULL;
    for (char *name = strtok(line, " "), *rest; name; name = strtok(rest, " ")) {
        rest = name + strlen(name) + 1 < line + n ? name + strlen(name) + 1 : NULL;
        if (!alone) {
            printf("== %s\n", name);
            fflush(stdout);
        }
        for (size_t i = 0; i < sizeof FEATURES / sizeof *FEATURES; i++)
            if (!strcmp(name, FEATURES[i].name)) FEATURES[i].play();
        if (!rest) break;
    }
    return 0;
}
