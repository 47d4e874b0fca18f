// SPDX-License-Identifier: Apache-2.0
// A kernel whose work depends on what it finds in its buffers must find the same each time it is timed.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "yolk/internal/autotune/live_surface.hpp"
#include "yolk/internal/autotune/user_kernel.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::autotune {
namespace {

using ::testing::SizeIs;

constexpr std::size_t kHalved = 64;
constexpr std::size_t kMostSeen = 256;

/// Halves until it is below 1: from its second run on the same values it would have nothing to do.
constexpr const char* kHalving = R"(#version 460
layout(local_size_x_id = 0) in;
layout(std430, binding = 0) buffer Values { float values[]; };
layout(std430, binding = 1) buffer Steps { uint steps[]; };
void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i >= 64) return;
    uint count = 0;
    while (values[i] >= 1.0 && count < 100) {
        values[i] *= 0.5;
        ++count;
    }
    steps[i] = count;
}
)";
constexpr const char* kHalvingSpace = R"json({
    "parameters": {"wx": {"values": [8, 16, 32, 64], "constant_id": 0}},
    "buffers": [{"name": "values", "binding": 0, "type": "f32", "elements": 64, "role": "in_out",
                 "content": {"uniform": [100, 5000]}},
                {"name": "steps", "binding": 1, "type": "u32", "elements": 64, "role": "output"}],
    "dispatch": ["ceil_div(64, wx)"],
    "reference": "default"})json";

/// A user's kernel before each of whose runs the device copies the values that it is about to read.
class WatchedProblem final : public oracle::Problem {
   public:
    WatchedProblem(std::unique_ptr<UserKernel> kernel, BufferView seen) : kernel_(std::move(kernel)), seen_(seen) {}

    class Plan final : public oracle::PlannedProblem {
       public:
        Plan(std::unique_ptr<oracle::PlannedProblem> plan, const WatchedProblem& of)
            : plan_(std::move(plan)), of_(of) {}
        [[nodiscard]] MemoryNeeds scratch() const override { return plan_->scratch(); }
        [[nodiscard]] Result<Record> bind(std::span<const BufferView> views, const BufferView& scratch) const override {
            YOLK_TRY(Record record, plan_->bind(views, scratch));
            return Record([record, values = views[0], of = &of_](Recorder& recorder) {
                const std::uint64_t size = kHalved * sizeof(float);
                recorder.barrier(Barrier::ComputeToTransfer);
                recorder.barrier(Barrier::TransferToTransfer);
                if (of->runs < kMostSeen) recorder.copy(values, of->seen_.part(of->runs * size, size));
                recorder.barrier(Barrier::TransferToCompute);
                ++of->runs;
                record(recorder);
            });
        }

       private:
        std::unique_ptr<oracle::PlannedProblem> plan_;
        const WatchedProblem& of_;
    };

    [[nodiscard]] std::string name() const override { return kernel_->name(); }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override { return kernel_->space(info); }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return kernel_->default_configuration(info);
    }
    [[nodiscard]] Result<std::unique_ptr<oracle::PlannedProblem>> plan(
        const Device& device, const Configuration& configuration) const override {
        YOLK_TRY(std::unique_ptr<oracle::PlannedProblem> plan, kernel_->plan(device, configuration));
        return std::unique_ptr<oracle::PlannedProblem>(std::make_unique<Plan>(std::move(plan), *this));
    }
    [[nodiscard]] std::vector<oracle::ProblemBuffer> buffers() const override { return kernel_->buffers(); }
    [[nodiscard]] std::vector<oracle::Expected> expected() const override { return kernel_->expected(); }
    [[nodiscard]] oracle::Work work() const override { return kernel_->work(); }
    void verify(oracle::CheckReport& report, const std::string& case_name,
                std::span<const std::vector<std::uint32_t>> outputs) const override {
        kernel_->verify(report, case_name, outputs);
    }

    mutable std::size_t runs = 0;  ///< the proofs' too

   private:
    std::unique_ptr<UserKernel> kernel_;
    BufferView seen_;
};

class first_contents : public testing::DeviceTest {
   protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("yolk-first-" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
        std::ofstream(folder_ / "my.comp") << kHalving;
        std::ofstream(folder_ / "space.json") << kHalvingSpace;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    /// Times all configurations, and two of them in finals, on the given number of buffer sets; what each run found.
    void time_and_watch(std::size_t sets) {
        const std::uint64_t set_bytes = 2 * kHalved * sizeof(float);
        ASSERT_OK_AND_ASSIGN(auto kernel,
                             UserKernel::create(device(), dispatcher(), folder_ / "my.comp", folder_ / "space.json"));
        ASSERT_OK_AND_ASSIGN(const Buffer seen,
                             device().create_buffer({.size_bytes = kMostSeen * kHalved * 4, .label = "seen"}));
        const WatchedProblem problem(std::move(kernel), seen);
        const std::vector<std::byte> first = problem.buffers()[0].contents;
        ASSERT_OK_AND_ASSIGN(const auto surface, LiveSurface::create(device(), dispatcher(), problem,
                                                                     {.cache_bytes = (sets - 1) * set_bytes}));
        ASSERT_EQ(surface->set_count(), sets);
        for (std::size_t candidate = 0; candidate < surface->candidates().size(); ++candidate) {
            ASSERT_OK_AND_ASSIGN(const LiveMeasurement measured, surface->run(candidate));
            EXPECT_FALSE(measured.milliseconds.empty()) << measured.reason;
            for (const double milliseconds : measured.milliseconds) EXPECT_GT(milliseconds, 0.0);
        }
        const std::vector<std::size_t> finalists{0, 1};
        ASSERT_OK_AND_ASSIGN(const auto finals, surface->final_rounds(finalists, 3));
        for (const LiveMeasurement& measured : finals) EXPECT_THAT(measured.milliseconds, SizeIs(3));

        ASSERT_LT(std::size_t{8}, problem.runs);  // of each candidate: proof, warm-up, a sample
        const std::size_t watched = std::min(problem.runs, kMostSeen);
        std::vector<std::byte> bytes(watched * first.size());
        ASSERT_OK(dispatcher().download(BufferView(seen).part(0, bytes.size()), bytes));
        for (std::size_t run = 0; run < watched; ++run) {
            EXPECT_EQ(std::memcmp(bytes.data() + run * first.size(), first.data(), first.size()), 0)
                << "run " << run << " of " << problem.runs << " found other values";
        }
    }
    std::filesystem::path folder_;
};
YOLK_FOR_EACH_DEVICE(first_contents);

TEST_P(first_contents, are_found_by_every_timed_run_on_one_set_of_buffers) { time_and_watch(1); }

TEST_P(first_contents, are_found_by_every_timed_run_on_several_sets_in_turn) { time_and_watch(3); }

}  // namespace
}  // namespace yolk::autotune
