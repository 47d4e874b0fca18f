// SPDX-License-Identifier: Apache-2.0
#include "rollout_steps_check.hpp"
#include "yolk/internal/reference/rollout_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

namespace yolk::oracle {

namespace {

/// What a slot holds behind the state (shaders/rollout/rollout.comp): the return so far, and 1 once the episode ended.
constexpr std::size_t kWordsBehindState = 2;

/// One roll-out for each number of steps. They share the pipeline, for steps are no part of it.
class PlannedSteps final : public PlannedProblem {
   public:
    PlannedSteps(std::vector<RolloutPlan> plans, const NoiseContext& when, std::uint64_t slots_bytes)
        : plans_(std::move(plans)), when_(when), slots_bytes_(slots_bytes) {}

    /// The slots, which are a roll-out's scratch, are an output here.
    [[nodiscard]] MemoryNeeds scratch() const override { return {}; }
    [[nodiscard]] Result<Record> bind(std::span<const BufferView> views, const BufferView& /*scratch*/) const override {
        const auto bounds = std::make_shared<std::vector<BoundRollout>>();
        for (const RolloutPlan& plan : plans_) {
            BufferView slots = views[3];
            slots.offset_bytes += bounds->size() * slots_bytes_;
            slots.size_bytes = slots_bytes_;
            YOLK_TRY(BoundRollout bound,
                     plan.bind({.parameters = views[0], .returns = views[1], .evaluations = views[2]}, slots));
            bounds->push_back(std::move(bound));
        }
        return Record([bounds, when = when_](Recorder& recorder) {
            for (const BoundRollout& bound : *bounds) {
                recorder.barrier(Barrier::ComputeToCompute);
                bound.record(recorder, when);
            }
        });
    }

   private:
    std::vector<RolloutPlan> plans_;
    NoiseContext when_;
    std::uint64_t slots_bytes_;
};

class RolloutStepsProblem final : public Problem {
   public:
    RolloutStepsProblem(std::string name, const RolloutDesc& desc, std::vector<float> parameters,
                        const NoiseContext& when)
        : name_(std::move(name)), desc_(desc), parameters_(std::move(parameters)), when_(when) {
        for (std::uint32_t member = 0; member < desc_.members; ++member)
            traces_.push_back(reference::rollout_trace(desc_, parameters_, when_, member, 0));
    }

    [[nodiscard]] std::string name() const override { return name_; }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override { return space_of(info, desc_).space(); }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return space_of(info, desc_).configuration(heuristic_of(info, desc_));
    }
    [[nodiscard]] Result<std::unique_ptr<PlannedProblem>> plan(const Device& device,
                                                               const Configuration& configuration) const override {
        RolloutDesc desc = desc_;
        desc.config = space_of(device.info(), desc_).config(configuration);
        std::vector<RolloutPlan> plans;
        for (desc.max_steps = 1; desc.max_steps <= desc_.max_steps; ++desc.max_steps) {
            YOLK_TRY(RolloutPlan plan, plan_rollout(device, desc));
            plans.push_back(std::move(plan));
        }
        std::unique_ptr<PlannedProblem> planned =
            std::make_unique<PlannedSteps>(std::move(plans), when_, 4 * slots_words());
        return planned;
    }
    [[nodiscard]] std::vector<ProblemBuffer> buffers() const override {
        return {input_buffer("parameters", parameters_), output_buffer("returns", std::uint64_t{4} * desc_.members),
                output_buffer("evaluations", std::uint64_t{4} * kEvaluationCounters),
                output_buffer("slots", 4 * slots_words() * desc_.max_steps)};
    }
    /// verify() says all of it: what a slot holds is no result of the kernel, and no part of the check's hash.
    [[nodiscard]] std::vector<Expected> expected() const override { return std::vector<Expected>(3); }
    /// At least: one operation for each step.
    [[nodiscard]] Work work() const override {
        const double steps = static_cast<double>(desc_.members) * desc_.max_steps;
        return {.operations = steps, .bytes = 4.0 * static_cast<double>(slots_words()) * desc_.max_steps};
    }
    void verify(CheckReport& report, const std::string& case_name,
                std::span<const std::vector<std::uint32_t>> outputs) const override {
        verify_words_against_twin(report, case_name + ", slots", outputs[2], slots_twin());
        for (std::uint32_t member = 0; member < desc_.members; ++member)
            verify_member(report, fmt::format("{}, member {}", case_name, member), member, outputs[2]);
    }

   private:
    [[nodiscard]] std::size_t state_words() const { return traces_[0][0].state.size(); }
    [[nodiscard]] std::size_t slot_words() const { return state_words() + kWordsBehindState; }
    /// The memories of a recurrent layer lie behind the slots.
    [[nodiscard]] std::size_t slots_words() const { return (slot_words() + desc_.network.recurrent) * desc_.members; }

    /// [steps], each [members, words of a slot] and [members, recurrent units]
    [[nodiscard]] std::vector<std::uint32_t> slots_twin() const {
        std::vector<std::uint32_t> words;
        for (std::size_t steps = 1; steps <= desc_.max_steps; ++steps) {
            for (const std::vector<reference::RolloutStep>& trace : traces_) {
                const std::size_t made = std::min(steps, trace.size());
                const reference::RolloutStep& last = trace[made - 1];
                const bool starts_again = last.terminated && desc_.never_stop;
                for (const float value : starts_again ? trace[0].state : last.next_state)
                    words.push_back(std::bit_cast<std::uint32_t>(value));
                float total = 0.0F;
                for (std::size_t i = 0; i < made; ++i) total += trace[i].reward;
                words.push_back(std::bit_cast<std::uint32_t>(total));
                words.push_back(last.terminated && !desc_.never_stop ? 1 : 0);
            }
            for (const std::vector<reference::RolloutStep>& trace : traces_) {
                const reference::RolloutStep& last = trace[std::min(steps, trace.size()) - 1];
                const bool starts_again = last.terminated && desc_.never_stop;
                for (const float value : starts_again ? trace[0].memory : last.next_memory)
                    words.push_back(std::bit_cast<std::uint32_t>(value));
            }
        }
        return words;
    }

    [[nodiscard]] std::vector<float> floats_in(std::span<const std::uint32_t> slots, std::size_t steps,
                                               std::size_t first, std::size_t count) const {
        std::vector<float> values;
        for (const std::uint32_t word : slots.subspan((steps - 1) * slots_words() + first, count))
            values.push_back(std::bit_cast<float>(word));
        return values;
    }
    [[nodiscard]] std::vector<float> state_in(std::span<const std::uint32_t> slots, std::size_t steps,
                                              std::uint32_t member) const {
        return floats_in(slots, steps, member * slot_words(), state_words());
    }
    [[nodiscard]] std::vector<float> memory_in(std::span<const std::uint32_t> slots, std::size_t steps,
                                               std::uint32_t member) const {
        const std::size_t units = desc_.network.recurrent;
        return floats_in(slots, steps, desc_.members * slot_words() + member * units, units);
    }

    /// Along the device's states, but where an episode starts again: that state is the twin's reset.
    void verify_member(CheckReport& report, const std::string& name, std::uint32_t member,
                       std::span<const std::uint32_t> slots) const {
        const EnvironmentOracle* const environment = find_environment_oracle(desc_.environment);
        if (environment == nullptr) return report.fail(fmt::format("{}: no oracle for its environment.", name));
        const PolicyOracle policy(desc_, parameters_, when_, member);
        const std::vector<reference::RolloutStep>& trace = traces_[member];
        std::vector<float> state = trace[0].state;
        std::vector<float> memory = trace[0].memory;
        for (std::size_t i = 0; i < trace.size(); ++i) {
            const std::vector<float> next = state_in(slots, i + 1, member);
            const std::vector<float> next_memory = memory_in(slots, i + 1, member);
            if (!trace[i].terminated || !desc_.never_stop) {
                const std::string step_name = fmt::format("{}, step {}", name, i);
                const PolicyOracle::Step oracle = policy.step(state, given_values(memory));
                verify_rollout_values(report, step_name + ", memory", next_memory, oracle.memory);
                verify_step(report, step_name, *environment, oracle.outputs, state, next);
            }
            state = next;
            memory = next_memory;
        }
    }

    /// The action that was taken is the one whose state in double is nearest.
    void verify_step(CheckReport& report, const std::string& name, const EnvironmentOracle& environment,
                     std::span<const RolloutValue> outputs, std::span<const float> state,
                     std::span<const float> next) const {
        std::vector<RolloutValue> nearest;
        std::uint32_t taken = 0;
        double least = std::numeric_limits<double>::infinity();
        for (std::uint32_t action = 0; action < outputs.size(); ++action) {
            std::vector<RolloutValue> predicted = environment.step(state, std::array{static_cast<float>(action)});
            double off = 0.0;
            for (std::size_t word = 0; word < next.size(); ++word)
                off = std::max(off, std::abs(next[word] - predicted[word].value) / predicted[word].tolerance);
            if (!nearest.empty() && !(off < least)) continue;
            least = off;
            taken = action;
            nearest = std::move(predicted);
        }
        verify_rollout_action(report, name, taken, outputs);
        verify_rollout_values(report, name + ", state", next, nearest);
    }

    std::string name_;
    RolloutDesc desc_;
    std::vector<float> parameters_;
    NoiseContext when_;
    std::vector<std::vector<reference::RolloutStep>> traces_;  // the twin's, by member
};

}  // namespace

void verify_rollout_values(CheckReport& report, const std::string& name, std::span<const float> got,
                           std::span<const RolloutValue> oracle) {
    std::vector<Bounded> values;
    for (const RolloutValue& value : oracle) values.push_back({value.value, value.tolerance});
    verify_against_oracle(report, name, std::vector<float>(got.begin(), got.end()), values);
}

void verify_rollout_action(CheckReport& report, const std::string& name, std::uint32_t action,
                           std::span<const RolloutValue> outputs) {
    const RolloutValue& chosen = outputs[action];
    for (const RolloutValue& other : outputs) {
        if (chosen.value + chosen.tolerance >= other.value - other.tolerance) continue;
        report.fail(fmt::format("{}: action {} was taken, whose output is {:.9g} where another is {:.9g}.", name,
                                action, chosen.value, other.value));
    }
}

std::unique_ptr<Problem> make_rollout_steps_problem(std::string name, const RolloutDesc& desc,
                                                    std::vector<float> parameters, const NoiseContext& when) {
    return std::make_unique<RolloutStepsProblem>(std::move(name), desc, std::move(parameters), when);
}

}  // namespace yolk::oracle
