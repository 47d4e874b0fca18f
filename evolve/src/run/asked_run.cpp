// SPDX-License-Identifier: Apache-2.0
#include "yolk/ask_tell.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include <fmt/format.h>

#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/core/state_file.hpp"
#include "yolk/internal/evolve/member_parameters.hpp"
#include "yolk/internal/evolve/parameter_setup.hpp"
#include "yolk/internal/evolve/settings.hpp"
#include "yolk/run_log.hpp"

namespace yolk::evolve {
namespace {

constexpr std::size_t kValuesPerThread = std::size_t{1} << 16U;  // fewer are made before a thread has started

/// Calls `work` with 0 ... count - 1 on several threads; gives the first error.
template <class Work>
Result<void> on_threads(std::uint32_t count, std::size_t values_each, Work work) {
    std::atomic<std::uint32_t> next{0};
    std::mutex guard;
    std::optional<Error> failed;
    const auto take = [&] {
        for (std::uint32_t i = next++; i < count; i = next++) {
            Result<void> done = work(i);
            if (done) continue;
            const std::scoped_lock lock(guard);
            if (!failed) failed = std::move(done).error();
            return;
        }
    };
    const std::size_t wanted = std::max<std::size_t>(1, count * values_each / kValuesPerThread);
    const std::size_t threads = std::min<std::size_t>(std::max(1U, std::thread::hardware_concurrency()), wanted);
    {
        std::vector<std::jthread> others;
        for (std::size_t i = 1; i < threads; ++i) others.emplace_back(take);
        take();
    }
    if (failed) return *std::move(failed);
    return {};
}

std::vector<std::pair<std::string, std::string>> log_settings(const AskedRun& run) {
    std::vector<std::pair<std::string, std::string>> settings = settings_of(run.options());
    settings.insert(settings.begin(), {"task", "ask and tell"});
    settings.emplace_back("matrix_ranks", matrix_ranks(run.table(), run.options().rank));
    return settings;
}

}  // namespace

Result<std::unique_ptr<AskedRun>> AskedRun::create(Context context, AskedParts parts) {
    YOLK_TRY_VOID(validate(parts.options));
    YOLK_TRY(const ParameterTable all, ParameterTable::create(std::move(parts.parameters)));
    YOLK_TRY(ParameterTable table, trained_parameters(all, parts.options));
    std::unique_ptr<AskedRun> made(new AskedRun(std::move(context), std::move(parts.options), std::move(table)));
    made->log_path_ = std::move(parts.log);
    YOLK_TRY_VOID(made->start(std::move(parts.initial), {}, 0));
    return made;
}

Result<void> AskedRun::start(std::vector<float> initial, std::vector<float> optimizer_state, std::uint32_t generation) {
    YOLK_TRY(auto scores, host_scores_evaluator(context_.device(), options_.population, options_.episodes));
    HostScoresEvaluator* const here = scores.get();
    EvolutionParts parts{.parameters = table_,
                         .initial = std::move(initial),
                         .evaluator = std::move(scores),
                         .digest = true,
                         .keep_weights = !log_path_.empty(),
                         .optimizer_state = std::move(optimizer_state),
                         .generation = generation};
    YOLK_TRY(run_, Evolution::create(context_.device(), context_.dispatcher(), std::move(parts), options_));
    scores_ = here;
    return open_log();
}

/// A log that has the run up to here goes on, which drops what it has after; any other file is replaced. Either happens
/// with the first generation that is told.
Result<void> AskedRun::open_log() {
    if (log_path_.empty()) return {};
    if (run_->generations() > 0) {
        const Result<RunLogReader> old = RunLogReader::open(log_path_);
        if (old && old->header().settings == log_settings(*this) && old->generations() >= run_->generations() &&
            old->header().first_generation <= run_->generations()) {
            YOLK_TRY_VOID(run_->refresh());
            YOLK_TRY(const std::string digest, run_->state_digest());
            const Result<bool> same = goes_on_from(*old, run_->generations(), digest);
            if (same && *same) {
                YOLK_TRY(log_, RunLogWriter::continue_after(*old, run_->generations()));
                return {};
            }
        }
    }
    YOLK_TRY(RunLogHeader header, run_log_header(log_settings(*this), options_, run_->parameters(),
                                                 run_->optimizer_state(), run_->generations()));
    log_ = RunLogWriter::replace(log_path_, std::move(header));
    return {};
}

NoiseContext AskedRun::next() const {
    const std::uint32_t generation = run_->generations();
    return {.seed = options_.seed,
            .generation = generation,
            .time = generation / options_.noise_reuse,
            .sigma = decayed(options_.sigma, options_.sigma_decay, generation)};
}

Result<void> AskedRun::members(std::uint32_t first, std::span<float> values) {
    const std::scoped_lock lock(one_at_a_time_);
    const std::size_t size = table_.element_count();
    const auto count = static_cast<std::uint32_t>(values.size() / size);
    const NoiseContext when = next();
    const std::span<const float> mean = run_->parameters();
    return on_threads(count, size, [&](std::uint32_t i) -> Result<void> {
        YOLK_TRY(const std::vector<float> member,
                 member_parameters(table_, mean, when, options_.rank, options_.antithetic,
                                   static_cast<std::int32_t>(first + i)));
        std::ranges::copy(member, values.subspan(i * size, size).begin());
        return {};
    });
}

Result<MemberFactors> AskedRun::factors(std::uint32_t parameter) {
    const std::scoped_lock lock(one_at_a_time_);
    const std::span<const ParameterDesc> all = table_.parameters();
    if (parameter >= all.size() || all[parameter].perturbation != Perturbation::LowRank)
        return bad_input(
            "Only matrices that are trained have factors. Vectors and frozen parameters have values alone.");
    const ParameterDesc& matrix = all[parameter];
    const NoiseContext when = next();
    MemberFactors made;
    made.rank = rank_of(matrix, options_.rank);
    made.scale = static_cast<float>(static_cast<double>(when.sigma) / std::sqrt(static_cast<double>(made.rank)) /
                                    kNoiseVariance);
    const std::size_t a_size = std::size_t{matrix.rows} * made.rank, b_size = std::size_t{matrix.columns} * made.rank;
    made.a.resize(options_.population * a_size);
    made.b.resize(options_.population * b_size);
    const auto draw = [&](Domain domain, std::uint32_t pair, float side, std::span<float> to) {
        const NoiseStream stream{when.seed, parameter, domain, pair, when.time};
        for (std::uint32_t block = 0; std::size_t{block} * kNoiseElementsPerBlock < to.size(); ++block) {
            const auto noise = noise_block(stream, block);
            const std::span<float> rest = to.subspan(std::size_t{block} * kNoiseElementsPerBlock);
            for (std::size_t i = 0; i < std::min(noise.size(), rest.size()); ++i)
                rest[i] = side * static_cast<float>(noise[i]);
        }
    };
    YOLK_TRY_VOID(on_threads(options_.population, a_size + b_size, [&](std::uint32_t member) -> Result<void> {
        const std::uint32_t pair = options_.antithetic ? member / 2 : member;
        const float side = options_.antithetic && member % 2 == 1 ? -1.0F : 1.0F;
        draw(Domain::A, pair, side, std::span(made.a).subspan(member * a_size, a_size));
        draw(Domain::B, pair, 1.0F, std::span(made.b).subspan(member * b_size, b_size));
        return {};
    }));
    return made;
}

Result<GenerationSummary> AskedRun::tell(std::uint32_t generation, std::span<const float> scores) {
    const std::scoped_lock lock(one_at_a_time_);
    if (generation != run_->generations()) {
        return bad_input("These are scores of generation {}; the run is at generation {}. Ask again, and score those.",
                         generation, run_->generations());
    }
    const std::span<float> to = scores_->returns();
    if (scores.size() != to.size()) {
        return bad_input("{} scores were told; {} are needed, one for each member{}.", scores.size(), to.size(),
                         options_.episodes > 1 ? " and episode" : "");
    }
    std::ranges::copy(scores, to.begin());
    YOLK_TRY(GenerationSummary summary, run_->step());
    YOLK_TRY_VOID(log_generation());
    return summary;
}

Result<void> AskedRun::log_generation() {
    if (!log_) return {};
    YOLK_TRY(ShapedGeneration shaped, run_->shaped());
    YOLK_TRY(std::string digest, run_->state_digest());
    return log_->append(
        {.generation = run_->generations() - 1, .shaped = std::move(shaped), .digest = std::move(digest)});
}

std::uint32_t AskedRun::generation() const {
    const std::scoped_lock lock(one_at_a_time_);
    return run_->generations();
}

std::vector<float> AskedRun::parameters() const {
    const std::scoped_lock lock(one_at_a_time_);
    return {run_->parameters().begin(), run_->parameters().end()};
}

std::vector<float> AskedRun::optimizer_state() const {
    const std::scoped_lock lock(one_at_a_time_);
    return {run_->optimizer_state().begin(), run_->optimizer_state().end()};
}

Result<void> AskedRun::set_parameters(std::span<const float> values) {
    const std::scoped_lock lock(one_at_a_time_);
    return run_->set_parameters(values);
}

Result<std::string> AskedRun::state_hash() const {
    const std::scoped_lock lock(one_at_a_time_);
    return run_->state_hash();
}

Result<std::uint32_t> AskedRun::replay(const std::filesystem::path& log, std::optional<std::uint32_t> generation) {
    const std::scoped_lock lock(one_at_a_time_);
    YOLK_TRY(const RunLogReader reader, RunLogReader::open(log));
    if (reader.header().settings != log_settings(*this)) {
        return bad_input(
            "'{}' is the log of a run with other settings or other parameters; make the run as that one was.",
            log.string());
    }
    YOLK_TRY_VOID(replay_log(*run_, reader, generation.value_or(reader.generations())));
    YOLK_TRY_VOID(open_log());
    return run_->generations();
}

struct AskedState {
    std::uint32_t generation = 0;
    std::string state_hash{}, matrix_shapes{};
    std::vector<std::pair<std::string, std::string>> settings{};
};

template <class Fields>
void each_field(Fields& fields, AskedState& state) {
    fields("generation", state.generation);
    fields("state_hash", state.state_hash);
    fields("parameters", state.matrix_shapes);
    fields("settings", state.settings);
}

namespace {

std::string shapes_of(const ParameterTable& table) {
    std::string text;
    for (const ParameterDesc& one : table.parameters())
        text += fmt::format("{}{} [{}, {}]", text.empty() ? "" : ", ", one.name, one.rows, one.columns);
    return text;
}

}  // namespace

Result<void> AskedRun::save(const std::filesystem::path& file) const {
    const std::scoped_lock lock(one_at_a_time_);
    YOLK_TRY(const std::string hash, run_->state_hash());
    AskedState state{.generation = run_->generations(),
                     .state_hash = hash,
                     .matrix_shapes = shapes_of(table_),
                     .settings = log_settings(*this)};
    const std::vector<float> values(run_->parameters().begin(), run_->parameters().end());
    const std::vector<float> moments(run_->optimizer_state().begin(), run_->optimizer_state().end());
    return write_state(file, kAskedKind,
                       {.fields = FieldWriter::json_of(state),
                        .tensors = {stored_vector("parameters", values), stored_vector("optimizer_state", moments)}});
}

Result<void> AskedRun::load(const std::filesystem::path& file) {
    const std::scoped_lock lock(one_at_a_time_);
    YOLK_TRY(StateFile stored, read_state(file, kAskedKind));
    const std::string what = fmt::format("'{}'", file.string());
    FieldReader reader(stored.fields);
    AskedState state;
    each_field(reader, state);
    std::vector<float> values, moments;
    if (!take_tensor(stored, "parameters", values)) reader.fail("parameters");
    if (!take_tensor(stored, "optimizer_state", moments)) reader.fail("optimizer_state");
    YOLK_TRY_VOID(check_fields(reader, kAskedKind, what));
    if (state.matrix_shapes != shapes_of(table_)) {
        return bad_input("{} is of a run with the parameters {}; this one has {}.", what, state.matrix_shapes,
                         shapes_of(table_));
    }
    const auto here = log_settings(*this);
    for (std::size_t i = 0; i < here.size(); ++i) {
        if (i < state.settings.size() && state.settings[i] == here[i]) continue;
        return bad_input("{} is of a run with {} {}, this one has {}; make the run as that one was.", what,
                         here[i].first, i < state.settings.size() ? state.settings[i].second : "missing",
                         here[i].second);
    }
    const Result<std::string> hash = evolve::state_hash(values, moments, state.generation);
    if (!hash || *hash != state.state_hash)
        return unreadable_state(kAskedKind, what, "its state hash does not fit its state");
    return start(std::move(values), std::move(moments), state.generation);
}

}  // namespace yolk::evolve
