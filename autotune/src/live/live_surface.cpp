// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/live_surface.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "first_contents.hpp"
#include "yolk/internal/autotune/last_level_cache.hpp"
#include "yolk/internal/context/tuning_file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/oracle/problem_memory.hpp"
#include "yolk/internal/oracle/untuned.hpp"
#include "yolk/log.hpp"

namespace yolk::autotune {
namespace {

constexpr double kShortMilliseconds = 0.25;  // what is timed takes at least so long, where eight runs do
constexpr std::uint32_t kMostRepeats = 8;
constexpr double kLimitSlack = 1.25;

}  // namespace

/// A configuration that is ready to be timed again and again.
struct LiveSurface::Timed {
    std::unique_ptr<oracle::PlannedProblem> plan;
    Buffer scratch;
    std::vector<oracle::PlannedProblem::Record> records;  ///< one for each set of buffers
    std::optional<Recorder> recorder;
    std::uint32_t repeats = 1;
    std::size_t next = 0;  ///< the set whose turn it is
    double seconds = 0.0;  ///< of the last time(), by the host's clock
};

LiveSurface::LiveSurface(const Device& device, Dispatcher& dispatcher, const oracle::Problem& problem,
                         LiveOptions options)
    : device_(device),
      dispatcher_(dispatcher),
      problem_(problem),
      options_(std::move(options)),
      proof_(problem),
      space_(problem.space(device.usable_info())),
      warm_up_(device, dispatcher) {}
LiveSurface::~LiveSurface() = default;

Result<std::unique_ptr<LiveSurface>> LiveSurface::create(const Device& device, Dispatcher& dispatcher,
                                                         const oracle::Problem& problem, LiveOptions options) {
    if (device.info().limits.timestamp_period_ns <= 0.0) {
        return unsupported("'{}' has no timestamps, by which the tuner times kernels.", shown(device.info().name));
    }
    YOLK_TRY_VOID(oracle::check_memory(problem, device.info()));
    std::unique_ptr<LiveSurface> surface(new LiveSurface(device, dispatcher, problem, std::move(options)));
    if (const auto sample = surface->proof_.sample())
        log_info(fmt::format("{}: {}", problem.name(), oracle::sample_text(*sample)));
    YOLK_TRY_VOID(surface->choose_candidates());
    YOLK_TRY_VOID(surface->fill_buffers());
    YOLK_TRY_VOID(surface->ask_limits());
    return surface;
}

Result<void> LiveSurface::choose_candidates() {
    if (options_.before) YOLK_TRY_VOID(options_.before(problem_.default_configuration(device_.usable_info())));
    YOLK_TRY(const Configuration heuristic, oracle::untuned_configuration(device_, problem_));
    if (options_.after) YOLK_TRY_VOID(options_.after());
    configurations_ = {heuristic};
    const auto add = [this](const Configuration& configuration) {
        if (configuration.size() == space_.knobs().size() && space_.check(configuration) &&
            std::ranges::find(configurations_, configuration) == configurations_.end())
            configurations_.push_back(configuration);
    };
    for (const Configuration& included : options_.included) add(included);
    const std::size_t drawn_from = configurations_.size();
    std::vector<Configuration> drawn = space_.draw(options_.candidate_limit, options_.seed);
    std::erase_if(drawn, [&](const Configuration& c) {
        return std::find(configurations_.begin(), configurations_.end(), c) != configurations_.end();
    });
    configurations_.insert(configurations_.begin() + static_cast<std::ptrdiff_t>(drawn_from), drawn.begin(),
                           drawn.end());
    YOLK_TRY(CandidateSet set, CandidateSet::of(space_, configurations_));
    candidates_ = std::make_shared<const CandidateSet>(std::move(set));
    heuristic_ = 0;
    return {};
}

/// Now, for to measure one takes longer than an evaluation.
Result<void> LiveSurface::ask_limits() {
    if (!options_.limit_of || problem_.work().operations <= 0.0) return {};
    const DeviceInfo info = device_.usable_info();
    std::array<bool, kArithmeticUnits.size()> used{};
    used[static_cast<std::size_t>(ArithmeticUnit::Fp32Lanes)] = true;
    for (const Configuration& configuration : configurations_)
        used.at(static_cast<std::size_t>(problem_.unit(info, configuration))) = true;
    for (const ArithmeticUnit unit : kArithmeticUnits) {
        const auto at = static_cast<std::size_t>(unit);
        if (!used.at(at)) continue;
        YOLK_TRY(limits_.at(at), options_.limit_of(unit));
    }
    return {};
}

/// 0 where there is no limit.
double LiveSurface::milliseconds_at_limit(const Configuration& configuration) const {
    const ArithmeticUnit unit = problem_.unit(device_.usable_info(), configuration);
    const double of_unit = limits_.at(static_cast<std::size_t>(unit));
    if (of_unit <= 0.0) return 0.0;
    const double lanes = limits_[static_cast<std::size_t>(ArithmeticUnit::Fp32Lanes)];
    const double together = unit == ArithmeticUnit::Fp32Lanes ? of_unit : of_unit + lanes;
    return 500.0 * problem_.work().operations / together;
}

Result<void> LiveSurface::add_set() {
    std::vector<Buffer> added;
    for (const oracle::ProblemBuffer& wanted : proof_.buffers()) {
        if (wanted.size_bytes == 0) {
            added.emplace_back();
            continue;
        }
        YOLK_TRY(Buffer buffer, device_.create_buffer({.size_bytes = wanted.size_bytes, .label = wanted.name}));
        // Outputs, too: whose pages are there only once they are written to would be slow the first time.
        const std::vector<std::byte> zeros(wanted.contents.empty() ? wanted.size_bytes : 0);
        YOLK_TRY_VOID(dispatcher_.upload(buffer, wanted.contents.empty() ? zeros : wanted.contents));
        added.push_back(std::move(buffer));
    }
    buffers_.push_back(std::move(added));
    std::vector<BufferView> views;
    for (const Buffer& buffer : buffers_.back())
        views.push_back(buffer.impl() == nullptr ? BufferView{} : BufferView(buffer));
    sets_.push_back(std::move(views));
    return {};
}

Result<void> LiveSurface::fill_buffers() {
    YOLK_TRY(FirstContents first, FirstContents::create(device_, dispatcher_, proof_.buffers()));
    first_ = std::make_unique<const FirstContents>(std::move(first));
    YOLK_TRY_VOID(add_set());
    std::uint64_t set_bytes = 0;
    for (const oracle::ProblemBuffer& wanted : proof_.buffers()) set_bytes += wanted.size_bytes;
    const std::uint64_t cache_bytes = options_.cache_bytes.value_or(last_level_cache_bytes(device_.info()));
    const std::size_t count = buffer_sets(set_bytes, cache_bytes, device_.info());
    while (sets_.size() < count) {
        if (const Result<void> added = add_set(); !added) {
            if (added.error().kind != ErrorKind::OutOfMemory) return added.error();
            break;  // fewer do, too
        }
    }
    return {};
}

std::optional<std::size_t> LiveSurface::find(const Configuration& configuration) const {
    const auto at = std::ranges::find(configurations_, configuration);
    if (at == configurations_.end()) return std::nullopt;
    return static_cast<std::size_t>(at - configurations_.begin());
}

/// What is wrong, empty where nothing is. An error: it could not be run.
Result<std::string> LiveSurface::prove(const Configuration& configuration, std::size_t poison) {
    const oracle::CheckContext context{.device = device_, .dispatcher = dispatcher_};
    YOLK_TRY(const oracle::CheckReport report, proof_.prove(context, configuration, poison));
    if (report.passed()) return std::string();
    const std::string what = report.failures.empty() ? std::string("the check ran nothing.") : report.failures.front();
    return std::string(kWrongResult) + what;
}

Result<std::unique_ptr<LiveSurface::Timed>> LiveSurface::prepare(const Configuration& configuration) {
    auto timed = std::make_unique<Timed>();
    timed->repeats = repeats_;
    YOLK_TRY(timed->plan, problem_.plan(device_, configuration));
    const std::uint64_t scratch_bytes = timed->plan->scratch().size_bytes;
    if (scratch_bytes != 0) {
        YOLK_TRY(timed->scratch, device_.create_buffer({.size_bytes = scratch_bytes, .label = "scratch"}));
    }
    const BufferView scratch = scratch_bytes == 0 ? BufferView{} : BufferView(timed->scratch);
    for (const std::vector<BufferView>& views : sets_) {
        YOLK_TRY(oracle::PlannedProblem::Record record, timed->plan->bind(views, scratch));
        timed->records.push_back(std::move(record));
    }
    YOLK_TRY(timed->recorder, Recorder::create(device_, {.timestamp_count = 2 * kMostRepeats, .label = "tune"}));
    return timed;
}

/// Runs one after the other between two timestamps; each between two of its own where it changes what the next run of
/// its set begins with, which is put back outside of them. After the run, not before it: when the set's turn comes
/// again, it is as cold as it would be without. How many pairs of timestamps there are.
std::uint32_t LiveSurface::record(Timed& timed) {
    Recorder& recorder = *timed.recorder;
    const bool puts_back = first_->any();
    const std::uint32_t pairs = puts_back ? timed.repeats : 1;
    recorder.begin();
    for (std::uint32_t i = 0; i < timed.repeats; ++i) {
        if (i > 0) recorder.barrier(puts_back ? Barrier::TransferToCompute : Barrier::ComputeToCompute);
        if (i < pairs) recorder.timestamp(2 * i);
        timed.records[timed.next](recorder);
        if (puts_back || i + 1 == timed.repeats) recorder.timestamp(puts_back ? 2 * i + 1 : 1);
        first_->put_back(recorder, sets_[timed.next]);
        timed.next = (timed.next + 1) % timed.records.size();
    }
    if (puts_back) recorder.barrier(Barrier::TransferToCompute);
    return pairs;
}

Result<double> LiveSurface::time(Timed& timed) {
    const auto begun = std::chrono::steady_clock::now();
    const std::uint32_t pairs = record(timed);
    YOLK_TRY_VOID(dispatcher_.run(*timed.recorder));
    std::array<double, std::size_t{2} * kMostRepeats> nanoseconds{};
    const auto written = std::span(nanoseconds).first(std::size_t{2} * pairs);
    YOLK_TRY_VOID(timed.recorder->read_timestamps(written));
    timed.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    double sum = 0.0;
    for (std::size_t pair = 0; pair < pairs; ++pair) sum += written[2 * pair + 1] - written[2 * pair];
    return sum * 1e-6 / timed.repeats;
}

/// A measurement that failed, unless the device is gone. Drivers that fail with a configuration do so again; sizes and
/// limits that a plan refuses are no one's fault.
Result<LiveMeasurement> LiveSurface::failed(Error error) const {
    if (error.kind == ErrorKind::DeviceLost) return error;
    return LiveMeasurement{.reason = std::move(error.message), .quarantine = error.kind == ErrorKind::Driver};
}

Result<LiveMeasurement> LiveSurface::prove_and_time(std::size_t candidate) {
    const Configuration& configuration = configurations_[candidate];
    Result<std::string> wrong = prove(configuration, 0);
    if (!wrong) return failed(std::move(wrong).error());
    if (!wrong->empty()) return LiveMeasurement{.reason = *wrong, .quarantine = true};
    Result<std::unique_ptr<Timed>> timed = prepare(configuration);
    if (!timed) return failed(std::move(timed).error());
    // The host has just proven results, perhaps for seconds.
    if (const Result<void> awake = warm_up_.wake(); !awake) return failed(awake.error());
    // The first run of a binding is no sample: a driver may compile for it. lavapipe compiles a kernel that reads texel
    // buffers again where their size is another than the proof's; matmul 128 took 532 ms, and .28 from then on.
    if (const Result<double> warm_up = time(**timed); !warm_up) return failed(warm_up.error());
    LiveMeasurement measured;
    while (wants_another_sample(measured.milliseconds, best_, options_.race)) {
        if (!measured.milliseconds.empty() && late()) break;
        const Result<double> milliseconds = time(**timed);
        if (!milliseconds) return failed(milliseconds.error());
        measured.milliseconds.push_back(*milliseconds);
        const double at_limit = milliseconds_at_limit(configuration);
        if (!(*milliseconds > 0.0) || *milliseconds < at_limit / kLimitSlack) {
            return LiveMeasurement{
                .reason = fmt::format("It took {:.4g} ms; at the limit of the device's {} the work takes {:.4g} ms.",
                                      *milliseconds, to_string(problem_.unit(device_.usable_info(), configuration)),
                                      at_limit),
                .quarantine = candidate != heuristic_};
        }
    }
    best_ = std::min(best_, median_of(measured.milliseconds));
    return measured;
}

Result<LiveMeasurement> LiveSurface::run(std::size_t candidate) {
    if (options_.before) YOLK_TRY_VOID(options_.before(configurations_[candidate]));
    Result<LiveMeasurement> measured = prove_and_time(candidate);
    if (options_.after) YOLK_TRY_VOID(options_.after());
    if (candidate != heuristic_ || !measured) return measured;
    if (measured->milliseconds.empty() && milliseconds_at_limit(configurations_[candidate]) > 0.0) {
        // The family's operations are not the limit's multiply-adds.
        limits_ = {};
        return run(candidate);
    }
    if (!measured->milliseconds.empty() && repeats_ == 1) {
        const double wanted = kShortMilliseconds / measured->milliseconds.front();
        repeats_ = static_cast<std::uint32_t>(std::clamp(std::ceil(wanted), 1.0, double{kMostRepeats}));
        best_ = std::numeric_limits<double>::infinity();
        if (repeats_ > 1 && !late()) return run(candidate);  // as all others are timed
    }
    return measured;
}

Result<Measurement> LiveSurface::measure(std::size_t candidate) {
    YOLK_TRY(const LiveMeasurement measured, run(candidate));
    if (measured.milliseconds.empty()) return Measurement{.cost = kInvalidCost, .reason = measured.reason};
    return Measurement{.cost = median_of(measured.milliseconds), .reason = {}};
}

Result<std::vector<LiveMeasurement>> LiveSurface::final_rounds(std::span<const std::size_t> finalists,
                                                               std::size_t rounds, std::size_t fewest) {
    std::vector<LiveMeasurement> results(finalists.size());
    std::vector<std::unique_ptr<Timed>> ready(finalists.size());
    double round_seconds = 0.0;
    double proof_seconds = 0.0;  // the longest so far: no other is begun where one as long leaves no time for rounds
    bool cut = false;
    const auto seconds_left = [&] {
        if (options_.limit == std::chrono::steady_clock::time_point::max())
            return std::numeric_limits<double>::infinity();
        return std::chrono::duration<double>(options_.limit - std::chrono::steady_clock::now()).count();
    };
    for (std::size_t f = 0; f < finalists.size(); ++f) {
        const double before = seconds_left();
        cut = before <= round_seconds * static_cast<double>(fewest) + proof_seconds;
        if (cut) break;
        const Configuration& configuration = configurations_[finalists[f]];
        if (options_.before) YOLK_TRY_VOID(options_.before(configuration));
        const Result<std::string> wrong = prove(configuration, 1);
        if (!wrong) {
            YOLK_TRY(results[f], failed(wrong.error()));
        } else if (!wrong->empty()) {
            results[f] = {.reason = *wrong, .quarantine = true};
        } else {
            YOLK_TRY(ready[f], prepare(configuration));
            YOLK_TRY_VOID(time(*ready[f]));  // a warm-up: dropped
            round_seconds += ready[f]->seconds;
        }
        if (options_.after) YOLK_TRY_VOID(options_.after());
        if (std::isfinite(before)) proof_seconds = std::max(proof_seconds, before - seconds_left());
    }
    while (!ready.empty() && seconds_left() < round_seconds * static_cast<double>(fewest)) {
        cut = true;
        if (ready.back() != nullptr) round_seconds -= ready.back()->seconds;
        ready.pop_back();
    }
    const auto timed = std::ranges::count_if(ready, [](const auto& one) { return one != nullptr; });
    if (cut && timed < 2) return results;
    YOLK_TRY_VOID(time_rounds(ready, rounds, results));
    return results;
}

/// Ends after a whole round where the limit says so.
Result<void> LiveSurface::time_rounds(std::span<const std::unique_ptr<Timed>> ready, std::size_t rounds,
                                      std::vector<LiveMeasurement>& results) {
    YOLK_TRY_VOID(warm_up_.wake());
    for (std::size_t round = 0; round < rounds && !late(); ++round) {
        for (std::size_t f = 0; f < ready.size(); ++f) {
            if (ready[f] == nullptr) continue;
            YOLK_TRY(const double milliseconds, time(*ready[f]));
            results[f].milliseconds.push_back(milliseconds);
        }
    }
    return {};
}

}  // namespace yolk::autotune
