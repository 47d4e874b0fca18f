// SPDX-License-Identifier: Apache-2.0
// What a proof is said to take covers what it takes: every allocation of the process is counted.
#include "yolk/internal/oracle/problem_memory.hpp"

#include <gmock/gmock.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/named_problem.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace {

std::atomic<bool> counts{false};  // the other tests of this program would wait for it: a tenth of their time
std::atomic<std::int64_t> live_bytes{0};
std::atomic<std::int64_t> peak_bytes{0};

void count(std::int64_t bytes) noexcept {
    const std::int64_t live = live_bytes += bytes;
    std::int64_t peak = peak_bytes;
    while (live > peak && !peak_bytes.compare_exchange_weak(peak, live)) {}
}

}  // namespace

void* operator new(std::size_t size) {
    void* const memory = std::malloc(size);
    if (memory == nullptr) throw std::bad_alloc();
    if (counts) count(static_cast<std::int64_t>(::malloc_usable_size(memory)));
    return memory;
}
void operator delete(void* memory) noexcept {
    if (counts && memory != nullptr) count(-static_cast<std::int64_t>(::malloc_usable_size(memory)));
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept { operator delete(memory); }

namespace yolk::oracle {
namespace {

constexpr double kForNames = 0x1p16;  // what does not grow with a shape

/// The case with the largest buffers.
std::unique_ptr<Problem> largest_case(const Family& family) {
    Problems cases = family.cases(1);
    const auto bytes = [](const auto& problem) { return problem->buffer_bytes().all; };
    return std::move(*std::ranges::max_element(cases, {}, bytes));
}

TEST(problem_memory, of_the_largest_case_of_each_family_covers_its_proof) {
    counts = true;
    for (const Family* family : families()) {
        const std::unique_ptr<Problem> problem = largest_case(*family);
        const std::int64_t before = live_bytes;
        peak_bytes = before;
        const ProblemProof proof(*problem);
        const auto taken = static_cast<double>(peak_bytes - before);
        EXPECT_LE(taken, proof_bytes(*problem).host + kForNames) << problem->name();
    }
    counts = false;
}

// Shapes come from users: sums of what does not fit 64 bits are not small again.
TEST(problem_memory, of_any_shape_is_summed_without_making_it) {
    ASSERT_OK_AND_ASSIGN(const auto product, make_named_problem("matmul m=32000 n=32000 k=32000"));
    const BufferBytes bytes = product->buffer_bytes();
    EXPECT_EQ(bytes.read, 2 * 4.096e9);
    EXPECT_EQ(bytes.written, 4.096e9);
    EXPECT_GT(proof_bytes(*product).host, 9 * 4.096e9);
    ASSERT_OK_AND_ASSIGN(const auto rows, make_named_problem("softmax rows=4000000000 columns=4000000000"));
    EXPECT_EQ(rows->buffer_bytes().written, 4.0 * 4e9 * 4e9);
}

}  // namespace
}  // namespace yolk::oracle
