// What C++20 programs use beyond C++17: the first line of stdin names the features to play.

#include <bits/stdc++.h>
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

template <typename T>
concept Number = integral<T> || floating_point<T>;
template <Number T>
T twice(T x) { return x + x; }
template <typename T>
struct Generator {
    struct promise_type {
        T value;
        Generator get_return_object() { return {coroutine_handle<promise_type>::from_promise(*this)}; }
        suspend_always initial_suspend() { return {}; }
        suspend_always final_suspend() noexcept { return {}; }
        suspend_always yield_value(T given) { value = given; return {}; }
        void return_void() {}
        void unhandled_exception() { throw; }
    };
    coroutine_handle<promise_type> held;
    ~Generator() { held.destroy(); }
    bool next() { held.resume(); return !held.done(); }
};
static Generator<int> squares(int n) { for (int i = 0; i < n; i++) co_yield i * i; }
struct Version {
    int major, minor;
    auto operator<=>(const Version &) const = default;
};
consteval int cube(int n) { return n * n * n; }
static constinit int constant = cube(3);

// feature: concepts
FEATURE(concepts) { cout << twice(21) << twice(1.5) << '\n'; }
// feature: coroutines
FEATURE(coroutines) { for (auto all = squares(5); all.next();) cout << all.held.promise().value << ' '; cout << '\n'; }
// feature: comparisons
FEATURE(comparisons) { cout << (Version{1, 2} < Version{1, 3}) << (Version{1, 2} == Version{1, 2}) << is_lt(1 <=> 2) << '\n'; }
// feature: constants
FEATURE(constants) { cout << constant << is_constant_evaluated() << numbers::pi << '\n'; }
// feature: range_views
FEATURE(range_views) {
    for (int n : views::iota(1, 20) | views::filter([](int n) { return n % 3 == 0; }) | views::transform([](int n) { return n * n; }) | views::take(3) | views::reverse) cout << n << ' ';
    for (auto part : "a,b"s | views::split(',')) cout << string(part.begin(), part.end()) << ';';
    cout << '\n';
}
// feature: range_algorithms
FEATURE(range_algorithms) {
    vector<pair<string, int>> all{{"b", 2}, {"a", 1}};
    ranges::sort(all, {}, &pair<string, int>::second);
    cout << all[0].first << ranges::count_if(all, [](auto &p) { return p.second > 1; }) << ranges::max(vector{1, 3, 2}) << '\n';
}
// feature: joining_threads
FEATURE(joining_threads) {
    atomic<int> count = 0;
    { vector<jthread> all; for (int i = 0; i < 8; i++) all.emplace_back([&] { count++; }); }
    jthread stopped([&](stop_token token) { while (!token.stop_requested()) this_thread::yield(); count = 100; });
    stopped.request_stop();
    stopped.join();
    cout << count << '\n';
}
// feature: synchronization
FEATURE(synchronization) {
    latch start(4);
    barrier meet(4, []() noexcept {});
    counting_semaphore<4> room(2);
    atomic<int> turn = 0;
    vector<jthread> all;
    for (int i = 0; i < 4; i++) all.emplace_back([&] { start.arrive_and_wait(); room.acquire(); room.release(); meet.arrive_and_wait(); turn++; turn.notify_all(); });
    for (int seen; (seen = turn) < 4;) turn.wait(seen);
    cout << turn << '\n';
}
// feature: spans
FEATURE(spans) { int all[] = {1, 2, 3}; span<int> view(all); view[0] = 7; cout << view.size() << view.subspan(1)[0] << all[0] << '\n'; }
// feature: bits
FEATURE(bits) { cout << popcount(255u) << countl_zero(1u) << bit_ceil(5u) << rotl(1u, 31) << has_single_bit(8u) << bit_cast<uint32_t>(1.0f) << (endian::native == endian::little) << '\n'; }
// feature: texts
FEATURE(texts) { string s = "prefix-body"; map<string, int> m{{"x", 1}}; cout << s.starts_with("prefix") << s.ends_with("x") << m.contains("x") << erase(s, 'e') << s << '\n'; }
// feature: designated_initializers
FEATURE(designated_initializers) { Version v{.major = 1, .minor = 2}; cout << v.major << v.minor << '\n'; }
// feature: template_lambdas
FEATURE(template_lambdas) { auto size = []<typename T>(const vector<T> &v) { return v.size(); }; cout << size(vector{1, 2}) << [](auto &&...all) { return sizeof...(all); }(1, 2, 3) << '\n'; }
// feature: calendars
FEATURE(calendars) { using namespace chrono; auto day = 2024y / February / last; cout << unsigned(day.day()) << sys_days(2024y / March / 1).time_since_epoch().count() << (system_clock::now() > sys_days(2020y / 1 / 1)) << '\n'; }
// feature: midpoints
FEATURE(midpoints) { cout << midpoint(1, 4) << ' ' << lerp(0.0, 10.0, 0.25) << cmp_less(-1, 1u) << ssize(vector{1}) << '\n'; }
// feature: shared_arrays
FEATURE(shared_arrays) { auto all = make_shared<int[]>(10); all[3] = 5; auto array = to_array({1, 2, 3}); cout << all[3] << array.size() << '\n'; }
// feature: source_locations
FEATURE(source_locations) { cout << source_location::current().function_name() << '\n'; }
// feature: enumerations
FEATURE(enumerations) { enum class Colour { red, green }; using enum Colour; for (auto all = vector{red, green}; auto c : all) cout << int(c); cout << '\n'; }
// feature: synchronized_output
FEATURE(synchronized_output) { vector<jthread> all; for (int i = 0; i < 4; i++) all.emplace_back([] { osyncstream(cout) << "line\n"; }); }
// feature: throws, alone
FEATURE(throws) { optional<int>().value(); }
// feature: reads, alone
FEATURE(reads) { auto words = ranges::subrange(istream_iterator<string>(cin), istream_iterator<string>()); cout << ranges::distance(words) << '\n'; }
// feature: prints
FEATURE(prints) { cout << "text " << setw(5) << setfill('0') << 42 << ' ' << fixed << setprecision(3) << 3.14159 << defaultfloat << boolalpha << true << endl; printf("%5.2f|%-4d|\n", 2.5, 7); cerr << "to stderr"; puts("wörld 日本"); cout << noboolalpha << setfill(' ') << setprecision(6); }
// feature: prints_much
FEATURE(prints_much) { for (int i = 0; i < 100000; i++) cout << i << '\n'; }
// feature: reads_fast, alone
FEATURE(reads_fast) { ios::sync_with_stdio(false); cin.tie(nullptr); int a, b; cin >> a >> b; cout << a * b << "\n"; string line; while (getline(cin >> ws, line)) cout << '[' << line << "]\n"; }
// feature: reads_by_scanf, alone
FEATURE(reads_by_scanf) { int a, b; char word[20]; cout << scanf("%d %d %19s", &a, &b, word) << a + b << word << '\n'; }
// feature: reads_whole, alone
FEATURE(reads_whole) { string text(istreambuf_iterator<char>(cin), {}); cout << text.size() << ranges::count(text, '\n') << '\n'; }
// feature: reads_and_converts, alone
FEATURE(reads_and_converts) { int a{}; string line; getline(cin, line); auto [end, wrong] = from_chars(line.data(), line.data() + line.size(), a); cout << a << (wrong == errc()) << end - line.data() << '\n'; }
// feature: exits, alone
FEATURE(exits) { cout << "said"; exit(7); }
// feature: returns_at_once, alone
FEATURE(returns_at_once) { cout << "lost"; _Exit(5); }
// feature: aborts, alone
FEATURE(aborts) { cout << "said" << endl; abort(); }
// feature: asserts, alone
FEATURE(asserts) { assert(ssize(vector{1}) == 2); }
// feature: divides_by_zero, alone
FEATURE(divides_by_zero) { volatile int zero = 0; cout << 1 / zero; }
// feature: reads_nowhere, alone
FEATURE(reads_nowhere) { volatile int *volatile nowhere = nullptr; cout << *nowhere; }
// feature: throws_in_a_thread, alone
FEATURE(throws_in_a_thread) { jthread([] { throw 1; }); }
// feature: processes, differs at every level: starts processes
FEATURE(processes) { cout << system("exit 3") << '\n'; }
// feature: environment
FEATURE(environment) { setenv("OWN", "here", 1); cout << getenv("OWN") << (getenv("NOT_SET") == nullptr) << (getenv("PATH") != nullptr) << '\n'; }
// feature: signals
static volatile sig_atomic_t seen;
FEATURE(signals) { signal(SIGUSR1, [](int) { seen = 1; }); raise(SIGUSR1); cout << seen << '\n'; }
// feature: files
FEATURE(files) { ofstream("a.txt") << "1 2\nwörld"; ifstream in("a.txt"); int a, b; in >> a >> b; cout << a + b << filesystem::file_size("a.txt") << filesystem::remove("a.txt") << ifstream("a.txt").is_open() << '\n'; }
// feature: temporary_files
FEATURE(temporary_files) { auto path = filesystem::temp_directory_path() / "own.txt"; ofstream(path) << "x"; cout << filesystem::exists(path) << filesystem::remove(path) << '\n'; }
// feature: recursion
static int down(int n) { volatile int held = n; return n ? 1 + down(n - 1) + held - n : 0; }
FEATURE(recursion) { cout << down(50000) << '\n'; }
// feature: many_threads
FEATURE(many_threads) { atomic<long> sum = 0; { vector<jthread> all; for (int i = 0; i < 40; i++) all.emplace_back([&, i] { sum += i; }); } cout << sum << '\n'; }
// feature: waits
FEATURE(waits) { mutex lock; condition_variable_any ready; bool is_set = false; jthread other([&] { { scoped_lock held(lock); is_set = true; } ready.notify_one(); }); unique_lock held(lock); ready.wait(held, [&] { return is_set; }); cout << is_set << '\n'; atomic_flag flag; flag.test_and_set(); cout << flag.test() << '\n'; }
// feature: big_integers
FEATURE(big_integers) { unsigned __int128 big = 1; for (int i = 1; i <= 34; i++) big *= i; string digits; for (; big; big /= 10) digits += char('0' + int(big % 10)); ranges::reverse(digits); cout << digits << '\n'; }
// feature: arithmetic
FEATURE(arithmetic) { cout << 0.1 + 0.2 << ' ' << 1e308 * 10 << ' ' << -7 / 2 << -7 % 3 << ' ' << sqrt(2) << ' ' << numbers::e << ' ' << (1LL << 40) << ' ' << gcd(12, 18) << '\n'; }
// feature: memory
FEATURE(memory) { vector<int> all(50 << 20, 1); auto own = make_unique_for_overwrite<int[]>(1000); own[5] = 2; cout << all[7] + own[5]; try { vector<char> much(1ULL << 60); } catch (const exception &) { cout << "caught"; } cout << '\n'; }
// feature: randomness
FEATURE(randomness) { mt19937 one(42); cout << one() << uniform_int_distribution(1, 100)(one) << (random_device()() >= 0) << '\n'; vector all{1, 2, 3, 4, 5}; ranges::shuffle(all, one); cout << all[0] << '\n'; }
// feature: stable_sorting
FEATURE(stable_sorting) { vector<pair<int, int>> all; for (int i = 0; i < 100; i++) all.emplace_back(i % 7, i); ranges::stable_sort(all, {}, &pair<int, int>::first); cout << all[3].second << all[99].second << '\n'; }
// feature: times
FEATURE(times) { auto before = chrono::steady_clock::now(); this_thread::sleep_for(5ms); cout << (chrono::steady_clock::now() - before >= 5ms) << (time(nullptr) > 1600000000) << (clock() >= 0) << '\n'; }
// feature: locales
FEATURE(locales) { cout << setlocale(LC_ALL, nullptr) << (setlocale(LC_ALL, "C.UTF-8") != nullptr) << (setlocale(LC_ALL, "xx_YY") == nullptr) << '\n'; setlocale(LC_ALL, "C"); }
// feature: exceptions
FEATURE(exceptions) { try { vector<int>().at(3); } catch (const out_of_range &) { cout << "range"; } try { optional<int>().value(); } catch (const bad_optional_access &) { cout << "empty"; } try { ignore = stoi("x"); } catch (const invalid_argument &error) { cout << error.what(); } cout << '\n'; }

int main() {
    string line;
    for (char c; read(0, &c, 1) == 1 && c != '\n';) line += c;
    istringstream names(line);
    bool alone = line.find(' ') == string::npos;
    for (string name; names >> name;) {
        if (!alone) cout << "== " << name << endl;
        features.at(name)();
        cout << flush;
    }
}
