// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "yolk/internal/core/descriptor.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/train/processes.hpp"

namespace yolk::train {
namespace {

/// The same in every version: what follows may differ.
struct Greeting {
    std::array<char, 8> magic{'Y', 'O', 'L', 'K', 'R', 'A', 'N', 'K'};
    std::array<char, 24> version{};  ///< ends in zeros
    std::array<char, 32> binary{};   ///< XXH3-128 of the program's file in hex, or zeros
};
static_assert(sizeof(Greeting) == 64);

/// By pieces: the whole file would count in the process's peak memory.
Result<std::string> read_binary_hash() {
    YOLK_TRY(const Descriptor file, open_regular_file("/proc/self/exe", O_RDONLY));
    Hasher hasher;
    std::vector<std::byte> piece(std::size_t{1} << 20U);
    while (true) {
        const ssize_t got = ::read(file.get(), piece.data(), piece.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return io_error("The program's own file (/proc/self/exe) cannot be read.", errno);
        if (got == 0) return hasher.hex();
        hasher.add(std::span(piece).first(static_cast<std::size_t>(got)));
    }
}

/// Once in a process.
const Result<std::string>& binary_hash() {
    static const Result<std::string> hash = read_binary_hash();
    return hash;
}

template <std::size_t kSize>
void put(std::string_view text, std::array<char, kSize>& to) {
    std::copy_n(text.begin(), std::min(text.size(), to.size()), to.begin());
}

template <std::size_t kSize>
std::string_view text_in(const std::array<char, kSize>& from) {
    return {from.data(), static_cast<std::size_t>(std::ranges::find(from, '\0') - from.begin())};
}

Error differs(std::string_view what, std::size_t rank, std::string_view mine, std::string_view first) {
    return bad_input("The {} of rank {} is {}; that of rank 0 is {}. All ranks of a run must have the same.", what,
                     rank, mine, first);
}

Result<void> compare(const Greeting& greeting, std::size_t rank, const Greeting& first) {
    if (greeting.magic != Greeting().magic)
        return bad_input("Rank {} is not this program, or another version of it. All ranks must run the same.", rank);
    if (greeting.version != first.version)
        return differs("version", rank, text_in(greeting.version), text_in(first.version));
    if (text_in(greeting.binary).empty()) {
        return io_error("Rank " + std::to_string(rank) +
                            " cannot read its own file (/proc/self/exe), whose hash the ranks compare.",
                        0);
    }
    if (greeting.binary != first.binary)
        return differs("binary", rank, text_in(greeting.binary), text_in(first.binary));
    return {};
}

}  // namespace

Result<void> compare_programs(evolve::Exchange& exchange) {
    Greeting mine;
    put(YOLK_VERSION, mine.version);
    if (const Result<std::string>& hash = binary_hash(); hash) put(*hash, mine.binary);
    YOLK_TRY(const auto all, exchange.all_gather(std::as_bytes(std::span(&mine, 1))));
    std::vector<Greeting> greetings;
    for (const std::vector<std::byte>& bytes : all) {
        Greeting& greeting = greetings.emplace_back();
        greeting.magic.fill('\0');
        if (bytes.size() == sizeof(greeting)) std::memcpy(&greeting, bytes.data(), sizeof(greeting));
    }
    for (std::size_t rank = 0; rank < greetings.size(); ++rank) {
        const Result<void> same = compare(greetings[rank], rank, greetings.front());
        if (!same) return exchange.end_together(same.error());
    }
    return {};
}

}  // namespace yolk::train
