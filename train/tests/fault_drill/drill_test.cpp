// SPDX-License-Identifier: Apache-2.0
// A drill: runs on two devices, or on two ranks with a device each, to which something happens. Each ends in the bits
// of the undisturbed run, or stops and is resumed to them. $YOLK_TEST_FAULTS faults (5 in the suite), drawn by
// $YOLK_TEST_SEED.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

#include "drill_child.hpp"
#include "yolk/train/processes.hpp"

namespace yolk::train {
namespace {

constexpr const char* kDrivers =
    "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json:/usr/lib/chromium/vk_swiftshader_icd.json";
/// Of one generation in the log: what a write that was cut short may leave out.
constexpr std::uint32_t kRecordBytes = 104;
constexpr std::array kKinds{"kill", "lost", "hung", "wrong", "full", "torn log", "torn checkpoint"};

int setting(const char* name, int otherwise) {
    const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
    return text == nullptr ? otherwise : std::atoi(text);
}

struct Ended {
    int code = 0;  ///< 128 and the signal where one ended it
    std::string text{};
};

/// A child of the drill, or two of them as ranks.
Ended run_child(const std::filesystem::path& out, const DrillFault& fault, bool resume, bool as_ranks) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string launcher = as_ranks ? "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 "
                                            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n 2 "
                                          : "exec ";
    const std::string command =
        fmt::format("export VK_ICD_FILENAMES={0} VK_DRIVER_FILES={0}; {1}'{2}' --child '{3}' '{4}' {5} 2>&1", kDrivers,
                    launcher, self, out.string(), to_text(fault), resume ? "resume" : "begin");
    Ended ended;
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return {.code = -1};
    std::array<char, 512> part{};
    while (std::fgets(part.data(), part.size(), pipe) != nullptr) ended.text += part.data();
    const int status = ::pclose(pipe);
    ended.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return ended;
}

class fault_drill : public ::testing::Test {
   protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / fmt::format("yolk-fault-drill-{}", ::getpid());
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::filesystem::path folder_;
    std::mt19937 random_{static_cast<std::uint32_t>(setting("YOLK_TEST_SEED", 1))};

    std::uint32_t draw(std::uint32_t from, std::uint32_t to) {
        return std::uniform_int_distribution<std::uint32_t>(from, to)(random_);
    }
    [[nodiscard]] DrillFault draw_fault(const std::string& kind, bool as_ranks);
    void tear(const std::filesystem::path& file);
    std::string strike(const std::string& kind, bool as_ranks, const std::filesystem::path& out,
                       const std::string& expected);
};

DrillFault fault_drill::draw_fault(const std::string& kind, bool as_ranks) {
    DrillFault fault{.kind = kind, .generation = draw(0, 7)};
    fault.rank = as_ranks ? draw(0, 1) : 0;
    fault.device = as_ranks ? 1 : draw(1, 2);
    if (kind == "kill") fault.number = draw(0, 40000);
    if (kind == "lost") fault.number = draw(0, 12);
    if (kind == "full") {
        fault.number = draw(200, 6000);
        fault.rank = 0;  // the others write nothing
    }
    // A killed run leaves the files that are then torn.
    if (kind.starts_with("torn")) fault = {.kind = "kill", .number = draw(0, 3000), .generation = draw(2, 7)};
    return fault;
}

/// Cuts off some of its end, as a power failure may.
void fault_drill::tear(const std::filesystem::path& file) {
    std::error_code code;
    const auto size = static_cast<std::uint32_t>(std::filesystem::file_size(file, code));
    if (!code && size > 0) std::filesystem::resize_file(file, size - std::min(size, draw(1, kRecordBytes)));
}

/// One fault, and as many resumptions as it takes. What happened, for the history.
std::string fault_drill::strike(const std::string& kind, bool as_ranks, const std::filesystem::path& out,
                                const std::string& expected) {
    const DrillFault fault = draw_fault(kind, as_ranks);
    const std::string what = fmt::format("{} ({}) on {}", kind, to_text(fault), as_ranks ? "two ranks" : "two devices");
    SCOPED_TRACE(what);
    const std::string hash = "state " + expected;
    Ended ended = run_child(out, fault, false, as_ranks);
    if (kind == "torn log") tear(out / "log.yolk");
    if (kind == "torn checkpoint") tear(out / "checkpoint.yolk");
    int resumptions = 0;
    while (ended.code != 0 && resumptions < 3) {
        ++resumptions;
        // Stopped before there was anything to go on from, it begins again.
        const bool has_files =
            (std::filesystem::exists(out / "log.yolk") || std::filesystem::exists(out / "checkpoint.yolk")) &&
            ended.text.find("There is no checkpoint") == std::string::npos;
        ended = run_child(out, {}, has_files, as_ranks);
    }
    EXPECT_EQ(ended.code, 0) << ended.text;
    EXPECT_THAT(ended.text, ::testing::HasSubstr(hash));
    return fmt::format("{}: {}", what, resumptions == 0 ? "went on" : fmt::format("resumed {} times", resumptions));
}

TEST_F(fault_drill, every_fault_ends_in_the_same_bits) {
    ASSERT_TRUE(has_mpi()) << "the drill's ranks need MPI: libopenmpi-dev, openmpi-bin";
    Result<std::vector<std::string>> twin = train_twin(drill_options({}));
    ASSERT_TRUE(twin.has_value());
    const int count = setting("YOLK_TEST_FAULTS", 5);
    // Every kind in turn, from a place that the seed draws, so that few faults are of different kinds.
    const std::uint32_t first = draw(0, kKinds.size() - 1);
    for (int i = 0; i < count && !HasFailure(); ++i) {
        const std::string kind = kKinds[(first + static_cast<std::uint32_t>(i)) % kKinds.size()];
        // Audits need a second device, which a rank of the drill has not.
        const bool as_ranks = kind != "wrong" && draw(0, 1) == 1;
        const std::string what = strike(kind, as_ranks, folder_ / std::to_string(i), twin->back());
        std::printf("%d of %d, %s\n", i + 1, count, what.c_str());
    }
}

}  // namespace
}  // namespace yolk::train

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "--child") return yolk::train::run_drill_child(argc - 1, argv + 1);
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
