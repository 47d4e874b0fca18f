// SPDX-License-Identifier: Apache-2.0
#include "user_kernel_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/oracle/guarded.hpp"

namespace yolk::autotune {
namespace {

using oracle::BufferRole;
using oracle::ElementType;
using oracle::kPoisons;

double element_value(ElementType element, std::uint32_t word) {
    switch (element) {
        case ElementType::I32: return static_cast<std::int32_t>(word);
        case ElementType::U32: return word;
        case ElementType::F32: break;
    }
    return std::bit_cast<float>(word);
}

double allowed(const KernelTolerance& tolerance, double right) {
    return tolerance.absolute + tolerance.relative * std::abs(right);
}

/// In units of what is allowed; 0 for the same bits, infinity where one is not finite or nothing is allowed.
double error_of(const ReferenceOutput& output, std::uint32_t got, std::uint32_t right) {
    if (got == right) return 0.0;
    const double a = element_value(output.element, got);
    const double b = element_value(output.element, right);
    if (std::isnan(a) && std::isnan(b)) return 0.0;
    const bool exact = output.tolerance.absolute == 0.0 && output.tolerance.relative == 0.0;
    if (exact || !std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
    const double error = std::abs(a - b);
    return error == 0.0 ? 0.0 : error / allowed(output.tolerance, b);
}

bool is_poison(std::uint32_t word) { return word == kPoisons[0] || word == kPoisons[1]; }

/// A run whose results are kept, not compared.
class Capture final : public oracle::Problem {
   public:
    using Plan = std::function<Result<std::unique_ptr<oracle::PlannedProblem>>()>;
    Capture(std::string name, const std::vector<KernelBuffer>& buffers, const Plan& plan)
        : name_(std::move(name)), buffers_(buffers), plan_(plan) {}

    [[nodiscard]] std::string name() const override { return name_; }
    [[nodiscard]] TuningSpace space(const DeviceInfo& /*info*/) const override { return {"reference", {}}; }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& /*info*/) const override { return {}; }
    [[nodiscard]] Result<std::unique_ptr<oracle::PlannedProblem>> plan(
        const Device& /*device*/, const Configuration& /*configuration*/) const override {
        return plan_();
    }
    [[nodiscard]] std::vector<oracle::ProblemBuffer> buffers() const override {
        std::vector<oracle::ProblemBuffer> all;
        for (const KernelBuffer& buffer : buffers_)
            all.push_back({buffer.name, buffer.role, buffer.size_bytes(), initial_content(buffer)});
        return all;
    }
    [[nodiscard]] std::vector<oracle::Expected> expected() const override {
        const auto is_output = [](const KernelBuffer& buffer) { return buffer.role != BufferRole::Input; };
        return std::vector<oracle::Expected>(static_cast<std::size_t>(std::ranges::count_if(buffers_, is_output)));
    }
    [[nodiscard]] oracle::Work work() const override { return {}; }
    void verify(oracle::CheckReport& /*report*/, const std::string& case_name,
                std::span<const std::vector<std::uint32_t>> outputs) const override {
        // The name has the poison behind the configuration, which is what differs between the runs.
        const bool is_first = case_name.find(fmt::format("poison {:08x}", kPoisons[0])) != std::string::npos;
        captured.push_back({.poison = is_first ? 0U : 1U, .outputs = {outputs.begin(), outputs.end()}});
    }
    struct Run {
        std::size_t poison = 0;
        std::vector<std::vector<std::uint32_t>> outputs;
    };
    mutable std::vector<Run> captured;

   private:
    std::string name_;
    const std::vector<KernelBuffer>& buffers_;
    const Plan& plan_;
};

/// What two runs agree on, with the elements that neither wrote.
Result<void> agree(const std::string& what, ReferenceOutput& output, std::vector<std::uint32_t> first,
                   const std::vector<std::uint32_t>& second) {
    std::vector<bool> unwritten(first.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
        unwritten[i] = first[i] == kPoisons[0] && second[i] == kPoisons[1];
        count += unwritten[i] ? 1U : 0U;
        if (unwritten[i] || error_of(output, second[i], first[i]) <= 1.0) continue;
        return bad_input(
            "{} gave {} and then {} for element {} of '{}', from the same inputs: it reads what it has not "
            "written, or its invocations race. It cannot serve as a reference.",
            what, element_value(output.element, first[i]), element_value(output.element, second[i]), i,
            shown(output.name));
    }
    if (count == first.size()) {
        return bad_input("{} leaves all of '{}' unwritten; look at its dispatch and its bindings.", what,
                         shown(output.name));
    }
    output.right = std::move(first);
    if (count > 0) output.unwritten = std::move(unwritten);
    return {};
}

}  // namespace

void verify_output(oracle::CheckReport& report, const std::string& case_name, const ReferenceOutput& output,
                   std::span<const std::uint32_t> words) {
    double worst = 0.0;
    std::size_t where = 0;
    std::size_t off = 0;
    std::size_t strayed = 0;
    for (std::size_t i = 0; i < std::min(words.size(), output.right.size()); ++i) {
        if (!output.unwritten.empty() && output.unwritten[i]) {
            strayed += is_poison(words[i]) ? 0U : 1U;
            continue;
        }
        const double error = error_of(output, words[i], output.right[i]);
        off += error > 1.0 ? 1U : 0U;
        if (error > worst) worst = error, where = i;
    }
    if (strayed > 0) {
        report.fail(fmt::format("{}: {} elements of '{}' were written that the reference leaves alone.", case_name,
                                strayed, shown(output.name)));
    }
    if (off == 0) return;
    const double right = element_value(output.element, output.right[where]);
    const bool lost = is_poison(words[where]) && words[where] != output.right[where];
    report.fail(fmt::format(
        "{}: {} of {} elements of '{}' are wrong; element {} is {} where {:.9g} is right (+- {:.3g}).", case_name, off,
        words.size(), shown(output.name), where,
        lost ? std::string("unwritten") : fmt::format("{:.9g}", element_value(output.element, words[where])), right,
        allowed(output.tolerance, right)));
}

void SameEachTime::verify(oracle::CheckReport& report, const std::string& case_name,
                          std::span<const ReferenceOutput> references,
                          std::span<const std::vector<std::uint32_t>> outputs) {
    std::vector<std::uint32_t> words;
    for (std::size_t i = 0; i < std::min(references.size(), outputs.size()); ++i) {
        if (references[i].is_scratch || !references[i].right.empty()) continue;
        for (const std::uint32_t word : outputs[i]) words.push_back(is_poison(word) ? 0U : word);
    }
    if (words.empty()) return;
    // The name ends in the poison, which is what differs between the runs.
    const std::string configuration = case_name.substr(0, case_name.rfind("; poison"));
    const std::uint64_t hash = hash64(std::as_bytes(std::span(words)));
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = hashes_.emplace(configuration, hash);
    if (is_new || entry->second == hash) return;
    report.fail(
        fmt::format("{}: it gave other results than before, from the same inputs: it reads what it has not "
                    "written, or its invocations race.",
                    case_name));
}

Result<void> take_reference(const Device& device, Dispatcher& dispatcher, const std::string& what,
                            const std::vector<KernelBuffer>& buffers,
                            const std::function<Result<std::unique_ptr<oracle::PlannedProblem>>()>& plan,
                            std::span<ReferenceOutput> outputs) {
    const Capture capture(what, buffers, plan);
    const oracle::ProblemProof proof(capture);
    const oracle::CheckContext context{.device = device, .dispatcher = dispatcher};
    for (std::size_t poison = 0; poison < kPoisons.size(); ++poison) {
        YOLK_TRY(const oracle::CheckReport report, proof.prove(context, {}, poison));
        if (!report.failures.empty()) return bad_input("{} is wrong itself: {}", what, report.failures.front());
    }
    const std::vector<Capture::Run>& runs = capture.captured;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i].is_scratch || !outputs[i].right.empty()) continue;
        for (const Capture::Run& run : runs) {
            if (run.poison == runs.front().poison) continue;
            YOLK_TRY_VOID(agree(what, outputs[i], runs.front().outputs.at(i), run.outputs.at(i)));
        }
    }
    return {};
}

}  // namespace yolk::autotune
