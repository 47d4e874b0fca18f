// SPDX-License-Identifier: Apache-2.0
#include "yolk/tune_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "user_kernel_search.hpp"
#include "yolk/internal/autotune/race.hpp"
#include "yolk/internal/autotune/recording.hpp"
#include "yolk/internal/autotune/tune_live.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::autotune {
namespace {

/// Goes on after a device is lost, with a new one: what lost it is quarantined by then.
Result<TuneLiveOutcome> search_kernel(const UserKernelTuning& run, std::optional<Machine>& machine) {
    if (machine->device.info().kind == DeviceKind::Cpu) return search_apart(run, machine->device.info());
    for (int lost = 0;; ++lost) {
        Result<TuneLiveOutcome> outcome = search_once(run, *machine);
        if (run.options.ended) run.options.ended();
        const bool is_lost = !outcome && outcome.error().kind == ErrorKind::DeviceLost;
        const bool stopped = run.options.goes_on && !run.options.goes_on();
        if (!is_lost || lost == kMostLostDevices || stopped) return outcome;
        log_warning(fmt::format("A configuration lost the device and is quarantined; the search continues. {}",
                                outcome.error().message));
        machine.reset();
        YOLK_TRY(machine, run.options.open_machine());
    }
}

/// Different reasons for which configurations failed, most frequent first.
std::vector<std::string> counted_reasons(const std::vector<TuningSample>& samples) {
    std::vector<std::pair<std::size_t, std::string>> counted;
    for (const TuningSample& sample : samples) {
        if (sample.reason.empty()) continue;
        const auto same = std::ranges::find(counted, sample.reason, &std::pair<std::size_t, std::string>::second);
        if (same == counted.end()) {
            counted.emplace_back(1, sample.reason);
        } else {
            ++same->first;
        }
    }
    std::ranges::stable_sort(counted, std::greater<>(), &std::pair<std::size_t, std::string>::first);
    std::vector<std::string> reasons;
    reasons.reserve(counted.size());
    for (auto& [count, reason] : counted) reasons.push_back(std::move(reason));
    return reasons;
}

/// What the lists of values have that nobody has measured.
std::vector<std::string> untried_values(const TuningSpace& space, const std::vector<TuningSample>& samples) {
    std::vector<std::string> untried;
    for (const TuningKnob& knob : space.knobs()) {
        const KnobMeaning meaning = meaning_of(knob.name);
        for (const std::uint32_t count : knob.values) {
            const bool tried = std::ranges::any_of(samples, [&](const TuningSample& sample) {
                return std::ranges::any_of(sample.configuration, [&](const auto& entry) {
                    return entry.first == meaning.name && counted(meaning, entry.second) == count;
                });
            });
            if (!tried) untried.push_back(fmt::format("{} = {}", meaning.name, counted_text(meaning, count)));
        }
    }
    return untried;
}

void tell_outdated(const TuningSpace& space, const std::optional<TuningChoice>& outdated) {
    if (!outdated) return;
    log_info(fmt::format("The table's choice for {} ({}) is not in its space any more: {}. The kernel is tuned again.",
                         shape_text(space.family(), space.shape()), values_text(outdated->configuration),
                         misfit_text(space, outdated->configuration)));
}

std::string driver_words(const DeviceInfo& info) {
    return info.driver_info.empty() ? info.driver_name : info.driver_name + " " + info.driver_info;
}

/// The fastest of what is right so far, where the search ended before it chose; the default unless another is faster.
std::optional<TuningChoice> provisional_choice(const UserKernelTuning& run, const DeviceInfo& info,
                                               const std::vector<TuningSample>& samples,
                                               const std::vector<Quarantined>& quarantined) {
    const TuningSpace space = run.kernel.space(info);
    std::map<Configuration, std::vector<double>> times;
    for (const TuningSample& sample : samples) {
        const std::optional<Configuration> configuration = configuration_in(space, sample.configuration);
        if (configuration && std::isfinite(sample.milliseconds)) times[*configuration].push_back(sample.milliseconds);
    }
    for (const Quarantined& entry : quarantined) {
        const std::optional<Configuration> configuration = configuration_in(space, entry.configuration);
        if (entry.key == run.key && configuration) times.erase(*configuration);
    }
    const auto by_default = times.find(run.kernel.default_configuration(info));
    auto best = by_default;
    for (auto at = times.begin(); at != times.end(); ++at) {
        if (best == times.end() || median_of(at->second) < median_of(best->second)) best = at;
    }
    if (best == times.end()) return std::nullopt;
    TuningChoice choice{.key = run.key, .configuration = stored_configuration(space, best->first)};
    choice.milliseconds = median_of(best->second);
    choice.spread = spread_of(best->second);
    if (by_default != times.end()) choice.heuristic_milliseconds = median_of(by_default->second);
    choice.evaluations = times.size();
    return choice;
}

/// What the table and the search say in the end.
Result<void> conclude(const UserKernelTuning& run, const DeviceInfo& info, const std::optional<TuningChoice>& known,
                      TuneUserKernelOutcome& outcome) {
    const TuningSpace space = run.kernel.space(info);
    YOLK_TRY(const std::vector<TuningSample> samples, run.file.samples(run.key));
    if (!run.options.record.empty()) {
        const std::filesystem::path& path = run.options.record;
        YOLK_TRY(const std::string text, recording_text(space, samples, info.name, recording_format(path)));
        YOLK_TRY_VOID(write_recording(path, text));
    }
    const bool chosen = outcome.search && !outcome.search->choice.configuration.empty();
    outcome.choice = chosen ? outcome.search->choice : known.value_or(TuningChoice{});
    outcome.decided = chosen || known;
    if (!outcome.decided) {
        YOLK_TRY(const std::vector<Quarantined> quarantined, run.file.quarantined());
        outcome.choice = provisional_choice(run, info, samples, quarantined).value_or(TuningChoice{});
    }
    outcome.configuration = configuration_in(space, outcome.choice.configuration);
    if (!outcome.search) outcome.untried = untried_values(space, samples);
    outcome.any_right =
        std::ranges::any_of(samples, [](const TuningSample& sample) { return std::isfinite(sample.milliseconds); });
    outcome.reasons = counted_reasons(samples);
    return {};
}

}  // namespace

Result<TuneUserKernelOutcome> tune_user_kernel(std::optional<Machine>& machine, const UserKernel& kernel,
                                               const std::filesystem::path& table,
                                               const TuneUserKernelOptions& options) {
    if (!options.record.empty()) YOLK_TRY_VOID(check_recording_place(options.record));
    YOLK_TRY(const TuningFile file, TuningFile::open(table));
    YOLK_TRY_VOID(recover_journals(file));
    const DeviceInfo info = machine->device.info();
    const auto begin = KernelClock::now();
    UserKernelTuning run{.options = options,
                         .kernel = kernel,
                         .file = file,
                         .key = tuning_key(info, kernel.space(info)),
                         .end = begin + std::chrono::duration_cast<KernelClock::duration>(options.time)};
    TuneUserKernelOutcome outcome{
        .table = file.path(), .key = run.key, .device = info.name, .driver = driver_words(info)};
    YOLK_TRY(const std::vector<TuningChoice> choices, file.choices());
    const TuningSpace space = kernel.space(info);
    const KnownChoices in_table = known_choices(choices, run.key, space);
    const std::optional<TuningChoice>& known = in_table.exact;
    if (!known || options.again) {
        tell_outdated(space, in_table.outdated);
        YOLK_TRY(outcome.search, search_kernel(run, machine));
    }
    YOLK_TRY_VOID(conclude(run, machine->device.info(), known, outcome));
    outcome.seconds = std::chrono::duration<double>(KernelClock::now() - begin).count();
    return outcome;
}

Json winner_json(const UserKernel& kernel, const TuneUserKernelOutcome& outcome, const std::filesystem::path& shader) {
    Json json{{"yolk_kernel", 1},
              {"shader", shader.filename().string()},
              {"kernel", outcome.key.shape.variant},
              {"device", outcome.device},
              {"driver", outcome.driver},
              {"sizes", kernel.sizes()}};
    json.update(kernel.describe(*outcome.configuration));
    json["reference"] = kernel.reference();
    json["milliseconds"] = outcome.choice.milliseconds;
    json["default_milliseconds"] = outcome.choice.heuristic_milliseconds;
    json["spread"] = outcome.choice.spread;
    json["evaluations"] = outcome.choice.evaluations;
    return json;
}

}  // namespace yolk::autotune
