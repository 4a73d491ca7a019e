// What C++17 programs use: the first line of stdin names the features to play, the rest is their input.

#include <bits/stdc++.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
using namespace std;

static map<string, function<void()>> features;
struct Feature {
    Feature(const char *name, function<void()> play) { features[name] = play; }
};
#define FEATURE(name) \
    static void name(); \
    static Feature name##_(#name, name); \
    static void name()

// feature: prints
FEATURE(prints) {
    cout << "text " << 1 << ' ' << 2.5 << ' ' << true << boolalpha << true << hex << 255 << dec << setw(5) << setfill('0') << 42 << endl;
    cout << fixed << setprecision(3) << 3.14159 << scientific << 12345.678 << defaultfloat << setprecision(6) << 1e20 << "\n";
    printf("mixed %d\n", 1);
    cout << "unflushed" << '\n' << flush << string(3, 'x') << '\n';
    cerr << "to stderr";
    puts("puts");
    cout << (void *)nullptr << quoted("q") << put_time(gmtime(new time_t(0)), "%Y") << '\n';
}
// feature: prints_much
FEATURE(prints_much) { for (int i = 0; i < 100000; i++) cout << i << '\n'; }
// feature: prints_fast, alone
FEATURE(prints_fast) {
    ios::sync_with_stdio(false);
    cin.tie(nullptr);
    int a, b;
    cin >> a >> b;
    cout << a + b << "\nfast";
}
// feature: reads, alone
FEATURE(reads) {
    int a, b;
    string word, line;
    cin >> a >> b >> word;
    getline(cin, line);
    cout << a * b << word << line << '\n';
    double d;
    vector<int> all(3);
    for (int &each : all) cin >> each;
    cin >> d >> ws;
    while (getline(cin, line)) cout << '[' << line << "]\n";
    cout << all[2] << d << cin.eof() << cin.fail() << '\n';
}
// feature: reads_whole, alone
FEATURE(reads_whole) {
    string text((istreambuf_iterator<char>(cin)), istreambuf_iterator<char>());
    stringstream words(text);
    cout << text.size() << distance(istream_iterator<string>(words), {}) << '\n';
}
// feature: throws, alone
FEATURE(throws) {
    cout << "before" << endl;
    throw runtime_error("no");
}
// feature: exits, alone
FEATURE(exits) {
    static struct Late { ~Late() { cout << "destroyed\n"; } } late;
    atexit([] { cout << "atexit\n"; });
    exit(9);
}
// feature: quick_exits, alone
FEATURE(quick_exits) { at_quick_exit([] { puts("quick"), fflush(stdout); }), quick_exit(4); }
// feature: terminates, alone
FEATURE(terminates) { set_terminate([] { puts("terminate"); fflush(stdout); _Exit(6); }), [&]() noexcept { throw 1; }(); }
// feature: asserts, alone
FEATURE(asserts) { assert(1 > 2); }
// feature: exceptions
FEATURE(exceptions) {
    try { vector<int>().at(3); } catch (const out_of_range &e) { cout << "out of range\n"; }
    try { stoi("x"); } catch (const invalid_argument &e) { cout << e.what() << '\n'; }
    try { throw_with_nested(logic_error("outer")); } catch (const exception &e) { cout << e.what() << '\n'; }
    try { vector<char> much(1ULL << 60); } catch (const bad_alloc &) { cout << "bad_alloc\n"; } catch (const length_error &) { cout << "length\n"; }
    auto held = make_exception_ptr(42);
    try { rethrow_exception(held); } catch (int n) { cout << n << '\n'; }
}
// feature: threads
FEATURE(threads) {
    mutex lock;
    condition_variable ready;
    atomic<long> total{0};
    int turn = 0;
    vector<thread> all;
    for (int i = 0; i < 8; i++) all.emplace_back([&, i] {
        thread_local int own = i;
        for (int k = 0; k < 1000; k++) total += own;
        unique_lock<mutex> held(lock);
        ready.wait(held, [&] { return turn == i; });
        cout << i << ' ';
        turn++;
        ready.notify_all();
    });
    for (auto &each : all) each.join();
    cout << total << (thread::hardware_concurrency() > 0) << '\n';
    shared_mutex shared;
    shared_lock<shared_mutex> reading(shared);
    once_flag once;
    call_once(once, [] { cout << "once\n"; });
    recursive_timed_mutex timed;
    cout << timed.try_lock_for(1ms) << '\n';
}
// feature: futures
FEATURE(futures) {
    auto one = async(launch::async, [] { return 40; });
    promise<int> given;
    auto other = given.get_future();
    thread([&] { given.set_value(2); }).detach();
    cout << one.get() + other.get() << '\n';
    packaged_task<int(int)> task([](int n) { return n * n; });
    auto got = task.get_future();
    thread(move(task), 7).join();
    cout << got.get() << '\n';
    try { async([]() -> int { throw runtime_error("carried"); }).get(); } catch (const exception &e) { cout << e.what() << '\n'; }
}
// feature: many_threads
FEATURE(many_threads) {
    vector<future<int>> all;
    for (int i = 0; i < 40; i++) all.push_back(async(launch::async, [i] { return i; }));
    int sum = 0;
    for (auto &each : all) sum += each.get();
    cout << sum << '\n';
}
// feature: recursion
FEATURE(recursion) {
    function<int(int)> down = [&](int n) { return n ? down(n - 1) + 1 : 0; };
    cout << down(50000) << '\n';
}
// feature: containers
FEATURE(containers) {
    map<string, int> sorted{{"b", 2}, {"a", 1}};
    unordered_map<int, int> hashed;
    hashed.reserve(1 << 20);
    for (int i = 0; i < 100000; i++) hashed[i * 7919]++;
    priority_queue<int, vector<int>, greater<int>> queue;
    for (int n : {3, 1, 2}) queue.push(n);
    deque<int> ends{1, 2};
    ends.push_front(0);
    bitset<8> bits(5);
    multiset<int> many{1, 1, 2};
    list<int> linked{3, 1, 2};
    linked.sort();
    cout << sorted.begin()->first << hashed.size() << queue.top() << ends.front() << bits << many.count(1) << linked.front() << '\n';
    vector<vector<long long>> grid(1000, vector<long long>(1000, 1));
    cout << accumulate(grid[5].begin(), grid[5].end(), 0LL) << '\n';
}
// feature: algorithms
FEATURE(algorithms) {
    vector<int> all(10);
    iota(all.begin(), all.end(), 1);
    reverse(all.begin(), all.end());
    nth_element(all.begin(), all.begin() + 3, all.end());
    sort(all.begin(), all.end(), [](int a, int b) { return a % 3 < b % 3 || (a % 3 == b % 3 && a < b); });
    for (int n : all) cout << n << ' ';
    do {} while (next_permutation(all.begin(), all.begin() + 3));
    cout << *max_element(all.begin(), all.end()) << binary_search(all.begin(), all.end(), 11) << gcd(12, 18) << lcm(4, 6) << clamp(5, 1, 3) << '\n';
    cout << inner_product(all.begin(), all.end(), all.begin(), 0) << __gcd(8, 12) << __builtin_popcountll(255) << '\n';
}
// feature: newer_language
FEATURE(newer_language) {
    auto [a, b] = pair{1, "x"s};
    optional<int> maybe;
    variant<int, string> either = "text"s;
    any held = 2.5;
    string_view view = "a view";
    if (auto found = view.find('v'); found != string_view::npos) cout << found;
    cout << a << b << maybe.value_or(7) << get<string>(either) << any_cast<double>(held) << view.substr(2) << '\n';
    visit([](auto &&value) { cout << value << '\n'; }, either);
    auto sum = [](auto... all) { return (all + ...); };
    cout << sum(1, 2, 3) << apply(plus<>{}, tuple{1, 2}) << '\n';
}
// feature: texts
FEATURE(texts) {
    cout << to_string(3.5) << stod("1e3") << stoll("123456789012") << "wörld" << "日本" << '\n';
    cout << regex_replace("a1b2", regex("(\\w)(\\d)"), "$2$1") << '\n';
    ostringstream out;
    out << 1 << "x" << setw(4) << 7;
    cout << out.str() << string("abc").substr(1, 1) << string("b") + 'c' << '\n';
    char text[20];
    auto end = to_chars(text, text + 20, 42).ptr;
    cout << string(text, end) << '\n';
    istringstream parts("1,2,3");
    for (string part; getline(parts, part, ',');) cout << part << ';';
    cout << '\n' << R"(raw \n)" << '\n';
}
// feature: locales
FEATURE(locales) {
    cout << locale().name() << locale::classic().name() << locale("C").name() << '\n';
    try { locale::global(locale("xx_YY")); } catch (const runtime_error &) { cout << "none\n"; }
    try { locale("C.UTF-8"); cout << "utf-8\n"; } catch (const runtime_error &) { cout << "none\n"; }
}
// feature: files
FEATURE(files) {
    namespace fs = filesystem;
    ofstream("a.txt") << "1 2\nline\n";
    ifstream in("a.txt");
    int x, y;
    in >> x >> y;
    fstream both("a.txt", ios::in | ios::out | ios::app);
    both << "more";
    both.close();
    cout << x + y << fs::file_size("a.txt") << fs::exists("none") << ifstream("none").is_open() << '\n';
    fs::create_directories("d/e");
    ofstream("d/b.txt") << "b";
    fs::rename("d/b.txt", "d/e/c.txt");
    fs::create_symlink("d", "l");
    set<string> names;
    for (auto &each : fs::recursive_directory_iterator("d")) names.insert(each.path().string());
    for (auto &name : names) cout << name << ' ';
    fs::last_write_time("a.txt", fs::file_time_type::clock::now());
    fs::permissions("a.txt", fs::perms::owner_all);
    cout << fs::is_symlink("l") << fs::remove("l") << fs::current_path().is_absolute() << fs::is_directory(fs::temp_directory_path()) << '\n';
    freopen("a.txt", "r", stdin);
}
// feature: copies_files, differs at every level: changes the mode, owner or times of files
FEATURE(copies_files) {
    ofstream("from") << "text";
    filesystem::copy_file("from", "to");
    cout << ifstream("to").is_open() << '\n';
}
// feature: resizes_files, differs at every level: truncates a file by its path
FEATURE(resizes_files) {
    ofstream("long") << "long";
    filesystem::resize_file("long", 2);
    cout << filesystem::file_size("long") << '\n';
}
// feature: temporary_files, differs at guard: writes to a fixed path in /tmp
FEATURE(temporary_files) {
    FILE *file = tmpfile();
    cout << (file && fputs("x", file) >= 0) << '\n';
}
// feature: times
FEATURE(times) {
    auto before = chrono::steady_clock::now();
    this_thread::sleep_for(5ms);
    cout << (chrono::steady_clock::now() - before >= 5ms) << (chrono::high_resolution_clock::now().time_since_epoch().count() > 0) << (time(nullptr) > 1600000000) << (clock() >= 0) << '\n';
    cout << chrono::duration_cast<chrono::seconds>(2min).count() << '\n';
}
// feature: randomness
FEATURE(randomness) {
    mt19937 one(42);
    mt19937_64 other(42);
    cout << one() << ' ' << other() << ' ' << uniform_int_distribution<>(1, 100)(one) << ' ' << normal_distribution<>()(one) << '\n';
    random_device seed;
    cout << (seed() >= 0) << (mt19937(chrono::steady_clock::now().time_since_epoch().count())() > 0) << '\n';
    vector<int> all{1, 2, 3, 4, 5};
    shuffle(all.begin(), all.end(), mt19937(1));
    srand(1);
    cout << all[0] << rand() << '\n';
}
// feature: numbers
FEATURE(numbers) {
    __int128 big = 1;
    for (int i = 0; i < 30; i++) big *= 10;
    cout << (long long)(big % 1000000007) << ' ' << numeric_limits<double>::max() << ' ' << 1.0L / 3 << ' ' << sqrt(2) << ' ' << complex<double>(1, 2) * complex<double>(0, 1) << '\n';
    cout << tgamma(5) << ' ' << hypot(3, 4) << ' ' << beta(1, 2) << ' ' << 1e308 * 10 << ' ' << 0.1 + 0.2 << ' ' << -7 / 2 << -7 % 3 << '\n';
}
// feature: memory
FEATURE(memory) {
    auto shared = make_shared<vector<int>>(10000000, 1);
    weak_ptr<vector<int>> weak = shared;
    cout << shared.use_count() << accumulate(shared->begin(), shared->end(), 0) << '\n';
    shared.reset();
    cout << weak.expired() << '\n';
    unique_ptr<int[]> own(new int[50 << 20]());
    cout << own[49 << 20] << (new (nothrow) char[1LL << 60] == nullptr) << '\n';
}
// feature: polymorphism
FEATURE(polymorphism) {
    struct Base { virtual ~Base() = default; virtual string name() const { return "base"; } };
    struct Derived : Base { string name() const override { return "derived"; } };
    unique_ptr<Base> one = make_unique<Derived>();
    cout << one->name() << (dynamic_cast<Derived *>(one.get()) != nullptr) << (typeid(*one) == typeid(Derived)) << '\n';
}
// feature: policy_trees
#include <ext/pb_ds/assoc_container.hpp>
FEATURE(policy_trees) {
    __gnu_pbds::tree<int, __gnu_pbds::null_type, less<int>, __gnu_pbds::rb_tree_tag, __gnu_pbds::tree_order_statistics_node_update> all;
    for (int i = 0; i < 10; i++) all.insert(i * i);
    cout << *all.find_by_order(3) << all.order_of_key(20) << '\n';
}
// feature: sums_its_input, alone
FEATURE(sums_its_input) { double sum = 0; for (double x; cin >> x;) sum += x; cout << sum << cin.fail(); cin.clear(); string rest; cin >> rest; cout << rest << '\n'; }
// feature: reads_by_scanf, alone
FEATURE(reads_by_scanf) { int a; char word[20], line[50]; cout << scanf("%d %*d %19s%49[^\n]", &a, word, line) << a << word << line << getchar() << '\n'; }
// feature: reads_by_fread, alone
FEATURE(reads_by_fread) { static char held[1 << 16]; size_t n = fread(held, 1, sizeof held, stdin); cout << n << count(held, held + n, '\n') << '\n'; }
// feature: reads_characters, alone
FEATURE(reads_characters) { char c; int n = 0; while (cin.get(c)) n += isdigit((unsigned char)c) != 0; cout << n << cin.eof() << (cin.peek() == EOF) << '\n'; }
// feature: divides_by_zero, alone
FEATURE(divides_by_zero) { volatile int zero = 0; cout << "before" << endl; cout << 1 / zero; }
// feature: reads_nowhere, alone
FEATURE(reads_nowhere) { volatile int *volatile nowhere = nullptr; cout << *nowhere; }
// feature: frees_twice, alone
FEATURE(frees_twice) { void *volatile held = malloc(100); free(held); free(held); }
// feature: throws_in_a_thread, alone
FEATURE(throws_in_a_thread) { thread([] { throw runtime_error("in a thread"); }).join(); }
// feature: joins_no_thread, alone
FEATURE(joins_no_thread) { thread left([] { this_thread::sleep_for(1h); }); }
// feature: processes, differs at every level: starts processes
FEATURE(processes) { cout << system("exit 3") << '\n'; }
// feature: the_environment
FEATURE(the_environment) { setenv("OWN", "here", 1); cout << getenv("OWN") << (getenv("NOT_SET") == nullptr) << (getenv("PATH") != nullptr) << (getenv("HOME") != nullptr) << '\n'; }
// feature: the_signals
static volatile sig_atomic_t signals_seen;
FEATURE(the_signals) { signal(SIGUSR1, [](int) { signals_seen = signals_seen + 1; }); raise(SIGUSR1); kill(getpid(), SIGUSR1); alarm(0); cout << signals_seen << '\n'; }
// feature: the_pipes
FEATURE(the_pipes) {
    int ends[2];
    if (pipe(ends)) return;
    thread writer([&] { for (int i = 0; i < 100000; i++) if (write(ends[1], &i, sizeof i) < 0) break; close(ends[1]); });
    long sum = 0;
    for (int n; read(ends[0], &n, sizeof n) == sizeof n;) sum += n;
    writer.join();
    cout << sum << '\n';
}
// feature: big_stacks
FEATURE(big_stacks) {
    pthread_attr_t wanted;
    pthread_attr_init(&wanted);
    pthread_attr_setstacksize(&wanted, 256 << 20);
    pthread_t one;
    pthread_create(&one, &wanted, [](void *) -> void * { volatile char held[200 << 20]; held[5] = 7; cout << int(held[5]) << '\n'; return nullptr; }, nullptr);
    pthread_join(one, nullptr);
}
// feature: big_integers
FEATURE(big_integers) {
    vector<uint32_t> digits{1};
    for (int n = 2; n <= 200; n++) {
        uint64_t carry = 0;
        for (auto &digit : digits) carry += (uint64_t)digit * n, digit = carry % 1000000000, carry /= 1000000000;
        if (carry) digits.push_back(carry);
    }
    for (size_t i = digits.size(); i--;) cout << setw(9) << setfill('0') << digits[i];
    cout << '\n';
}
// feature: stable_sorting
FEATURE(stable_sorting) {
    vector<pair<int, int>> all;
    for (int i = 0; i < 1000; i++) all.push_back({i * 37 % 10, i});
    stable_sort(all.begin(), all.end(), [](auto &a, auto &b) { return a.first < b.first; });
    partial_sort(all.begin() + 500, all.begin() + 510, all.end());
    rotate(all.begin(), all.begin() + 3, all.end());
    for (auto each = all.begin(); each < all.begin() + 5; ++each) cout << each->first << ':' << each->second << ' ';
    cout << is_sorted(all.begin(), all.begin() + 400) << equal_range(all.begin(), all.begin() + 400, pair{1, 0}).first->second << '\n';
}
// feature: wide_texts
FEATURE(wide_texts) { wstring wide = L"wörld 日本"; u16string other = u"😀"; cout << wide.size() << other.size() << wstring_convert<codecvt_utf8<wchar_t>>().to_bytes(wide) << (int)towupper(L'a') << '\n'; }
// feature: formats
FEATURE(formats) { cout << left << setw(6) << "ab" << '|' << right << setw(6) << 1.5 << '|' << internal << showpos << setw(6) << setfill('*') << -42 << 7 << noshowpos << showbase << hex << uppercase << 255 << oct << 8 << dec << noshowbase << nouppercase << hexfloat << 1.5 << defaultfloat << left << '\n'; printf("%+.3e|%-8.3s|%*d|%#o|%Lf|%zu|%%\n", 12345.678, "abcdef", 5, 42, 8, 1.5L, sizeof(int)); }
// feature: dates
FEATURE(dates) { tm day{}; day.tm_year = 124, day.tm_mon = 1, day.tm_mday = 30; time_t when = mktime(&day); char text[50]; strftime(text, 50, "%Y-%m-%d %a %j %Z", localtime(&when)); cout << text << ' ' << day.tm_mon << difftime(when, when - 60) << '\n'; }
// feature: jumps
FEATURE(jumps) { static jmp_buf back; static volatile int seen = 0; if (setjmp(back) < 3) { seen = seen + 1; longjmp(back, seen); } cout << seen << '\n'; }
// feature: intrinsics
__attribute__((target("sse4.2"))) static int counts(unsigned long long n) { return __builtin_popcountll(n); }
FEATURE(intrinsics) { cout << counts(255) << __builtin_ctz(8) << __builtin_clzll(1) << __builtin_parity(7) << __builtin_expect(1, 1); int sum; cout << __builtin_add_overflow(INT_MAX, 1, &sum) << sum << (__builtin_cpu_supports("sse2") != 0) << '\n'; }
// feature: memory_resources
FEATURE(memory_resources) { char room[4096]; pmr::monotonic_buffer_resource held(room, sizeof room); pmr::vector<pmr::string> all(&held); all.emplace_back(50, 'x'); alignas(64) char aligned[64]; cout << all[0].size() << (uintptr_t)aligned % 64 << '\n'; }
// feature: callables
FEATURE(callables) { struct Adder { int n; int add(int m) const { return n + m; } }; function<int(int)> bound = bind(&Adder::add, Adder{40}, placeholders::_1); cout << bound(2) << invoke(&Adder::n, Adder{7}) << mem_fn(&Adder::add)(Adder{1}, 2) << not_fn(logical_not<>())(true) << '\n'; auto memo = [cache = map<int, long>()](auto &self, int n) mutable -> long { return n < 2 ? n : cache.count(n) ? cache[n] : cache[n] = self(self, n - 1) + self(self, n - 2); }; cout << memo(memo, 80) << '\n'; }
// feature: numeric_algorithms
FEATURE(numeric_algorithms) { valarray<double> all{1, 2, 3}; vector<int> sums(4), steps{1, 4, 9, 16}; partial_sum(steps.begin(), steps.end(), sums.begin()); adjacent_difference(steps.begin(), steps.end(), steps.begin()); cout << (all * all).sum() << sums[3] << steps[3] << reduce(sums.begin(), sums.end()) << transform_reduce(sums.begin(), sums.end(), 0, plus<>(), negate<>()) << '\n'; }

int main() {
    string line;
    for (char c; read(0, &c, 1) == 1 && c != '\n';) line += c;
    istringstream names(line);
    bool alone = line.find(' ') == string::npos;
    for (string name; names >> name;) {
        if (!alone) cout << "== " << name << endl;
        try {
            features.at(name)();
        } catch (const filesystem::filesystem_error &error) {
            cout << error.code().message() << '\n';
        }
        cout << flush, fflush(stdout);
        cout << defaultfloat << dec << noboolalpha << setprecision(6) << setfill(' ');
    }
}
