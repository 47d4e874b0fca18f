// SPDX-License-Identifier: Apache-2.0
#include "range_allocator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

namespace yolk {
namespace {

/// The same rule by brute force: one flag per unit, the first aligned offset that is free throughout.
class Model {
   public:
    explicit Model(std::size_t size) : used_(size, false) {}

    [[nodiscard]] std::optional<std::uint64_t> first_fit(std::uint64_t size, std::uint64_t alignment) const {
        for (std::uint64_t offset = 0; offset + size <= used_.size(); offset += alignment) {
            bool fits = true;
            for (std::uint64_t i = offset; fits && i < offset + size; ++i) fits = !used_[i];
            if (fits) return offset;
        }
        return std::nullopt;
    }
    void mark(std::uint64_t offset, std::uint64_t size, bool used) {
        for (std::uint64_t i = offset; i < offset + size; ++i) used_[i] = used;
    }
    [[nodiscard]] std::uint64_t free_size() const {
        return static_cast<std::uint64_t>(std::count(used_.begin(), used_.end(), false));
    }
    [[nodiscard]] std::uint64_t largest_free() const {
        std::uint64_t largest = 0;
        std::uint64_t run = 0;
        for (const bool used : used_) largest = std::max(largest, run = used ? 0 : run + 1);
        return largest;
    }

   private:
    std::vector<bool> used_;
};

struct Live {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

TEST(range_allocator, follows_a_brute_force_model) {
    constexpr std::uint64_t kSize = 997;  // a prime: no size or alignment divides it
    std::mt19937 random(7);               // NOLINT(cert-msc51-cpp): the same run every time
    RangeAllocator ranges(kSize);
    Model model(kSize);
    std::vector<Live> live;
    std::uint64_t refused = 0;
    for (int step = 0; step < 20000; ++step) {
        if (live.empty() || random() % 100 < 55) {
            const std::uint64_t size = 1 + random() % 120;
            const std::uint64_t alignment = std::uint64_t{1} << (random() % 6);
            const auto offset = ranges.allocate(size, alignment);
            ASSERT_EQ(offset, model.first_fit(size, alignment)) << "step " << step;
            if (offset) {
                model.mark(*offset, size, true);
                live.push_back({*offset, size});
            } else {
                ++refused;
            }
        } else {
            const std::size_t victim = random() % live.size();
            ranges.free(live[victim].offset);
            model.mark(live[victim].offset, live[victim].size, false);
            live[victim] = live.back();
            live.pop_back();
        }
        ASSERT_EQ(ranges.free_size(), model.free_size()) << "step " << step;
        ASSERT_EQ(ranges.largest_free(), model.largest_free()) << "step " << step;
        ASSERT_EQ(ranges.empty(), live.empty()) << "step " << step;
    }
    EXPECT_GT(refused, 1000U);  // the full case was met, too
    for (const Live& range : live) ranges.free(range.offset);
    EXPECT_TRUE(ranges.empty());
    EXPECT_EQ(ranges.largest_free(), kSize);
}

TEST(range_allocator, takes_all_of_it_and_gives_it_back) {
    RangeAllocator ranges(4096);
    EXPECT_EQ(ranges.allocate(4097, 1), std::nullopt);
    EXPECT_EQ(ranges.allocate(4096, 4096), 0U);
    EXPECT_EQ(ranges.free_size(), 0U);
    EXPECT_EQ(ranges.allocate(1, 1), std::nullopt);
    ranges.free(0);
    EXPECT_EQ(ranges.allocate(4096, 1), 0U);
}

TEST(range_allocator, uses_the_gap_that_an_alignment_left) {
    RangeAllocator ranges(1024);
    EXPECT_EQ(ranges.allocate(1, 1), 0U);
    EXPECT_EQ(ranges.allocate(256, 256), 256U);
    EXPECT_EQ(ranges.allocate(255, 1), 1U);
    EXPECT_EQ(ranges.free_size(), 512U);
}

TEST(range_allocator, survives_sizes_near_the_end_of_the_integers) {
    RangeAllocator ranges(UINT64_MAX);
    EXPECT_EQ(ranges.allocate(1, 1), 0U);
    EXPECT_EQ(ranges.allocate(UINT64_MAX, 1), std::nullopt);
    EXPECT_EQ(ranges.allocate(UINT64_MAX - 255, 256), std::nullopt);
    EXPECT_EQ(ranges.allocate(UINT64_MAX - 256, 256), 256U);
}

TEST(range_allocator, of_nothing_holds_nothing) {
    RangeAllocator ranges(0);
    EXPECT_EQ(ranges.allocate(1, 1), std::nullopt);
    EXPECT_TRUE(ranges.empty());
    EXPECT_EQ(ranges.largest_free(), 0U);
}

}  // namespace
}  // namespace yolk
