// SPDX-License-Identifier: Apache-2.0
#include "device_evaluator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "output_space.hpp"
#include "program_run.hpp"

namespace yolk::hyper::population {
namespace {

constexpr std::size_t kKeptPrograms = 8;

}  // namespace

std::uint64_t quarter_of_the_heap(const Device& device) {
    std::uint64_t largest = 0;
    for (const MemoryHeapInfo& heap : device.heaps()) largest = std::max(largest, heap_room(device.info().kind, heap));
    return largest / 4;
}

Result<Program*> DeviceEvaluator::program_for(const Question& question) {
    std::string key = question.key();
    const auto found = std::ranges::find(programs_, key, &Known::key);
    if (found != programs_.end()) {
        std::rotate(found, found + 1, programs_.end());
        Known& latest = programs_.back();
        if (latest.version != examples_->version()) YOLK_TRY_VOID(latest.program->take_examples());
        latest.version = examples_->version();
        return latest.program.get();
    }
    const Program::Options wanted{.members_per_chunk = options_.max_batch_size == 0
                                                           ? 0
                                                           : std::max(1U, options_.max_batch_size / examples_->count()),
                                  .budget_bytes = options_.memory_budget_bytes > 0 || dispatcher_ == nullptr
                                                      ? options_.memory_budget_bytes
                                                      : quarter_of_the_heap(dispatcher_->device()),
                                  .antithetic = question.perturbations.antithetic,
                                  .determinism = options_.determinism,
                                  .kept_plans = kept_plans_,
                                  .keep_outputs = !question.carried.empty(),
                                  .plain_outputs = options_.plain_outputs,
                                  .mean_outputs = options_.mean_outputs,
                                  .joined_kernels = options_.joined_kernels};
    YOLK_TRY(auto program, Program::create(dispatcher_, examples_->groups(), question.sources, wanted));
    if (programs_.size() == kKeptPrograms) programs_.erase(programs_.begin());
    programs_.push_back({std::move(key), std::move(program), examples_->version()});
    return programs_.back().program.get();
}

Result<PopulationOutputs> DeviceEvaluator::evaluate(const Question& question, const evolve::MemberRange& part,
                                                    HostMemory* memory) {
    YOLK_TRY(Program* const program, program_for(question));
    if (!question.carried.empty() && !program->makes_states())
        return bad_input("Candidates carry a state, for which kernels must make everything. {}",
                         fmt::join(program->fallbacks(), " "));
    Candidates candidates(question, part);
    YOLK_TRY(PopulationOutputs outputs,
             Run(dispatcher_, pool_, *program, candidates, examples_->count(), memory).all());
    if (options_.mean_outputs && !program->makes_means()) YOLK_TRY_VOID(average_values(outputs));
    return outputs;
}

Result<PopulationOutputs> DeviceEvaluator::evaluate_into(const Question& question, const BufferView& means) {
    YOLK_TRY(Program* const program, program_for(question));
    const std::uint64_t unperturbed = question.perturbations.first_member < 0 ? 1U : 0U;
    const std::uint64_t bytes =
        kElementBytes * (question.count() - std::min<std::uint64_t>(unperturbed, question.count()));
    if (!program->means_stay()) {
        return bad_input(
            "Not all means of this population are made and judged by kernels, so that they cannot stay on the device. "
            "Ask means_stay() before.");
    }
    if (means.size_bytes != bytes) {
        return bad_input("The means of {} members take {} bytes; the view has {}.", bytes / kElementBytes, bytes,
                         means.size_bytes);
    }
    Candidates candidates(question, {.count = question.count()});
    return Run(dispatcher_, pool_, *program, candidates, examples_->count()).all_into(means);
}

std::vector<std::string> DeviceEvaluator::fallbacks() const {
    std::set<std::string> sentences;
    for (const Known& known : programs_) {
        for (std::string& sentence : known.program->fallbacks()) sentences.insert(std::move(sentence));
    }
    return {sentences.begin(), sentences.end()};
}

}  // namespace yolk::hyper::population
