// SPDX-License-Identifier: Apache-2.0
// A drill: runs on two devices, or on two ranks with a device or two each, to which something happens. Each ends in the
// bits of the undisturbed run, or stops and is resumed to them. $YOLK_TEST_FAULTS faults that disturb a run (5 in the
// suite), drawn by $YOLK_TEST_SEED. Ranks are drawn in builds with MPI.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

#include "drill_child.hpp"
#include "small_disk.hpp"
#include "yolk/internal/runtime/instance.hpp"
#include "yolk/internal/testing/drivers.hpp"
#include "yolk/internal/train/processes.hpp"

namespace yolk::train {
namespace {

/// Of one generation in the log: what a write that was cut short may leave out.
constexpr std::uint32_t kRecordBytes = 104;
constexpr std::array kKinds{"kill", "lost", "hung", "wrong", "full file", "full disk", "torn log", "torn checkpoint"};
/// A fault may come too late for its run, or meet nothing; another one is drawn then.
constexpr int kDrawsPerFault = 20;

int setting(const char* name, int otherwise) {
    const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
    if (text == nullptr) return otherwise;
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    EXPECT_TRUE(*text != '\0' && *end == '\0' && value >= 1 && value <= 1000000) << name << " is '" << text << "'";
    return static_cast<int>(value);
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
    const std::string command = fmt::format("{}'{}' --child '{}' '{}' {} 2>&1", launcher, self, out.string(),
                                            to_text(fault), resume ? "resume" : "begin");
    Ended ended;
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return {.code = -1};
    std::array<char, 512> part{};
    while (std::fgets(part.data(), part.size(), pipe) != nullptr) ended.text += part.data();
    const int status = ::pclose(pipe);
    ended.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return ended;
}

/// A fault as drawn, with the run that it is to meet.
struct Drawn {
    std::string kind;
    DrillFault fault;
    bool as_ranks = false;
    std::uint32_t disk_bytes = 0;  ///< of the disk that the folder is on; 0: no disk of its own
};
std::string to_text(const Drawn& drawn) {
    return fmt::format("{} ({}), {} on {}", drawn.kind, to_text(drawn.fault),
                       drawn.fault.system ? "a system" : "a policy",
                       !drawn.as_ranks    ? "two devices"
                       : drawn.fault.both ? "two ranks with two devices each"
                                          : "two ranks");
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
    bool is_system_ = false;
    void every_fault_ends_in(const std::string& state);
    [[nodiscard]] Drawn draw_fault(const std::string& kind);
    [[nodiscard]] bool tear(const std::filesystem::path& file);
    bool strike(const Drawn& drawn, const std::filesystem::path& out, const std::string& expected);
};

Drawn fault_drill::draw_fault(const std::string& kind) {
    Drawn drawn{.kind = kind, .fault = {.kind = kind, .generation = draw(0, 7)}};
    drawn.as_ranks = has_mpi() && draw(0, 1) == 1;
    DrillFault& fault = drawn.fault;
    fault.system = is_system_;
    // Audits need a second device.
    fault.both = drawn.as_ranks && (kind == "wrong" || draw(0, 1) == 1);
    fault.rank = drawn.as_ranks ? draw(0, 1) : 0;
    fault.device = !drawn.as_ranks || fault.both ? draw(1, 2) : 1;
    if (kind == "kill") fault.number = draw(0, 20000);
    if (kind == "lost") fault.number = draw(0, 12);
    if (kind.starts_with("full")) {
        fault.rank = 0;  // the others write nothing
        fault.kind = "full";
        fault.number = draw(200, 6000);
        // The lock, a temporary file, the metrics, log, checkpoint and policy take a page or two each; a search has
        // fewer.
        if (kind == "full disk") drawn.disk_bytes = 4096 * (is_system_ ? draw(1, 3) : draw(2, 6));
    }
    // A killed run leaves the files that are then torn.
    if (kind.starts_with("torn")) {
        fault.kind = "kill";
        fault.number = draw(0, 3000);
        fault.generation = draw(2, 7);
    }
    return drawn;
}

/// Cuts off some of its end, as a power failure may. Whether there was anything to cut.
bool fault_drill::tear(const std::filesystem::path& file) {
    std::error_code code;
    const auto size = static_cast<std::uint32_t>(std::filesystem::file_size(file, code));
    if (code || size == 0) return false;
    std::filesystem::resize_file(file, size - std::min(size, draw(1, kRecordBytes)));
    return true;
}

/// One fault, and as many resumptions as it takes. Whether it disturbed the run: ended it, or cost it a device.
bool fault_drill::strike(const Drawn& drawn, const std::filesystem::path& out, const std::string& expected) {
    std::filesystem::create_directories(out);
    const SmallDisk disk(out, drawn.disk_bytes);
    DrillFault fault = drawn.fault;
    if (disk.is_mounted()) fault.kind = "none";  // else files that cannot grow are as near as this machine lets us
    const std::string what = to_text(drawn);
    SCOPED_TRACE(what);
    const auto start = std::chrono::steady_clock::now();
    Ended ended = run_child(out, fault, false, drawn.as_ranks);
    bool has_struck = ended.code != 0 || ended.text.find("dropped: ") != std::string::npos;
    if (drawn.kind.starts_with("torn"))
        has_struck &= tear(out / (drawn.kind == "torn log" ? "log.yolk" : "checkpoint.yolk"));
    disk.grow();
    int resumptions = 0;
    while (ended.code != 0 && resumptions < 3) {
        ++resumptions;
        // Stopped before there was anything to go on from, it begins again.
        const bool has_files =
            (std::filesystem::exists(out / "log.yolk") || std::filesystem::exists(out / "checkpoint.yolk")) &&
            ended.text.find("There is no checkpoint") == std::string::npos;
        // Of a policy's run the log does as well; a search begins again.
        const bool is_readable = !fault.system || ended.text.find("cannot be read as") == std::string::npos;
        ended = run_child(out, {.both = fault.both, .system = fault.system}, has_files && is_readable, drawn.as_ranks);
    }
    EXPECT_EQ(ended.code, 0) << ended.text;
    EXPECT_THAT(ended.text, ::testing::HasSubstr("state " + expected));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%s%s: %s, in %.1f s\n", what.c_str(), disk.is_mounted() ? ", mounted" : "",
                !has_struck        ? "met nothing, drawn again"
                : resumptions == 0 ? "went on"
                                   : fmt::format("resumed {} times", resumptions).c_str(),
                took.count());
    return has_struck;
}

void fault_drill::every_fault_ends_in(const std::string& state) {
    const int count = setting("YOLK_TEST_FAULTS", 5);
    // Every kind in turn, from a place that the seed draws, so that few faults are of different kinds.
    const std::uint32_t first = draw(0, kKinds.size() - 1);
    int runs = 0;
    for (int i = 0; i < count && !HasFailure(); ++i) {
        const std::string kind = kKinds[(first + static_cast<std::uint32_t>(i)) % kKinds.size()];
        bool has_struck = false;
        for (int draws = 0; !has_struck && draws < kDrawsPerFault && !HasFailure(); ++draws)
            has_struck = strike(draw_fault(kind), folder_ / std::to_string(runs++), state);
        EXPECT_TRUE(has_struck) << kind << " disturbed none of " << kDrawsPerFault << " runs";
    }
    if (!HasFailure()) std::printf("%d of %d runs were disturbed and ended in the same bits\n", count, count);
}

TEST_F(fault_drill, every_fault_ends_in_the_same_bits) {
    Result<std::vector<std::string>> twin = train_twin(drill_options({}));
    ASSERT_TRUE(twin.has_value());
    every_fault_ends_in(twin->back());
}

/// What the undisturbed search ends in is that of one rank with one device.
TEST_F(fault_drill, every_fault_of_a_search_ends_in_the_same_bits) {
    is_system_ = true;
    Result<Instance> instance = Instance::create();
    ASSERT_TRUE(instance.has_value());
    Result<Device> device = Device::create(*instance, 0);
    ASSERT_TRUE(device.has_value());
    std::filesystem::create_directories(folder_ / "undisturbed");
    const Result<std::string> state = drill_system(folder_ / "undisturbed", false, {.devices = std::span(&*device, 1)});
    ASSERT_TRUE(state.has_value()) << state.error().message;
    every_fault_ends_in(*state);
}

}  // namespace
}  // namespace yolk::train

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "--child") return yolk::train::run_drill_child(argc - 1, argv + 1);
    ::testing::InitGoogleTest(&argc, argv);
    const std::string wrong = yolk::testing::select_drivers();  // the children's, too
    if (!wrong.empty() && !::testing::GTEST_FLAG(list_tests))
        return std::fprintf(stderr, "FAILED: %s", wrong.c_str()), 1;
    return RUN_ALL_TESTS();
}
