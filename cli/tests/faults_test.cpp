// SPDX-License-Identifier: Apache-2.0
// The command on a driver that fails: exit status 1, and a sentence on what to do.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "select_device.hpp"
#include "yolk/internal/cli/run.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/fault_injector.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;
using ::yolk::testing::FaultInjector;
using ::yolk::testing::FaultKind;

class command_faults : public ::yolk::testing::DeviceTest {
   protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("yolk-cli-faults-" + std::to_string(::getpid()));
        ::setenv("YOLK_CACHE", (folder_ / "cache").c_str(), 1);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    int run_train(const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"yolk",
                                           "train",
                                           "cartpole",
                                           "--device",
                                           index_,
                                           "--population",
                                           "8",
                                           "--max-steps",
                                           "5",
                                           "--generations",
                                           "3",
                                           "--keep-going",
                                           "--checkpoint-every",
                                           "1",
                                           "--out",
                                           (folder_ / "out").string()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_here(arguments);
    }
    int run_here(const std::vector<std::string>& arguments) {
        std::vector<const char*> pointers;
        pointers.reserve(arguments.size());
        for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
        ::testing::internal::CaptureStdout();
        ::testing::internal::CaptureStderr();
        const int code = run(static_cast<int>(pointers.size()), pointers.data());
        out_ = ::testing::internal::GetCapturedStdout();
        err_ = ::testing::internal::GetCapturedStderr();
        return code;
    }

    /// As `--device` takes it; found before anything fails.
    const std::string index_ = std::to_string(::yolk::testing::device_index(device_name()));
    FaultInjector faults_;
    std::filesystem::path folder_;
    std::string out_, err_;
};
YOLK_FOR_EACH_DEVICE(command_faults);

TEST_P(command_faults, lost_device) {
    faults_.fail_nth_call(UINT64_MAX, FaultKind::DeviceLost);
    ASSERT_EQ(run_train({}), 0) << err_;
    const std::uint64_t calls = faults_.calls();
    // In the last generation or the final evaluation, so that there is a checkpoint to go on from.
    faults_.fail_nth_call(calls - 8, FaultKind::DeviceLost);
    EXPECT_EQ(run_train({}), 1);
    EXPECT_THAT(err_, HasSubstr("was lost during"));
    EXPECT_THAT(err_, HasSubstr("if that fails too, restart the process, or the machine's driver."));
    EXPECT_THAT(err_, HasSubstr("generations; resume from it."));
}

TEST_P(command_faults, device_that_computes_wrongly) {
    faults_.spoil_multiplications(true);
    EXPECT_EQ(run_train({}), 1);
    EXPECT_THAT(err_, HasSubstr("cannot run in exact mode:"));
    EXPECT_THAT(err_, HasSubstr("Choose another device, or fast determinism."));
}

TEST_P(command_faults, a_driver_that_only_compiles_is_listed_inspected_and_refused_otherwise) {
    const std::string& device = index_;
    faults_.empty_submissions(true);
    EXPECT_EQ(run_here({"yolk", "devices", "--device", device}), 0) << err_;
    EXPECT_THAT(out_, HasSubstr("NOTHING CAN BE RUN"));
    EXPECT_THAT(out_, HasSubstr("would use here; `yolk inspect` alone can"));
    EXPECT_EQ(run_here({"yolk", "devices", "--device", device, "--json"}), 0) << err_;
    EXPECT_THAT(out_, HasSubstr("\"executes\":false"));
    EXPECT_THAT(out_, HasSubstr("\"exact_arithmetic\":false"));
    EXPECT_THAT(out_, HasSubstr("\"result\":\"compiles\""));
    EXPECT_EQ(run_here({"yolk", "inspect", "optimizer elements=9", "--device", device, "--json"}), 0) << err_;
    EXPECT_THAT(out_, HasSubstr("\"runs\":false"));
    EXPECT_THAT(out_, HasSubstr("\"pipeline\":\"optimizer\""));
    EXPECT_EQ(run_train({}), 1);
    EXPECT_THAT(err_, HasSubstr("Nothing can be run on '"));
    EXPECT_THAT(err_, HasSubstr("`yolk inspect` shows what its compiler makes of kernels"));
    EXPECT_EQ(run_here({"yolk", "check", "--devices", "all", "--kernel", "noise"}), 1);
    EXPECT_THAT(err_, HasSubstr("leaving out '"));
    EXPECT_THAT(err_, HasSubstr("No device here executes kernels"));
}

// Two ranks of a machine with two devices, of which the first executes nothing: they share the second.
TEST(dealt_devices, are_those_that_execute) {
    FaultInjector faults;
    faults.empty_submissions(true);
    std::vector<std::string> names;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
        faults.only_on_device(1 + 2 * rank);  // each call opens both
        ::testing::internal::CaptureStderr();
        const Result<std::vector<Device>> devices = open_devices("all", {}, {.local_rank = rank, .local_ranks = 2});
        EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("leaving out '"));
        ASSERT_OK(devices);
        ASSERT_EQ(devices->size(), 1U);
        EXPECT_EQ(devices->front().findings().not_executing_reason, "");
        names.push_back(devices->front().info().name);
    }
    EXPECT_EQ(names[0], names[1]);
}

TEST_P(command_faults, inspect_goes_on_after_a_refused_pipeline) {
    const std::vector<std::string> inspect{"yolk", "inspect", "optimizer elements=9", "noise elements=64", "--device",
                                           index_, "--json"};
    faults_.fail_nth_call(UINT64_MAX, FaultKind::OutOfDeviceMemory);
    ASSERT_EQ(run_here(inspect), 0) << err_;
    // Backwards from the end: the last pipeline is noise's, the one before it the optimizer's.
    const std::uint64_t calls = faults_.calls();
    int pipelines = 0;
    for (std::uint64_t n = calls; n > 0 && pipelines < 2; --n) {
        faults_.fail_nth_call(n, FaultKind::OutOfDeviceMemory);
        const int code = run_here(inspect);
        if (faults_.injected_into() != "vkCreateComputePipelines") continue;
        ++pipelines;
        EXPECT_EQ(code, 1);
    }
    ASSERT_EQ(pipelines, 2);
    EXPECT_THAT(out_, HasSubstr("\"refused\":\"Cannot compile the kernel [optimizer]"));
    EXPECT_THAT(out_, HasSubstr("\"pipeline\":\"noise_i32\""));
    EXPECT_THAT(out_, HasSubstr("\"pipelines\":2,\"refused\":1"));
}

TEST_P(command_faults, wrong_results_are_not_timed) {
    const std::vector<std::string> bench{"yolk",     "bench",     "kernel",           "--device", index_,
                                         "--kernel", "optimizer", "--configurations", "1",        "--json"};
    faults_.spoil_multiplications(true);
    EXPECT_EQ(run_here(bench), 1);
    EXPECT_EQ(out_, "");
    EXPECT_THAT(err_, HasSubstr("A wrong result, which is not timed: "));
    EXPECT_THAT(err_, HasSubstr("Nothing was timed: no configuration of ["));
}

}  // namespace
}  // namespace yolk::cli
