// SPDX-License-Identifier: Apache-2.0
// Each driver call on the way from a plan to its result fails once, for every kernel family: planning, binding,
// recording, submitting and waiting give an error that names an object and leave nothing behind, and the next run on
// the same device gives what the oracle expects. Work that is cut into many submissions is in faults_test.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/shaders/catalogue.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/fault_injector.hpp"

namespace yolk {
namespace {

using testing::FaultKind;

/// Of a family's cases with work, the one that moves the fewest bytes.
std::unique_ptr<oracle::Problem> smallest_problem(const oracle::Family& family) {
    oracle::Problems problems = family.cases(1);
    std::erase_if(problems, [](const auto& problem) { return problem->work().bytes == 0.0; });
    const auto least =
        std::ranges::min_element(problems, {}, [](const auto& problem) { return problem->work().bytes; });
    return least == problems.end() ? nullptr : std::move(*least);
}

/// Of some of the space's configurations the one with the smallest values: small tiles make small kernels, which a
/// driver compiles in a fraction of the time.
Configuration small_configuration(const oracle::Problem& problem, const DeviceInfo& info) {
    std::vector<Configuration> some = problem.space(info).draw(64, 1);
    some.push_back(problem.default_configuration(info));
    return *std::ranges::min_element(some, {}, [](const Configuration& configuration) {
        return std::accumulate(configuration.begin(), configuration.end(), std::uint64_t{0});
    });
}

/// A problem on one device: its inputs lie there, and everything else is made and dropped by each run.
class FamilyWork {
   public:
    FamilyWork(const Device& device, Dispatcher& dispatcher, const oracle::Problem& problem,
               const oracle::ProblemProof& proof)
        : device_(&device),
          dispatcher_(&dispatcher),
          problem_(&problem),
          proof_(&proof),
          configuration_(small_configuration(problem, device.info())) {}

    Result<void> fill() {
        for (const oracle::ProblemBuffer& wanted : proof_->buffers()) {
            YOLK_TRY(Buffer buffer, device_->create_buffer({.size_bytes = std::max<std::uint64_t>(wanted.size_bytes, 4),
                                                            .label = wanted.name}));
            if (!wanted.contents.empty())
                YOLK_TRY_VOID(dispatcher_->upload({buffer, 0, wanted.size_bytes}, wanted.contents));
            buffers_.push_back(std::move(buffer));
        }
        for (std::size_t i = 0; i < buffers_.size(); ++i) {
            const std::uint64_t bytes = proof_->buffers()[i].size_bytes;
            views_.push_back(bytes == 0 ? BufferView{} : BufferView{buffers_[i], 0, bytes});
        }
        return {};
    }

    /// From the plan to the end of its work.
    [[nodiscard]] Result<void> run() const {
        YOLK_TRY(const auto plan, problem_->plan(*device_, configuration_));
        Buffer scratch;
        const std::uint64_t scratch_bytes = plan->scratch().size_bytes;
        if (scratch_bytes != 0) {
            YOLK_TRY(scratch, device_->create_buffer({.size_bytes = scratch_bytes, .label = "the family's scratch"}));
        }
        YOLK_TRY(const auto record, plan->bind(views_, scratch_bytes == 0 ? BufferView{} : BufferView{scratch}));
        YOLK_TRY(Recorder recorder, Recorder::create(*device_, {.label = "the family's work"}));
        recorder.begin();
        record(recorder);
        YOLK_TRY(const Submission submission, dispatcher_->submit(recorder));
        YOLK_TRY_VOID(dispatcher_->wait(submission));
        EXPECT_GT(recorder.dispatch_count(), 0U) << problem_->name();
        return {};
    }

    /// Another run, in buffers of its own, against the oracle.
    [[nodiscard]] Result<void> prove() const {
        YOLK_TRY(const oracle::CheckReport report,
                 proof_->prove({.device = *device_, .dispatcher = *dispatcher_}, configuration_, 0));
        if (!report.passed()) return bad_input("a wrong result: " + report.failures.front());
        return {};
    }

   private:
    const Device* device_;
    Dispatcher* dispatcher_;
    const oracle::Problem* problem_;
    const oracle::ProblemProof* proof_;
    Configuration configuration_;
    std::vector<Buffer> buffers_;
    std::vector<BufferView> views_;
};

/// What the driver is asked for, by the names that messages have for it.
testing::Sweep family_sweep() {
    testing::Sweep sweep{
        .names = {"[the family's scratch]", "[the family's work]", "[transfer]", "staging]", "timeline semaphore",
                  "descriptor pool"},
        // Names are for debuggers; of memory, less is asked for; how far long work has come is asked again.
        .tolerated = {"vkSetDebugUtilsObjectNameEXT", "vkAllocateMemory", "vkGetSemaphoreCounterValue"}};
    for (const KernelModule* module : kernels::all()) sweep.names.push_back(fmt::format("[{}", module->name));
    for (const oracle::Family* family : oracle::families()) sweep.names.push_back(fmt::format("[{}]", family->name));
    return sweep;
}

class family_faults : public testing::DeviceTest {
   protected:
    void SetUp() override { static_cast<void>(testing::instance()); }  // lives on: no leak of a test's
    [[nodiscard]] Result<Device> new_device() const {
        YOLK_TRY(Device device, Device::create(testing::instance(), testing::device_index(device_name()),
                                               {.pipeline_cache_folder = {}}));
        YOLK_TRY_VOID(probe(device));
        return device;
    }
    /// `kept`: how what the device keeps fails.
    void sweep(const Device& device, Dispatcher& dispatcher, const oracle::Family& family, FaultKind kept) {
        const std::unique_ptr<oracle::Problem> problem = smallest_problem(family);
        ASSERT_NE(problem, nullptr);
        const oracle::ProblemProof proof(*problem);
        FamilyWork work(device, dispatcher, *problem, proof);
        ASSERT_OK(work.fill());
        testing::Sweep sweep = family_sweep();
        kept_failures_ += testing::sweep_kept_on_device(faults_, sweep, kept, [&] { return work.run(); });
        ASSERT_OK(work.prove());
        sweep.afterwards = [&] { return work.prove(); };
        testing::sweep_calls(faults_, sweep, [&] { return work.run(); });
    }
    testing::FaultInjector faults_;
    std::uint64_t kept_failures_ = 0;
};
YOLK_FOR_EACH_DEVICE(family_faults);

// One device for all families, since each pipeline takes long to compile under a driver of the CPU's. It makes a
// pipeline once, so that what a device keeps fails in one of the two ways, by turns; every other call fails in both.
TEST_P(family_faults, any_call_from_plan_to_result) {
    const std::string living = testing::living_objects();
    std::size_t swept = 0;
    {
        ASSERT_OK_AND_ASSIGN(const Device device, new_device());
        ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(device));
        for (const oracle::Family* family : oracle::families()) {
            SCOPED_TRACE(family->name);
            sweep(device, dispatcher, *family,
                  swept % 2 == 0 ? FaultKind::OutOfHostMemory : FaultKind::OutOfDeviceMemory);
            ++swept;
        }
    }
    EXPECT_GE(swept, 28U);
    // Of each pipeline its shader module and itself; block_inverse may find those of kronecker_precondition.
    EXPECT_GE(kept_failures_, 2 * (swept - 1));
    EXPECT_EQ(testing::living_objects(), living);
}

// By their names kernels belong to families; those that do not are named here.
TEST(families, have_every_kernel) {
    constexpr std::array<std::string_view, 6> kOfNoFamilysName{
        "probe_",                // of the runtime
        "multiply_add",          // a limit of the device
        "matrix_multiply_add_",  // another one
        "block_trace_",          // of block_inverse and kronecker_precondition
        "update_share_",         // of es_update
        "kronecker_"};
    for (const KernelModule* module : kernels::all()) {
        const auto begins_with = [&](std::string_view prefix) { return module->name.starts_with(prefix); };
        EXPECT_TRUE(std::ranges::any_of(oracle::families(),
                                        [&](const oracle::Family* family) { return begins_with(family->name); }) ||
                    std::ranges::any_of(kOfNoFamilysName, begins_with))
            << module->name << " is of no family, so that no check, fault or benchmark reaches it";
    }
}

}  // namespace
}  // namespace yolk
