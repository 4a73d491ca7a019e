// Carries calls between tests and the program that they test, which run in two processes (apart/cpp.py).
// Both are compiled with this file. Standard input is the socket between them.

#include <any>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

namespace rewardkit {

constexpr int ended_status = 97;

struct Message {
    std::string data;
    std::size_t at = 0;

    void put(const void* from, std::size_t size) { data.append(static_cast<const char*>(from), size); }

    void get(void* to, std::size_t size) {
        if (size > data.size() - at) throw std::runtime_error("the message is too short");
        std::memcpy(to, data.data() + at, size);
        at += size;
    }
};

inline bool read_all(char* to, std::size_t size) {
    while (size > 0) {
        ssize_t done = read(0, to, size);
        if (done <= 0) return false;
        to += done;
        size -= static_cast<std::size_t>(done);
    }
    return true;
}

inline bool receive(Message& message) {
    std::uint64_t size = 0;
    if (!read_all(reinterpret_cast<char*>(&size), sizeof size)) return false;
    message.data.resize(size);
    message.at = 0;
    return read_all(&message.data[0], size);
}

inline bool send(const Message& message) {
    std::uint64_t size = message.data.size();
    std::string whole(reinterpret_cast<const char*>(&size), sizeof size);
    whole += message.data;
    for (std::size_t at = 0; at < whole.size();) {
        ssize_t done = write(0, whole.data() + at, whole.size() - at);
        if (done <= 0) return false;
        at += static_cast<std::size_t>(done);
    }
    return true;
}

// Values are sent by content. A type without a `Wire` cannot be sent, which is an error of the compiler.
template <class T, class Enable = void>
struct Wire;

template <class T>
void put(Message& message, const T& value) {
    Wire<T>::put(message, value);
}

template <class T>
T get(Message& message) {
    return Wire<std::remove_const_t<T>>::get(message);
}

template <class T>
struct Wire<T, std::enable_if_t<std::is_integral_v<T> || std::is_enum_v<T>>> {
    static void put(Message& message, T value) {
        std::int64_t wide = static_cast<std::int64_t>(value);
        message.put(&wide, sizeof wide);
    }
    static T get(Message& message) {
        std::int64_t wide;
        message.get(&wide, sizeof wide);
        return static_cast<T>(wide);
    }
};

template <class T>
struct Wire<T, std::enable_if_t<std::is_floating_point_v<T>>> {
    static void put(Message& message, T value) {
        long double wide = value;
        message.put(&wide, sizeof wide);
    }
    static T get(Message& message) {
        long double wide;
        message.get(&wide, sizeof wide);
        return static_cast<T>(wide);
    }
};

template <>
struct Wire<std::string> {
    static void put(Message& message, const std::string& value) {
        rewardkit::put<std::uint64_t>(message, value.size());
        message.put(value.data(), value.size());
    }
    static std::string get(Message& message) {
        std::uint64_t size = rewardkit::get<std::uint64_t>(message);
        if (size > message.data.size() - message.at) throw std::runtime_error("the message is too short");
        std::string value(message.data, message.at, size);
        message.at += size;
        return value;
    }
};

template <class T>
struct Plain {
    using type = std::remove_const_t<T>;
};
template <class A, class B>
struct Plain<std::pair<A, B>> {
    using type = std::pair<std::remove_const_t<A>, B>;
};

// Containers: vector, list, deque, set, map and their relatives.
template <class T>
struct Wire<T, std::void_t<typename T::value_type, typename T::iterator,
                           decltype(std::declval<T&>().insert(std::declval<T&>().end(),
                                                              std::declval<typename T::value_type>()))>> {
    using Item = typename Plain<typename T::value_type>::type;
    static void put(Message& message, const T& value) {
        std::uint64_t size = 0;
        for (auto it = value.begin(); it != value.end(); ++it) ++size;
        rewardkit::put(message, size);
        for (Item item : value) rewardkit::put<Item>(message, item);
    }
    static T get(Message& message) {
        T value;
        std::uint64_t size = rewardkit::get<std::uint64_t>(message);
        for (std::uint64_t i = 0; i < size; ++i) value.insert(value.end(), rewardkit::get<Item>(message));
        return value;
    }
};

template <class T, std::size_t N>
struct Wire<std::array<T, N>> {
    static void put(Message& message, const std::array<T, N>& value) {
        for (const T& item : value) rewardkit::put(message, item);
    }
    static std::array<T, N> get(Message& message) {
        std::array<T, N> value;
        for (T& item : value) item = rewardkit::get<T>(message);
        return value;
    }
};

template <class A, class B>
struct Wire<std::pair<A, B>> {
    static void put(Message& message, const std::pair<A, B>& value) {
        rewardkit::put(message, value.first);
        rewardkit::put(message, value.second);
    }
    static std::pair<A, B> get(Message& message) {
        A first = rewardkit::get<A>(message);
        return {std::move(first), rewardkit::get<B>(message)};
    }
};

template <class... T>
struct Wire<std::tuple<T...>> {
    static void put(Message& message, const std::tuple<T...>& value) {
        std::apply([&](const T&... item) { (rewardkit::put(message, item), ...); }, value);
    }
    static std::tuple<T...> get(Message& message) { return std::tuple<T...>{rewardkit::get<T>(message)...}; }
};

template <class T>
struct Wire<std::optional<T>> {
    static void put(Message& message, const std::optional<T>& value) {
        rewardkit::put(message, value.has_value());
        if (value) rewardkit::put(message, *value);
    }
    static std::optional<T> get(Message& message) {
        if (!rewardkit::get<bool>(message)) return std::nullopt;
        return rewardkit::get<T>(message);
    }
};

template <class... T>
struct Wire<std::variant<T...>> {
    using Whole = std::variant<T...>;
    static void put(Message& message, const Whole& value) {
        rewardkit::put<std::uint64_t>(message, value.index());
        std::visit([&](const auto& item) { rewardkit::put(message, item); }, value);
    }
    static Whole get(Message& message) {
        std::uint64_t index = rewardkit::get<std::uint64_t>(message);
        std::optional<Whole> value;
        std::uint64_t at = 0;
        ((index == at++ ? (void)value.emplace(rewardkit::get<T>(message)) : (void)0), ...);
        if (!value) throw std::runtime_error("the message has no such alternative");
        return *value;
    }
};

template <>
struct Wire<std::any> {
    template <class T>
    static bool put_if(Message& message, std::uint64_t kind, const std::any& value) {
        if (value.type() != typeid(T)) return false;
        rewardkit::put(message, kind);
        rewardkit::put(message, std::any_cast<const T&>(value));
        return true;
    }
    static void put(Message& message, const std::any& value) {
        if (!value.has_value()) return rewardkit::put<std::uint64_t>(message, 0);
        if (value.type() == typeid(const char*))
            return put(message, std::string(std::any_cast<const char*>(value)));
        bool done = put_if<bool>(message, 1, value) || put_if<int>(message, 2, value) ||
                    put_if<long>(message, 3, value) || put_if<long long>(message, 4, value) ||
                    put_if<float>(message, 5, value) || put_if<double>(message, 6, value) ||
                    put_if<std::string>(message, 7, value) || put_if<char>(message, 8, value) ||
                    put_if<std::vector<std::any>>(message, 9, value);
        if (!done) throw std::runtime_error("std::any holds a type that cannot be sent to the tests");
    }
    static std::any get(Message& message) {
        switch (rewardkit::get<std::uint64_t>(message)) {
            case 1: return rewardkit::get<bool>(message);
            case 2: return rewardkit::get<int>(message);
            case 3: return rewardkit::get<long>(message);
            case 4: return rewardkit::get<long long>(message);
            case 5: return rewardkit::get<float>(message);
            case 6: return rewardkit::get<double>(message);
            case 7: return rewardkit::get<std::string>(message);
            case 8: return rewardkit::get<char>(message);
            case 9: return rewardkit::get<std::vector<std::any>>(message);
            default: return {};
        }
    }
};

template <class A>
constexpr bool is_changed = std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>;

// Exceptions of the standard library, the most derived first.
template <class... E>
struct Exceptions {
    static std::uint64_t kind(const std::exception& error) {
        std::uint64_t at = 0, found = sizeof...(E);
        ((dynamic_cast<const E*>(&error) != nullptr && found == sizeof...(E) ? (void)(found = at++) : (void)at++),
         ...);
        return found;
    }
    static void raise(std::uint64_t kind, const std::string& text) {
        std::uint64_t at = 0;
        ((kind == at++ ? throw E(text) : (void)0), ...);
        throw std::runtime_error(text);
    }
};
using Known = Exceptions<std::invalid_argument, std::out_of_range, std::domain_error, std::length_error,
                         std::logic_error, std::overflow_error, std::underflow_error, std::range_error,
                         std::runtime_error>;

template <class Signature>
struct Call;

template <class R, class... A>
struct Call<R(A...)> {
    static R ask(std::remove_reference_t<A>&... argument) {
        Message message;
        (put<std::decay_t<A>>(message, argument), ...);
        if (!send(message) || !receive(message)) {
            const char said[] = "the program ended before it answered\n";
            if (write(2, said, sizeof said - 1)) {}
            _exit(ended_status);
        }
        if (get<bool>(message)) {
            std::uint64_t kind = get<std::uint64_t>(message);
            Known::raise(kind, get<std::string>(message));
        }
        if constexpr (std::is_void_v<R>) {
            (take_back<A>(message, argument), ...);
        } else {
            std::decay_t<R> result = get<std::decay_t<R>>(message);
            (take_back<A>(message, argument), ...);
            return result;
        }
    }

    template <class B>
    static void take_back(Message& message, std::remove_reference_t<B>& argument) {
        if constexpr (is_changed<B>) argument = get<std::decay_t<B>>(message);
    }

    template <class F>
    static void serve(F function) {
        Message message;
        while (receive(message)) {
            Message answer;
            try {
                std::tuple<std::decay_t<A>...> arguments{get<std::decay_t<A>>(message)...};
                play(function, arguments, answer, std::index_sequence_for<A...>{});
            } catch (const std::exception& error) {
                answer = {};
                put(answer, true);
                put(answer, Known::kind(error));
                put(answer, std::string(error.what()));
            }
            if (!send(answer)) break;
        }
        _exit(0);
    }

    template <class F, std::size_t... I>
    static void play(F function, std::tuple<std::decay_t<A>...>& arguments, Message& answer,
                     std::index_sequence<I...>) {
        put(answer, false);
        if constexpr (std::is_void_v<R>) {
            function(static_cast<A&&>(std::get<I>(arguments))...);
        } else {
            std::decay_t<R> result = function(static_cast<A&&>(std::get<I>(arguments))...);
            put(answer, result);
        }
        (give_back<A>(answer, std::get<I>(arguments)), ...);
    }

    template <class B>
    static void give_back(Message& answer, const std::decay_t<B>& argument) {
        if constexpr (is_changed<B>) put(answer, argument);
    }
};

}  // namespace rewardkit
