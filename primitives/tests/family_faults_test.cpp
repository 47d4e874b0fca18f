// SPDX-License-Identifier: Apache-2.0
// Each driver call on the way from a plan to its result fails once, for every kernel family: planning, binding,
// recording, submitting and waiting give an error that names an object and leave nothing behind, and the next run on
// the same device gives what the oracle expects.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/runtime/probe.hpp"
#include "yolk/shaders/catalogue.hpp"
#include "yolk/testing/device_test.hpp"
#include "yolk/testing/fault_injector.hpp"

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

/// A problem on one device: its inputs lie there, and everything else is made and dropped by each run.
class FamilyWork {
   public:
    FamilyWork(const Device& device, Dispatcher& dispatcher, const oracle::Problem& problem,
               const oracle::ProblemProof& proof)
        : device_(&device),
          dispatcher_(&dispatcher),
          problem_(&problem),
          proof_(&proof),
          configuration_(problem.default_configuration(device.info())) {}

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
        .names = {"[the family's scratch]", "[the family's work]", "timeline semaphore", "descriptor pool"},
        // Names are for debuggers; of memory, less is asked for.
        .tolerated = {"vkSetDebugUtilsObjectNameEXT", "vkAllocateMemory"}};
    for (const KernelModule* module : kernels::all()) sweep.names.push_back(fmt::format("[{}", module->name));
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
    testing::FaultInjector faults_;
};
YOLK_FOR_EACH_DEVICE(family_faults);

TEST_P(family_faults, any_call_from_plan_to_result) {
    const std::string living = testing::living_objects();
    for (const FaultKind kind : {FaultKind::OutOfHostMemory, FaultKind::OutOfDeviceMemory}) {
        ASSERT_OK_AND_ASSIGN(const Device device, new_device());
        ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(device));
        for (const oracle::Family* family : oracle::families()) {
            SCOPED_TRACE(family->name);
            const auto begin = std::chrono::steady_clock::now();
            const auto problem = smallest_problem(*family);
            ASSERT_NE(problem, nullptr);
            const oracle::ProblemProof proof(*problem);
            FamilyWork work(device, dispatcher, *problem, proof);
            ASSERT_OK(work.fill());
            testing::Sweep sweep = family_sweep();
            sweep.kinds = {kind};
            testing::sweep_kept_on_device(faults_, sweep, kind, [&] { return work.run(); });
            const auto kept = std::chrono::steady_clock::now();
            ASSERT_OK(work.prove());
            const auto proven = std::chrono::steady_clock::now();
            sweep.afterwards = [&] { return work.prove(); };
            testing::sweep_calls(faults_, sweep, [&] { return work.run(); });
            const auto end = std::chrono::steady_clock::now();
            fmt::print("{:22} {} bytes {} kept {:.0f} prove {:.0f} calls {} in {:.0f} ms\n", family->name,
                       problem->name(), problem->work().bytes,
                       std::chrono::duration<double, std::milli>(kept - begin).count(),
                       std::chrono::duration<double, std::milli>(proven - kept).count(), faults_.calls(),
                       std::chrono::duration<double, std::milli>(end - proven).count());
        }
    }
    EXPECT_EQ(testing::living_objects(), living);
}

}  // namespace
}  // namespace yolk
