// What C++20 programs use beyond C++17: the first line of stdin names the features to play.

#include <bits/stdc++.h>
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
