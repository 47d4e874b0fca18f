// SPDX-License-Identifier: Apache-2.0
// `--devices all` where one of two devices fails, hangs or computes wrongly while it is opened: the other one makes the
// run, to the same bits.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "yolk/internal/cli/run.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/fault_injector.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::yolk::testing::FaultInjector;
using ::yolk::testing::FaultKind;
using Arguments = std::vector<std::string>;
using Fault = std::function<void(FaultInjector&)>;

/// What may happen to the first device.
struct OpeningFault {
    const char* name;
    Fault inject;
};
const std::vector<OpeningFault> kOpeningFaults{
    {"fails", [](FaultInjector& faults) { faults.fail_nth_call(1, FaultKind::DeviceLost); }},
    {"hangs",
     [](FaultInjector& faults) {
         faults.only_on_device(1);
         faults.hang_submissions(true);
     }},
    {"computes wrongly",
     [](FaultInjector& faults) {
         faults.only_on_device(1);
         faults.spoil_multiplications(true);
     }},
};

class opening_faults : public ::testing::Test {
   protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("yolk-opening-" + std::to_string(::getpid()));
        ::setenv("YOLK_CACHE", YOLK_KEPT_KERNELS, 1);
        ::setenv("YOLK_TABLE", (folder_ / "tuning.sqlite").c_str(), 1);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    /// Devices are made anew, under an injector of the run's own.
    int run_with(const Fault& fault, Arguments arguments) {
        FaultInjector faults;
        if (fault) fault(faults);
        arguments.insert(arguments.begin(), "yolk");
        std::vector<const char*> pointers;
        for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
        ::testing::internal::CaptureStdout();
        ::testing::internal::CaptureStderr();
        const int code = run(static_cast<int>(pointers.size()), pointers.data());
        out_ = ::testing::internal::GetCapturedStdout();
        err_ = ::testing::internal::GetCapturedStderr();
        return code;
    }
    [[nodiscard]] Json outcome() const {
        const std::size_t end = out_.find_last_not_of('\n') + 1;
        const std::size_t begin = out_.rfind('\n', end - 1);
        return Json::parse(out_.substr(begin == std::string::npos ? 0 : begin + 1, end), nullptr, false);
    }
    [[nodiscard]] Arguments train(const Arguments& more = {}) const {
        Arguments all{"train",          "cartpole", "--devices",    "all",
                      "--population",   "8",        "--max-steps",  "5",
                      "--generations",  "3",        "--keep-going", "--json",
                      "--hang-seconds", "10",       "--out",        (folder_ / "out").string()};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    std::filesystem::path folder_;
    std::string out_, err_;
};

TEST_F(opening_faults, training_goes_on_with_the_other_device) {
    ASSERT_EQ(run_with({}, train()), 0) << err_;
    const Json hash = outcome()["state_hash"];
    ASSERT_TRUE(hash.is_string()) << out_;
    for (const OpeningFault& fault : kOpeningFaults) {
        SCOPED_TRACE(fault.name);
        for (const Arguments& audit : {Arguments{}, Arguments{"--audit", "1"}}) {
            EXPECT_EQ(run_with(fault.inject, train(audit)), 0) << err_;
            EXPECT_EQ(outcome()["state_hash"], hash) << out_;
            EXPECT_THAT(err_, AnyOf(HasSubstr("leaving out '"), HasSubstr("is dropped:")));
        }
    }
}

TEST_F(opening_faults, evaluations_and_searches_go_on_with_the_other_device) {
    ASSERT_EQ(run_with({}, train()), 0) << err_;
    const std::string policy = (folder_ / "out" / "policy.safetensors").string();
    const std::vector<Arguments> commands{
        {"eval", policy, "--devices", "all", "--json", "--episodes", "8", "--hang-seconds", "10"},
        {"system", "xor", "optimize", "--devices", "all", "--json", "--generations", "2", "--population", "8",
         "--determinism", "exact", "--hang-seconds", "10"}};
    for (const Arguments& command : commands) {
        for (const OpeningFault& fault : kOpeningFaults) {
            SCOPED_TRACE(command.front() + ", " + fault.name);
            EXPECT_EQ(run_with(fault.inject, command), 0) << err_;
            EXPECT_TRUE(outcome().is_object()) << out_;
        }
    }
}

TEST_F(opening_faults, without_any_good_device_it_ends) {
    EXPECT_EQ(run_with([](FaultInjector& faults) { faults.spoil_multiplications(true); }, train({"--audit", "1"})), 1);
    EXPECT_THAT(err_, HasSubstr("No device of the pool is left."));
    EXPECT_EQ(run_with([](FaultInjector& faults) { faults.hang_submissions(true); }, train()), 1);
    EXPECT_THAT(err_, HasSubstr("None of the devices can be used."));
    // What was asked for by name is not left out.
    Arguments both = train();
    both[3] = "0,1";
    EXPECT_EQ(run_with(kOpeningFaults[0].inject, both), 1);
    EXPECT_EQ(out_, "");
}

}  // namespace
}  // namespace yolk::cli
