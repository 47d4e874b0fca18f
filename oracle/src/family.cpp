// SPDX-License-Identifier: Apache-2.0
#include "yolk/oracle/family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "check_tools.hpp"
#include "yolk/core/hash.hpp"

namespace yolk::oracle {
namespace {

/// One case with everything that is the same for all its runs.
struct Case {
    const Problem& problem;
    std::vector<ProblemBuffer> buffers;
    std::vector<Expected> expected;
};

std::vector<double> values_of(std::span<const std::uint32_t> words, ElementType element) {
    std::vector<double> values;
    values.reserve(words.size());
    for (const std::uint32_t word : words) {
        switch (element) {
            case ElementType::F32: values.push_back(std::bit_cast<float>(word)); break;
            case ElementType::I32: values.push_back(static_cast<std::int32_t>(word)); break;
            case ElementType::U32: values.push_back(word); break;
        }
    }
    return values;
}

std::vector<std::uint32_t> words_of_bytes(std::span<const std::byte> bytes) {
    std::vector<std::uint32_t> words(bytes.size() / sizeof(std::uint32_t));
    if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint32_t));
    return words;
}

/// Fails where an element that is not to be written was; then makes it look right, for the comparisons that follow.
void hold_kept(CheckReport& report, const std::string& name, const ProblemBuffer& buffer, const Expected& expected,
               std::uint32_t poison, std::vector<std::uint32_t>& words) {
    const std::vector<std::uint32_t> before = buffer.role == BufferRole::InOut
                                                  ? words_of_bytes(buffer.contents)
                                                  : std::vector<std::uint32_t>(words.size(), poison);
    std::uint64_t written = 0;
    for (std::size_t i = 0; i < std::min(words.size(), expected.kept.size()); ++i) {
        if (!expected.kept[i]) continue;
        if (words[i] != before[i]) ++written;
        words[i] = 0;
    }
    if (written != 0)
        report.fail(
            fmt::format("{}: {} elements of {} were written that are not its to write.", name, written, buffer.name));
}

/// `words` with zeros where `kept` says so.
std::vector<std::uint32_t> without_kept(std::vector<std::uint32_t> words, const std::vector<bool>& kept) {
    for (std::size_t i = 0; i < std::min(words.size(), kept.size()); ++i) {
        if (kept[i]) words[i] = 0;
    }
    return words;
}

void hold_output(CheckReport& report, const std::string& name, const ProblemBuffer& buffer, const Expected& expected,
                 std::uint32_t poison, std::vector<std::uint32_t> words) {
    const std::string where = fmt::format("{}, {}", name, buffer.name);
    hold_kept(report, where, buffer, expected, poison, words);
    if (!expected.twin.empty() || buffer.size_bytes == 0) {
        hold_words_to_twin(report, where, words, without_kept(expected.twin, expected.kept));
    }
    if (expected.oracle.empty()) return;
    std::vector<OracleValue> oracle = expected.oracle;
    for (std::size_t i = 0; i < std::min(oracle.size(), expected.kept.size()); ++i) {
        if (expected.kept[i]) oracle[i] = {};
    }
    hold_to_oracle(report, where, values_of(words, expected.element), oracle);
}

Result<std::vector<GuardedBuffer>> make_buffers(const CheckContext& context, const Case& c, std::uint32_t poison) {
    std::vector<GuardedBuffer> guarded;
    for (const ProblemBuffer& buffer : c.buffers) {
        YOLK_TRY(GuardedBuffer made,
                 GuardedBuffer::create(context.device, context.dispatcher, buffer.size_bytes, poison, buffer.name));
        if (buffer.role != BufferRole::Output) YOLK_TRY_VOID(made.upload(buffer.contents));
        guarded.push_back(std::move(made));
    }
    return guarded;
}

Result<void> hold_buffers(CheckReport& report, const std::string& name, const Case& c, std::uint32_t poison,
                          const std::vector<GuardedBuffer>& guarded, Hasher* hasher) {
    std::vector<std::vector<std::uint32_t>> outputs;
    std::size_t next = 0;
    for (std::size_t i = 0; i < guarded.size(); ++i) {
        const ProblemBuffer& buffer = c.buffers[i];
        YOLK_TRY_VOID(hold_guards(report, name, guarded[i], buffer.name.c_str()));
        YOLK_TRY(std::vector<std::uint32_t> words, guarded[i].download<std::uint32_t>());
        if (buffer.role == BufferRole::Input) {
            if (words != words_of_bytes(buffer.contents))
                report.fail(fmt::format("{}: the input {} was changed.", name, buffer.name));
            continue;
        }
        const Expected& expected = c.expected.at(next++);
        if (hasher != nullptr && !expected.twin.empty()) hasher->add_values(std::span<const std::uint32_t>(words));
        hold_output(report, name, buffer, expected, poison, words);
        outputs.push_back(std::move(words));
    }
    c.problem.hold(report, name, outputs);
    return {};
}

Result<void> run_once(const CheckContext& context, const Case& c, const Configuration& configuration,
                      std::uint32_t poison, CheckReport& report, Hasher* hasher) {
    const std::string name = fmt::format("{}; {}; poison {:08x}", c.problem.name(),
                                         c.problem.space(context.device.info()).text(configuration), poison);
    const auto run = [&]() -> Result<void> {
        YOLK_TRY(const auto plan, c.problem.plan(context.device, configuration));
        YOLK_TRY(const std::vector<GuardedBuffer> guarded, make_buffers(context, c, poison));
        YOLK_TRY(const GuardedBuffer scratch, GuardedBuffer::create(context.device, context.dispatcher,
                                                                    plan->scratch().size_bytes, poison, "scratch"));
        std::vector<BufferView> views;
        for (const GuardedBuffer& buffer : guarded) views.push_back(buffer.view());
        YOLK_TRY(const PlannedProblem::Record record, plan->bind(views, scratch.view()));
        YOLK_TRY_VOID(run_recorded(context, record));
        ++report.cases;
        YOLK_TRY_VOID(hold_guards(report, name, scratch, "scratch"));
        return hold_buffers(report, name, c, poison, guarded, hasher);
    };
    if (Result<void> ran = run(); !ran) return std::move(ran).error().while_doing("checking " + name);
    return {};
}

/// The default first, then the drawn ones that are not it. `index` of `count` cases; `turn` counts the drawn ones over
/// all cases.
std::vector<Configuration> configurations_of(const CheckContext& context, const Family& family, const Problem& problem,
                                             std::size_t index, std::size_t count, std::size_t& turn) {
    const DeviceInfo& info = context.device.info();
    const TuningSpace space = problem.space(info);
    std::vector<Configuration> chosen{problem.default_configuration(info)};
    std::vector<Configuration> drawn =
        context.all_configurations ? space.all() : space.draw(context.configurations, context.seed);
    if (family.each_configuration_once && !context.all_configurations) {
        const std::size_t end = (index + 1) * drawn.size() / count;
        for (std::size_t i = index * drawn.size() / count; i < end; ++i) chosen.push_back(drawn[i]);
        return chosen;
    }
    std::erase(drawn, chosen.front());
    const bool by_turns = family.configurations_per_case != 0 && !context.all_configurations;
    const std::size_t taken =
        std::min<std::size_t>(by_turns ? family.configurations_per_case : drawn.size(), drawn.size());
    for (std::size_t i = 0; i < taken; ++i) chosen.push_back(drawn[by_turns ? turn++ % drawn.size() : i]);
    return chosen;
}

}  // namespace

Result<CheckReport> check_family(const CheckContext& context, const Family& family) {
    CheckReport report;
    report.kernel = family.name;
    report.exactness = family.exactness;
    const Problems problems = family.cases(context.seed);
    Hasher hasher;
    std::size_t turn = 0;
    for (std::size_t p = 0; p < problems.size(); ++p) {
        const Problem& problem = *problems[p];
        const Case c{problem, problem.buffers(), problem.expected()};
        const std::vector<Configuration> configurations =
            configurations_of(context, family, problem, p, problems.size(), turn);
        for (std::size_t i = 0; i < configurations.size(); ++i) {
            if (context.progress) context.progress(family.name, p, problems.size(), i, configurations.size());
            for (const std::uint32_t poison : kPoisons) {
                const bool first = i == 0 && poison == kPoisons[0];
                YOLK_TRY_VOID(run_once(context, c, configurations[i], poison, report, first ? &hasher : nullptr));
            }
        }
    }
    report.output_hash = hasher.hex();
    return report;
}

}  // namespace yolk::oracle
