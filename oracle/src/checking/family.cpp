// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/oracle/family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "check_tools.hpp"
#include "family_runs.hpp"
#include "gpu_defaults.hpp"
#include "sampled_proof.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/host_work.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/problem_memory.hpp"
#include "yolk/internal/oracle/untuned.hpp"

namespace yolk::oracle {
namespace {

/// One case with everything that is the same for all its runs.
struct FamilyCase {
    const Problem& problem;
    const std::vector<ProblemBuffer>& buffers;
    const std::vector<Expected>& expected;
    /// In place of `expected`: of the one output a sample, and where its words go.
    const SampledProof* sampled = nullptr;
    std::vector<std::uint32_t>* output = nullptr;
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

bool are_same(std::span<const std::byte> a, std::span<const std::byte> b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

std::vector<std::uint32_t> words_of_bytes(std::span<const std::byte> bytes) {
    std::vector<std::uint32_t> words(bytes.size() / sizeof(std::uint32_t));
    if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint32_t));
    return words;
}

/// Fails where an element that is not to be written was; then makes it look right, for the comparisons that follow.
void verify_kept(CheckReport& report, const std::string& name, const ProblemBuffer& buffer, const Expected& expected,
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

void verify_output(CheckReport& report, const std::string& name, const ProblemBuffer& buffer, const Expected& expected,
                   std::uint32_t poison, std::vector<std::uint32_t> words) {
    const std::string where = fmt::format("{}, {}", name, buffer.name);
    verify_kept(report, where, buffer, expected, poison, words);
    if (!expected.twin.empty() || buffer.size_bytes == 0) {
        verify_words_against_twin(report, where, words, without_kept(expected.twin, expected.kept));
    }
    if (expected.oracle.empty()) return;
    std::vector<Bounded> oracle = expected.oracle;
    for (std::size_t i = 0; i < std::min(oracle.size(), expected.kept.size()); ++i) {
        if (expected.kept[i]) oracle[i] = {};
    }
    verify_against_oracle(report, where, values_of(words, expected.element), oracle);
}

/// Behind a binding of this size, as far as the device takes it.
std::uint64_t room_behind(const Device& device, std::uint64_t size_bytes) {
    const std::uint64_t most = device.info().limits.max_storage_buffer_range;
    const std::uint64_t bound = round_up(size_bytes, kViewAlignment);
    return most < bound + kGuardBytes ? 0 : std::min(kRoomBytes, (most - bound) / kViewAlignment * kViewAlignment);
}

Result<std::vector<GuardedBuffer>> make_buffers(const CheckContext& context, const FamilyCase& c, std::uint32_t poison,
                                                std::span<const std::uint64_t> rooms) {
    std::vector<GuardedBuffer> guarded;
    for (std::size_t i = 0; i < c.buffers.size(); ++i) {
        const ProblemBuffer& buffer = c.buffers[i];
        YOLK_TRY(GuardedBuffer made, GuardedBuffer::create(context.device, context.dispatcher, buffer.size_bytes,
                                                           poison, buffer.name, rooms[i]));
        if (buffer.role != BufferRole::Output) YOLK_TRY_VOID(made.upload(buffer.contents));
        guarded.push_back(std::move(made));
    }
    return guarded;
}

Result<void> verify_buffers(CheckReport& report, const std::string& name, const FamilyCase& c, std::uint32_t poison,
                            const std::vector<GuardedBuffer>& guarded, Hasher* hasher) {
    std::vector<std::vector<std::uint32_t>> outputs;
    std::size_t next = 0;
    for (std::size_t i = 0; i < guarded.size(); ++i) {
        const ProblemBuffer& buffer = c.buffers[i];
        YOLK_TRY_VOID(verify_guards(report, name, guarded[i], buffer.name.c_str()));
        YOLK_TRY(std::vector<std::uint32_t> words, guarded[i].download<std::uint32_t>());
        if (buffer.role == BufferRole::Input) {
            if (!are_same(std::as_bytes(std::span(words)), buffer.contents))
                report.fail(fmt::format("{}: the input {} was changed.", name, buffer.name));
            continue;
        }
        if (c.sampled != nullptr) {
            c.sampled->verify_sample(report, fmt::format("{}, {}", name, buffer.name), words);
            *c.output = std::move(words);
            continue;
        }
        const Expected& expected = c.expected.at(next++);
        if (hasher != nullptr && !expected.twin.empty()) hasher->add_values(std::span<const std::uint32_t>(words));
        verify_output(report, name, buffer, expected, poison, words);
        outputs.push_back(std::move(words));
    }
    if (c.sampled == nullptr) c.problem.verify(report, name, outputs);
    return {};
}

enum class Order { AsRecorded, Backwards };

/// Whether it ran: backwards not every plan can.
Result<bool> run_plan(const CheckContext& context, const FamilyCase& c, const std::string& name,
                      const Configuration& configuration, std::uint32_t poison, Order order, CheckReport& report,
                      Hasher* hasher) {
    YOLK_TRY(const auto plan, c.problem.plan(context.device, configuration));
    std::vector<std::uint64_t> rooms;
    for (std::size_t i = 0; i < c.buffers.size(); ++i)
        rooms.push_back(plan->takes_room(i, c.buffers[i].role) ? room_behind(context.device, c.buffers[i].size_bytes)
                                                               : 0);
    YOLK_TRY(const std::vector<GuardedBuffer> guarded, make_buffers(context, c, poison, rooms));
    const std::uint64_t scratch_bytes = plan->scratch().size_bytes;
    YOLK_TRY(const GuardedBuffer scratch,
             GuardedBuffer::create(context.device, context.dispatcher, scratch_bytes, poison, "scratch"));
    std::vector<BufferView> views;
    for (std::size_t i = 0; i < guarded.size(); ++i)
        views.push_back(rooms[i] == 0 ? guarded[i].view() : guarded[i].view_with_room());
    std::optional<Result<PlannedProblem::Record>> record;
    record = order == Order::Backwards ? plan->bind_backwards(views, scratch.view())
                                       : std::optional(plan->bind(views, scratch.view()));
    if (!record) return false;
    if (!*record) return std::move(*record).error();
    YOLK_TRY_VOID(run_recorded(context, **record));
    ++report.cases;
    YOLK_TRY_VOID(verify_guards(report, name, scratch, "scratch"));
    YOLK_TRY_VOID(verify_buffers(report, name, c, poison, guarded, hasher));
    return true;
}

Result<void> run_once(const CheckContext& context, const FamilyCase& c, const Configuration& configuration,
                      std::uint32_t poison, CheckReport& report, Hasher* hasher, Order order = Order::AsRecorded) {
    const std::string name = fmt::format("{}; {}; poison {:08x}{}", c.problem.name(),
                                         c.problem.space(context.device.info()).text(configuration), poison,
                                         order == Order::Backwards ? ", workgroups from the last to the first" : "");
    Result<bool> ran = run_plan(context, c, name, configuration, poison, order, report, hasher);
    if (!ran) return std::move(ran).error().while_doing("checking " + name);
    return {};
}

/// What one run found goes to the whole.
void add_report(const CheckContext& context, CheckReport& whole, const CheckReport& run) {
    whole.cases += run.cases;
    whole.twin_mismatches += run.twin_mismatches;
    if (run.worst_error > whole.worst_error) {
        whole.worst_error = run.worst_error;
        whole.worst_case = run.worst_case;
    }
    for (const std::string& failure : run.failures) {
        whole.fail(failure);
        if (context.on_failure) context.on_failure(whole.kernel.c_str(), failure);
    }
    whole.failure_count += run.failure_count - run.failures.size();
}

/// Whether the check may go on after an error, which is then a failure like any other.
bool is_refusal(const Error& error) noexcept {
    return error.kind == ErrorKind::BadInput || error.kind == ErrorKind::Unsupported;
}

/// The runs of a part, in their order.
class Runs {
   public:
    Runs(const CheckContext& context, const Problems& problems, CheckReport& report)
        : context_(context), problems_(problems), report_(report) {}

    /// Leaves early where the context says so, and, of all configurations, where the device cannot go on: what was
    /// checked by then is worth telling.
    [[nodiscard]] Result<void> run(std::span<const Batch> batches) {
        for (const Batch& batch : batches) {
            TemporaryPipelines pipelines;
            if (context_.all_configurations) {
                YOLK_TRY(pipelines, TemporaryPipelines::begin(context_.device));
            }
            if (problem_ != problems_[batch.problem].get()) {
                YOLK_TRY_VOID(check_memory(*problems_[batch.problem], context_.device.info()));
                problem_ = problems_[batch.problem].get();
                buffers_ = long_work([this] { return problem_->buffers(); });
                expected_ = long_work([this] { return problem_->expected(); });
            }
            for (const Configuration& configuration : batch.configurations) {
                if (context_.stop && context_.stop()) return {};
                YOLK_TRY_VOID(run(configuration, batch.is_default));
                if (ended_) return {};
            }
        }
        return {};
    }
    [[nodiscard]] std::uint64_t different_configurations() const noexcept { return met_.size(); }
    [[nodiscard]] std::string hash() const { return hasher_.hex(); }

   private:
    [[nodiscard]] Result<void> run(Configuration configuration, bool is_default) {
        if (context_.progress)
            context_.progress({report_.kernel.c_str(), report_.runs, report_.runs_of_part, report_.failure_count});
        if (is_default) {
            YOLK_TRY(configuration, untuned_configuration(context_.device, *problem_));
        }
        CheckReport found;
        for (const std::uint32_t poison : kPoisons) {
            const bool is_hashed = is_default && poison == kPoisons[0];
            Result<void> ran = run_once(context_, {*problem_, buffers_, expected_}, configuration, poison, found,
                                        is_hashed ? &hasher_ : nullptr);
            if (ran) continue;
            if (!is_default && is_refusal(ran.error()) && is_beyond_heuristic()) {
                --report_.runs_of_part;
                return {};
            }
            if (!context_.all_configurations) return std::move(ran).error();
            found.fail(ran.error().message);
            ended_ = !is_refusal(ran.error());
            if (ended_) break;
        }
        add_report(context_, report_, found);
        if (ended_) return {};
        ++report_.runs;
        met_.insert(configuration);
        return {};
    }

    /// Whether plans of the shape do without the heuristic: then the device may refuse drawn configurations, too.
    [[nodiscard]] bool is_beyond_heuristic() const {
        const Configuration heuristic = problem_->default_configuration(context_.device.info());
        const Result<std::unique_ptr<PlannedProblem>> planned = problem_->plan(context_.device, heuristic);
        return !planned && is_refusal(planned.error());
    }

    const CheckContext& context_;
    const Problems& problems_;
    CheckReport& report_;
    const Problem* problem_ = nullptr;  // of the last run, with what is the same for all its runs
    std::vector<ProblemBuffer> buffers_;
    std::vector<Expected> expected_;
    std::set<Configuration> met_;
    Hasher hasher_;
    bool ended_ = false;
};

}  // namespace

BufferBytes Problem::buffer_bytes() const {
    BufferBytes sum;
    for (const ProblemBuffer& buffer : buffers()) sum.add(buffer.role, static_cast<double>(buffer.size_bytes));
    return sum;
}

namespace {

Result<CheckReport> check(const CheckContext& context, const Family& family, const Problems& problems,
                          const Problems& shapes) {
    if (context.part == 0 || context.part > context.parts) {
        return bad_input("Part {} of {} was asked of [{}]; parts are counted from 1.", context.part, context.parts,
                         family.name);
    }
    CheckReport report;
    report.kernel = family.name;
    report.exactness = family.exactness;
    const std::vector<Batch> all = choose_batches(context.device.info(), context, family, problems, shapes);
    const std::vector<Batch> ours = part_of(all, context.part, context.parts);
    report.runs_of_part = runs_of(ours);
    report.configurations_of_all = different_configurations(all);
    Runs runs(context, problems, report);
    YOLK_TRY_VOID(runs.run(ours));
    report.configurations = runs.different_configurations();
    if (context.parts == 1 && report.finished()) report.output_hash = runs.hash();
    return report;
}

}  // namespace

Result<CheckReport> check_family(const CheckContext& context, const Family& family) {
    return check(context, family, family.cases(context.seed), shapes_of_gpus(family));
}

// Sizes that users give may be large: they take what is a default for them, and not those of other shapes.
Result<CheckReport> check_problems(const CheckContext& context, const Family& family, const Problems& problems) {
    return check(context, family, problems, {});
}

ProblemProof::ProblemProof(const Problem& problem, const ProofOptions& options)
    : problem_(problem), buffers_(problem.buffers()) {
    if (problem.work().operations > options.sampled_above) {
        if (auto elements = problem.elements(buffers_))
            sampled_ = std::make_unique<SampledProof>(std::move(elements), options.sampled_elements);
    }
    if (!sampled_) expected_ = long_work([&problem] { return problem.expected(); });
}
ProblemProof::~ProblemProof() = default;

std::optional<ProblemProof::Sample> ProblemProof::sample() const {
    if (!sampled_) return std::nullopt;
    return Sample{.elements = sampled_->sampled(), .of = sampled_->of()};
}

std::string sample_text(const ProblemProof::Sample& sample) {
    return fmt::format(
        "{} of {} elements were computed in double; all of them were compared with the first configuration's.",
        sample.elements, sample.of);
}

namespace {

/// The first run that is right is made once more, with the other poison.
Result<void> prove_by_sample(const CheckContext& context, const FamilyCase& c, SampledProof& sampled,
                             const Configuration& configuration, std::size_t poison, CheckReport& report) {
    const auto run = [&](std::uint32_t with, std::vector<std::uint32_t>& output) {
        const FamilyCase one{c.problem, c.buffers, c.expected, &sampled, &output};
        return run_once(context, one, configuration, with, report, nullptr);
    };
    const std::string name =
        fmt::format("{}; {}", c.problem.name(), c.problem.space(context.device.info()).text(configuration));
    std::vector<std::uint32_t> output;
    YOLK_TRY_VOID(run(kPoisons.at(poison), output));
    if (report.failure_count != 0) return {};
    if (!sampled.wants_first()) {
        sampled.verify_rest(report, name, std::move(output), kPoisons.at(poison));
        return {};
    }
    std::vector<std::uint32_t> again;
    YOLK_TRY_VOID(run(kPoisons.at(1 - poison), again));
    if (report.failure_count == 0) sampled.keep_first(report, name, std::move(output), again);
    return {};
}

}  // namespace

Result<CheckReport> ProblemProof::prove(const CheckContext& context, const Configuration& configuration,
                                        std::size_t poison) const {
    CheckReport report;
    const FamilyCase all{problem_, buffers_, expected_};
    if (sampled_) {
        YOLK_TRY_VOID(prove_by_sample(context, all, *sampled_, configuration, poison, report));
    } else {
        YOLK_TRY_VOID(run_once(context, all, configuration, kPoisons.at(poison), report, nullptr));
        if (report.failure_count == 0)
            YOLK_TRY_VOID(
                run_once(context, all, configuration, kPoisons.at(1 - poison), report, nullptr, Order::Backwards));
    }
    report.runs = report.runs_of_part = 1;
    report.configurations = report.configurations_of_all = 1;
    return report;
}

const Family* find_family(std::string_view name) noexcept {
    for (const Family* family : families()) {
        if (name == family->name) return family;
    }
    return nullptr;
}

}  // namespace yolk::oracle
