// The loads in C++; the first line of stdin names the one to play.
#include <array>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::array<char, 96 << 20> held;
static int depth(int n) { volatile char frame[64]; frame[0] = 1; return n ? frame[0] + depth(n - 1) : 0; }

int main() {
    std::string name;
    std::cin >> name;
    if (name == "threads") {
        std::mutex lock;
        std::condition_variable arrived;
        int here = 0;
        std::vector<std::thread> all;
        for (int i = 0; i < 60; i++)
            all.emplace_back([&] {
                std::vector<int> own(100);
                std::unique_lock<std::mutex> mine(lock);
                if (++here == 60) arrived.notify_all();
                arrived.wait(mine, [&] { return here == 60; });
            });
        for (auto &one : all) one.join();
        std::cout << "threads " << here << "\n";
    } else if (name == "recursion") {
        std::cout << "recursion " << depth(50000) << "\n";
    } else if (name == "files") {
        std::vector<std::ofstream> all;
        int opened = 0;
        for (int i = 0; i < 100; i++) all.emplace_back("file" + std::to_string(i));
        for (auto &one : all) opened += one.is_open();
        std::cout << "files " << opened << "\n";
    } else if (name == "arrays") {
        int sum = 0;
        for (int i = 0; i < 8; i++) held[i << 23] = 1;
        for (int i = 0; i < 8; i++) sum += held[i << 23];
        std::cout << "arrays " << sum << "\n";
    } else if (name == "small_files") {
        std::uintmax_t sum = 0;
        std::filesystem::create_directory("folder");
        for (int i = 0; i < 300; i++) {
            auto path = std::filesystem::path("folder") / std::to_string(i);
            std::ofstream(path) << std::string(100, 'x');
            sum += std::filesystem::file_size(path);
        }
        std::cout << "small_files " << sum << "\n";
    }
}
