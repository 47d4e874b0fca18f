// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "yolk/internal/autotune/portfolio.hpp"
#include "yolk/internal/autotune/user_kernel.hpp"
#include "yolk/internal/context/architecture.hpp"
#include "yolk/internal/oracle/named_problem.hpp"
#include "yolk/internal/oracle/untuned.hpp"
#include "yolk/internal/runtime/probe.hpp"

namespace yolk::autotune {
namespace {

SourceAnswer architecture_answer(const ShapeQuestion& question, const std::vector<TuningChoice>& choices,
                                 std::string text) {
    const std::string name = architecture_of(question.key.device);
    if (!text.empty()) return {"same architecture", fmt::format("{}: {}", name, text)};
    if (name.empty()) return {"same architecture", "this device's is not known"};
    std::size_t count = 0;
    for (const TuningChoice& choice : choices) {
        if (choice.key.family == question.key.family && choice.key.device.device != question.key.device.device &&
            same_architecture(choice.key.device, question.key.device) &&
            tuning_distance(choice.key.shape, question.key.shape))
            ++count;
    }
    return {"same architecture", fmt::format("{}: {} choices of other devices, none with this driver and these kernels "
                                             "near enough; `yolk tune` measures them first",
                                             name, count)};
}

std::string portfolio_answer(const ShapeQuestion& question) {
    std::size_t allowed = 0;
    const std::vector<StoredConfiguration> portfolio = shipped_portfolio(question.key.family);
    for (const StoredConfiguration& configuration : portfolio) {
        const auto values = configuration_in(question.space, configuration);
        allowed += values && question.space.check(*values) ? 1U : 0U;
    }
    if (portfolio.empty()) return "none for this family";
    return fmt::format("{} configurations, {} of them allowed here; `yolk tune` tries them, a plan does not",
                       portfolio.size(), allowed);
}

/// Choices near this shape on this device that no plan takes here.
struct Passed {
    std::size_t other_driver = 0;
    std::size_t other_kernels = 0;
};

Passed passed_over(const ShapeQuestion& question, const std::vector<TuningChoice>& choices) {
    Passed passed;
    for (const TuningChoice& choice : choices) {
        if (choice.key.family != question.key.family || choice.key.device.device != question.key.device.device)
            continue;
        if (!tuning_distance(choice.key.shape, question.key.shape)) continue;
        if (choice.key.device.driver != question.key.device.driver) {
            ++passed.other_driver;
        } else if (choice.key.kernels != question.key.kernels) {
            ++passed.other_kernels;
        }
    }
    return passed;
}

std::vector<SourceAnswer> ladder(const ShapeQuestion& question, const std::vector<TuningChoice>& choices,
                                 const std::vector<Quarantined>& quarantined) {
    const TuningTable mine = usable_choices(choices, quarantined, question.key.device);
    const std::optional<TuningAnswer> answer = mine.find(question.space);
    const bool exact = answer && answer->source == TuningSource::Exact;
    const bool near = answer && answer->source == TuningSource::NearestShape;
    const bool alike = answer && answer->source == TuningSource::SameArchitecture;
    const auto told = [&](const char* otherwise) {
        if (!answer) return std::string(otherwise);
        return fmt::format("{}{} -> {}", shape_text(answer->entry->family, answer->entry->shape),
                           answer->entry->pinned ? ", pinned" : "", question.space.text(answer->configuration));
    };
    std::vector<SourceAnswer> sources;
    sources.push_back({"exact",
                       exact ? told("") : fmt::format("nothing in the bucket {}", tuning_bucket(question.key.shape)),
                       exact});
    const Passed passed = passed_over(question, choices);
    const auto bad = std::ranges::count(quarantined, question.key, &Quarantined::key);
    sources.push_back(
        {"same device, other driver",
         fmt::format("{} choices; `yolk tune` measures them first, a plan does not take them", passed.other_driver)});
    sources.push_back({"nearest shape", near ? told("") : (exact ? "not asked" : "none near enough"), near});
    sources.push_back(
        architecture_answer(question, choices, alike ? told("") : std::string(answer ? "not asked" : "")));
    sources.back().answers = alike;
    sources.push_back({"portfolio", portfolio_answer(question)});
    sources.push_back({"heuristic", question.space.text(question.heuristic), !answer});
    if (passed.other_kernels > 0)
        sources.push_back({"misses", fmt::format("{} choices were measured with other SPIR-V", passed.other_kernels)});
    for (const TuningChoice& choice : choices) {
        if (choice.key != question.key || fits(question.space, choice.configuration)) continue;
        sources.push_back({"misses", fmt::format("{}: none of the space: {}", values_text(choice.configuration),
                                                 misfit_text(question.space, choice.configuration))});
    }
    if (bad > 0) sources.push_back({"quarantine", fmt::format("{} configurations of this shape are not run", bad)});
    return sources;
}

}  // namespace

bool is_user_kernel(std::string_view text) noexcept {
    constexpr std::string_view kFamily = kUserKernelFamily;
    return text.starts_with(kFamily) && (text.size() == kFamily.size() || text[kFamily.size()] == ' ');
}

Result<ShapeQuestion> shape_question(const Device& device, std::string_view text) {
    if (is_user_kernel(text)) {
        return bad_input(
            "A kernel of your own has no ladder and nothing to pin: no plan of Yolk's asks for it. The table lists it, "
            "shows it and forgets it; what won is in the file that tuning it writes.");
    }
    YOLK_TRY(const std::unique_ptr<oracle::Problem> problem, oracle::make_named_problem(text));
    YOLK_TRY_VOID(probe(device));
    TuningSpace space = problem->space(device.usable_info());
    TuningKey key = tuning_key(device.info(), space);
    YOLK_TRY(Configuration untuned, oracle::untuned_configuration(device, *problem));
    return ShapeQuestion{std::move(space), std::move(key), std::move(untuned)};
}

Result<std::vector<SourceAnswer>> explain(const ShapeQuestion& question, const TuningFile& file) {
    YOLK_TRY(const std::vector<TuningChoice> choices, file.choices());
    YOLK_TRY(const std::vector<Quarantined> quarantined, file.quarantined());
    return ladder(question, choices, quarantined);
}

}  // namespace yolk::autotune
