// SPDX-License-Identifier: Apache-2.0
// Runs the built command as a user would and keeps what came out.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "yolk/json.hpp"

namespace yolk::cli {

struct Ran {
    int code = -1;  ///< exit code; 128 + number after a signal
    std::string out;
    std::string err;
    [[nodiscard]] std::vector<Json> lines()
        const;  ///< standard output, each line one JSON value; discarded ones where it is not
    [[nodiscard]] Json last() const;
};

/// Variables are added to this process's; YOLK_DEVICE and YOLK_COMMAND are taken away first. The tuning table is in a
/// folder of the command's own, kernels are kept in one of the build; with YOLK_CACHE among the variables both are
/// there.
[[nodiscard]] Ran run_command(const std::vector<std::string>& arguments,
                              const std::map<std::string, std::string>& variables = {});

/// Bash, with the command's path in $YOLK.
[[nodiscard]] Ran run_shell(const std::string& script, const std::map<std::string, std::string>& variables);

struct Signal {
    int number = 2;         ///< SIGINT
    std::size_t lines = 1;  ///< of standard output, after which it is sent
    int times = 1;          ///< at once
};
/// The same, with a signal once so many lines have come out.
[[nodiscard]] Ran run_and_interrupt(const std::vector<std::string>& arguments,
                                    const std::map<std::string, std::string>& variables, const Signal& signal = {});

/// The same, with SIGKILL (or another signal) after a time, wherever the command is by then; it may have ended before.
[[nodiscard]] Ran run_and_kill(const std::vector<std::string>& arguments,
                               const std::map<std::string, std::string>& variables, std::chrono::milliseconds after,
                               int number = 9);

inline constexpr const char* kLavapipe = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json";
inline constexpr const char* kSwiftShader = "/usr/lib/chromium/vk_swiftshader_icd.json";
[[nodiscard]] std::map<std::string, std::string> only(
    const std::string& drivers);  ///< VK_ICD_FILENAMES and its newer name

/// A new empty folder, removed at the end of the test.
class InFolder : public ::testing::Test {
   protected:
    void SetUp() override;
    void TearDown() override;
    std::filesystem::path folder_;
};

[[nodiscard]] std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);
/// How often `part` is in `text`.
[[nodiscard]] std::size_t occurrences(const std::string& text, const std::string& part);

/// A number of 1 to 1,000,000 from the environment; anything else there fails the test.
[[nodiscard]] int setting(const char* name, int unset);

}  // namespace yolk::cli
