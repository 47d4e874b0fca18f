// SPDX-License-Identifier: Apache-2.0
// A device that computes wrongly, found late: the run goes back, and nothing that it may have spoilt stays in the
// folder or keeps another run from going on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>

#include "checkpoint.hpp"
#include "temporary_folder.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/fault_injector.hpp"
#include "yolk/internal/train/replay.hpp"
#include "yolk/json.hpp"
#include "yolk/run_log.hpp"
#include "yolk/train.hpp"

namespace yolk::train {
namespace {

using ::testing::HasSubstr;
using ::yolk::testing::expect_error;

constexpr std::uint32_t kRunGenerations = 8;
/// About half of the seeds find the wrong device in the first generation, before there is anything to go back from.
constexpr std::uint64_t kMostSeeds = 30;

class going_back : public ::testing::Test {
   protected:
    /// The second device passes its probe, and its kernels add where they multiply from then on.
    void SetUp() override {
        static_cast<void>(right());  // before the injector, which can fail only devices that are made after it
        faults_.emplace();
        faults_->only_on_device(2);
        for (const std::string& name : {testing::other_device_name(), testing::first_device_name()}) {
            ASSERT_OK_AND_ASSIGN(const Device device, Device::create(testing::instance(), testing::device_index(name)));
            ASSERT_OK(probe(device));
            devices_.push_back(device);
        }
        faults_->spoil_multiplications(true);
    }
    static const Device& right() { return testing::other_device().device; }
    [[nodiscard]] TrainOptions options(const std::string& folder, std::uint64_t seed) const {
        return {.evolution = {.population = 16, .optimizer = OptimizerRule::Momentum, .seed = seed},
                .network = {.widths = {4, 8, 2}},
                .generations = kRunGenerations,
                .stop_when_solved = false,
                .max_steps = 30,
                .out = folder_.path() / folder,
                .checkpoint_every = 2,
                .evaluation_episodes = 4,
                .rollout_config = RolloutConfig{.unrolled = false},  // quick to compile
                .audit = 0.15};
    }
    /// The same run, of which nothing is wrong; its folder is what the other's must come to.
    [[nodiscard]] Result<TrainOutcome> run_right(const TrainOptions& like) const {
        TrainOptions run = like;
        run.out = right_folder(like);
        run.audit = 0.0;
        return train(right(), run);
    }
    [[nodiscard]] static std::filesystem::path right_folder(const TrainOptions& like) {
        return like.out.string() + "-right";
    }
    std::optional<testing::FaultInjector> faults_;
    std::vector<Device> devices_;
    TemporaryFolder folder_;
};

/// Names of the states in the lines of metrics.jsonl.
std::vector<std::string> states_of(const std::filesystem::path& folder) {
    std::vector<std::string> states;
    std::istringstream text(text_of(folder / "metrics.jsonl"));
    for (std::string line; std::getline(text, line);) {
        const Result<Json> json = parse_json(line, "a line of metrics.jsonl");
        EXPECT_OK(json);
        if (!json || !json->contains("generation")) continue;
        states.push_back(std::to_string(json->value("generation", 99U)) + " " + json->value("state_digest", "none"));
    }
    return states;
}

void expect_good_checkpoint(const std::filesystem::path& folder, const std::vector<std::string>& hashes) {
    ASSERT_OK_AND_ASSIGN(const Checkpoint saved, load_checkpoint(folder / "checkpoint.yolk"));
    ASSERT_GE(saved.generation, 1U);
    ASSERT_LE(saved.generation, hashes.size());
    EXPECT_EQ(saved.state_hash, hashes[saved.generation - 1]) << "after generation " << saved.generation;
}

/// What a run looks like whose reports are watched: whether a generation came again, and from then on the checkpoint.
struct Watch {
    const std::filesystem::path& folder;
    const std::vector<std::string>& hashes;
    std::uint32_t next = 0;
    bool went_back = false;
    bool operator()(const GenerationReport& report) {
        const bool again = report.generation < next;
        next = report.generation + 1;
        went_back |= again;
        if (went_back) expect_good_checkpoint(folder, hashes);
        if (!again) return true;
        const Result<Checkpoint> saved = load_checkpoint(folder / "checkpoint.yolk");
        EXPECT_TRUE(saved && saved->generation == next) << "a checkpoint is due at once";
        return true;
    }
};

TEST_F(going_back, leaves_nothing_spoilt_in_the_folder) {
    for (const std::uint32_t hash_every : {0U, 1U}) {
        SCOPED_TRACE(hash_every);
        bool went_back = false;
        for (std::uint64_t seed = 1; !went_back && seed <= kMostSeeds; ++seed) {
            SCOPED_TRACE(seed);
            TrainOptions run = options(std::to_string(hash_every) + "-" + std::to_string(seed), seed);
            run.hash_every = hash_every;
            TrainOptions longer = run;
            longer.generations = kRunGenerations + 2;
            ASSERT_OK_AND_ASSIGN(const std::vector<std::string> hashes, train_twin(longer));
            Watch watch{.folder = run.out, .hashes = hashes};
            ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(devices_, run, std::ref(watch)));
            went_back = watch.went_back;
            EXPECT_EQ(outcome.state_hash, hashes[kRunGenerations - 1]);
            EXPECT_EQ(outcome.generations, kRunGenerations);
            ASSERT_OK(run_right(run));
            EXPECT_EQ(states_of(run.out), states_of(right_folder(run)));
            for (const char* name : {"log.yolk", "checkpoint.yolk", "policy.safetensors"})
                EXPECT_EQ(text_of(run.out / name), text_of(right_folder(run) / name)) << name;
            ASSERT_OK_AND_ASSIGN(const ReplayOutcome replayed, replay(right(), run.out));
            EXPECT_EQ(replayed.state_hash, hashes[kRunGenerations - 1]);
            longer.resume = true;
            longer.audit = 0.0;
            ASSERT_OK_AND_ASSIGN(const TrainOutcome resumed, train(right(), longer));
            EXPECT_EQ(resumed.state_hash, hashes.back());
            if (HasFailure()) return;
        }
        EXPECT_TRUE(went_back) << "no seed of " << kMostSeeds << " made the run go back";
    }
}

// The wrong device also counts wrong observations, which move every later one.
TEST_F(going_back, counts_no_observation_of_a_wrong_device) {
    bool went_back = false;
    for (std::uint64_t seed = 1; !went_back && seed <= kMostSeeds; ++seed) {
        SCOPED_TRACE(seed);
        TrainOptions run = options("normalized" + std::to_string(seed), seed);
        run.network.normalized = true;
        ASSERT_OK_AND_ASSIGN(const std::vector<std::string> hashes, train_twin(run));
        Watch watch{.folder = run.out, .hashes = hashes};
        ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(devices_, run, std::ref(watch)));
        went_back = watch.went_back;
        EXPECT_EQ(outcome.state_hash, hashes.back());
        ASSERT_OK(run_right(run));
        for (const char* name : {"log.yolk", "checkpoint.yolk", "policy.safetensors"})
            EXPECT_EQ(text_of(run.out / name), text_of(right_folder(run) / name)) << name;
        if (HasFailure()) return;
    }
    EXPECT_TRUE(went_back) << "no seed of " << kMostSeeds << " made the run go back";
}

// As a kill would, a folder in place of metrics.jsonl ends it before its last step: what is there by then must do.
TEST_F(going_back, that_ends_half_way_leaves_nothing_spoilt_to_resume_from) {
    bool went_back = false;
    for (std::uint64_t seed = 1; !went_back && seed <= kMostSeeds; ++seed) {
        SCOPED_TRACE(seed);
        TrainOptions run = options(std::to_string(seed), seed);
        ASSERT_OK_AND_ASSIGN(const std::vector<std::string> hashes, train_twin(run));
        const std::filesystem::path metrics = run.out / "metrics.jsonl";
        const std::filesystem::path kept = folder_.path() / "kept.jsonl";
        const Result<TrainOutcome> outcome = train(devices_, run, [&](const GenerationReport& report) {
            if (report.generation > 0 || std::filesystem::is_directory(metrics)) return true;
            std::filesystem::rename(metrics, kept);  // the run goes on writing to it
            std::filesystem::create_directory(metrics);
            return true;
        });
        went_back = !outcome.has_value();
        if (!went_back) continue;
        EXPECT_THAT(outcome.error().message, HasSubstr("metrics.jsonl"));
        ASSERT_OK(run_right(run));
        const std::string log = text_of(run.out / "log.yolk");
        EXPECT_EQ(log, text_of(right_folder(run) / "log.yolk").substr(0, log.size()));
        const bool has_checkpoint = std::filesystem::exists(run.out / "checkpoint.yolk");
        if (has_checkpoint) expect_good_checkpoint(run.out, hashes);
        ASSERT_OK_AND_ASSIGN(const evolve::RunLogReader left, evolve::RunLogReader::open(run.out / "log.yolk"));
        EXPECT_LT(left.generations(), kRunGenerations);
        std::filesystem::remove(metrics);
        std::filesystem::rename(kept, metrics);
        run.audit = 0.0;
        run.resume = has_checkpoint || left.generations() > 0;
        ASSERT_OK_AND_ASSIGN(const TrainOutcome resumed, train(right(), run));
        EXPECT_EQ(resumed.state_hash, hashes.back());
        EXPECT_EQ(states_of(run.out), states_of(right_folder(run)));
    }
    EXPECT_TRUE(went_back) << "no seed of " << kMostSeeds << " made the run go back";
}

TEST_F(going_back, is_not_needed_where_another_device_can_resume) {
    TrainOptions run = options("parts", 3);
    run.generations = 4;
    run.checkpoint_every = 0;
    run.audit = 0.0;
    ASSERT_OK(train(right(), run));
    std::filesystem::remove(run.out / "checkpoint.yolk");  // so that the log is applied
    run.generations = 6;
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> hashes, train_twin(run));
    run.resume = true;
    const std::vector<Device> all_wrong{devices_[1]};
    EXPECT_TRUE(expect_error(train(all_wrong, run), ErrorKind::Failed, "Replaying generation 0 of"));
    run.audit = 1.0;
    const std::vector<Device> wrong_first{devices_[1], devices_[0]};
    ::testing::internal::CaptureStderr();
    const Result<TrainOutcome> resumed = train(wrong_first, run);
    const std::string said = ::testing::internal::GetCapturedStderr();
    ASSERT_OK(resumed);
    EXPECT_EQ(resumed->resumed_from, 4U);
    EXPECT_EQ(resumed->state_hash, hashes.back());
    EXPECT_THAT(said, HasSubstr(devices_[1].info().name));
    EXPECT_THAT(said, HasSubstr("another device was asked"));
}

// The first device is lost early, and the run diverges later: the log is applied by the one that is left.
TEST_F(going_back, from_a_divergence_takes_a_device_that_is_left) {
    faults_->spoil_multiplications(false);
    ASSERT_OK_AND_ASSIGN(const Device mortal,
                         Device::create(testing::instance(), testing::device_index(testing::first_device_name())));
    ASSERT_OK(probe(mortal));
    TrainOptions run = options("diverged", 3);
    run.evolution = {
        .population = 32, .learning_rate = 1e38F, .optimizer = OptimizerRule::Momentum, .beta1 = 0.999F, .seed = 3};
    run.generations = 30;
    run.checkpoint_every = 0;
    run.hash_every = 0;
    run.audit = 0.0;
    std::uint32_t good = 0;
    const std::vector<Device> devices{mortal, right()};
    const Result<TrainOutcome> outcome = train(devices, run, [&](const GenerationReport& report) {
        good = report.generation + 1;
        if (report.generation == 0) faults_->fail_nth_call(1, testing::FaultKind::DeviceLost);
        return true;
    });
    EXPECT_NE(faults_->injected_into(), "");
    ASSERT_GE(good, 2U);
    EXPECT_TRUE(
        expect_error(outcome, ErrorKind::Failed, "The last good state, after " + std::to_string(good) + " generation"));
    ASSERT_OK_AND_ASSIGN(const Checkpoint saved, load_checkpoint(run.out / "checkpoint.yolk"));
    EXPECT_EQ(saved.generation, good);
}

}  // namespace
}  // namespace yolk::train
