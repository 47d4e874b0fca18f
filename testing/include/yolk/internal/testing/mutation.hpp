// SPDX-License-Identifier: Apache-2.0
// Damage for files that are read from disk: what a reader must refuse or read soundly, never trip over.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>
#include <vector>

namespace yolk::testing {

/// A count from an environment variable, or `in_the_suite` where it is unset. Anything but a number from 1 on ends the
/// process: a count that is silently another would claim what was not tested.
[[nodiscard]] inline int count_from(const char* variable, int in_the_suite) {
    const char* const text = std::getenv(variable);
    if (text == nullptr) return in_the_suite;
    const std::string_view all(text);
    int count = 0;
    const auto [end, code] = std::from_chars(all.data(), all.data() + all.size(), count);
    if (code == std::errc() && end == all.data() + all.size() && count > 0) return count;
    std::fprintf(stderr, "%s is '%s'; it must be a number from 1 on.\n", variable, text);
    std::abort();
}

/// Mutated files that a test makes.
[[nodiscard]] inline int mutation_count(int in_the_suite) { return count_from("YOLK_TEST_MUTATIONS", in_the_suite); }

/// Changes bytes: one to three of them overwritten, removed or inserted, by anything or by what JSON is made of; now
/// and then the file is cut off. The same seed damages in the same way.
class Mutator {
   public:
    explicit Mutator(std::uint32_t seed) : random_(seed) {}

    [[nodiscard]] std::vector<std::byte> operator()(std::vector<std::byte> bytes) {
        for (std::size_t edits = 1 + below(3); edits > 0 && !bytes.empty(); --edits) edit(bytes);
        if (below(64) == 0) bytes.resize(below(bytes.size() + 1));
        return bytes;
    }

   private:
    void edit(std::vector<std::byte>& bytes) {
        const auto position = bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size()));
        switch (below(5)) {
            case 0: *position = any(); break;
            case 1: *position = letter(); break;
            case 2: bytes.erase(position); break;
            case 3: bytes.insert(position, letter()); break;
            default: bytes[below(std::min<std::size_t>(bytes.size(), kFixedFields))] = any(); break;
        }
    }
    [[nodiscard]] std::size_t below(std::size_t n) {
        return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
    }
    [[nodiscard]] std::byte any() { return static_cast<std::byte>(below(256)); }
    [[nodiscard]] std::byte letter() { return static_cast<std::byte>(kLetters[below(kLetters.size())]); }

    static constexpr std::string_view kLetters = "{}[]\",:0123456789-.eE aFf\\u";
    /// Both formats begin with binary fields, of which a length is the most dangerous.
    static constexpr std::size_t kFixedFields = 16;
    std::mt19937 random_;
};

}  // namespace yolk::testing
