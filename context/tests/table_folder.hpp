// SPDX-License-Identifier: Apache-2.0
// A folder for tables of a test's own, and entries to put into them.
#pragma once

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <string>

#include "yolk/internal/context/tuning_file.hpp"

namespace yolk {

class TableFolder : public ::testing::Test {
   protected:
    void SetUp() override {
        static std::atomic<int> count{0};
        folder_ = std::filesystem::temp_directory_path() /
                  ("yolk-table-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::filesystem::path table() const { return folder_ / "tuning.sqlite"; }

    std::filesystem::path folder_;
};

/// Gives up what root may do in spite of a file's permissions. Another user is not an answer: in a container that one
/// may not even reach the folder.
inline bool obeys_permissions() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
    return ::syscall(SYS_capset, &header, none.data()) == 0;
}

inline TuningKey some_key(std::uint64_t extent = 512, std::string driver = "driver 1") {
    return {.device = {.device = "device", .driver = std::move(driver)},
            .family = "reduce",
            .shape = {.variant = "operation=max", .extents = {extent, 64}},
            .kernels = kernel_hash("reduce")};
}
inline TuningChoice some_choice(const TuningKey& key, std::uint32_t rows, double milliseconds) {
    return {.key = key,
            .configuration = {{"row_per_invocation", 1},
                              {"rows_per_workgroup", rows},
                              {"lanes_per_row", 32},
                              {"texel_input", 0},
                              {"elements_per_load", 1}},
            .milliseconds = milliseconds,
            .heuristic_milliseconds = 2.0,
            .plain_milliseconds = 3.0,
            .spread = 0.01,
            .evaluations = 7};
}

}  // namespace yolk
