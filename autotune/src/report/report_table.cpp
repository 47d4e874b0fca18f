// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "yolk/autotune/report.hpp"
#include "yolk/oracle/named_problem.hpp"

namespace yolk::autotune {
namespace {

std::optional<KnownShape> known_shape(const TuningKey& key, std::span<const DeviceInfo> devices) {
    const auto device =
        std::ranges::find_if(devices, [&](const DeviceInfo& info) { return device_key(info) == key.device; });
    if (device == devices.end()) return std::nullopt;
    const auto problem = oracle::make_shape_problem(key.family, key.shape);
    if (!problem) return std::nullopt;
    return KnownShape{(*problem)->space(*device), (*problem)->default_configuration(*device)};
}

}  // namespace

Result<std::vector<ShapeReport>> table_reports(const TuningFile& file, std::span<const DeviceInfo> devices) {
    YOLK_TRY(const std::vector<TuningKey> keys, file.keys());
    YOLK_TRY(const std::vector<TuningChoice> choices, file.choices());
    YOLK_TRY(const std::vector<Quarantined> quarantined, file.quarantined());
    std::vector<ShapeReport> reports;
    for (const TuningKey& key : keys) {
        YOLK_TRY(const std::vector<TuningSample> samples, file.samples(key));
        const auto choice = std::ranges::find(choices, key, &TuningChoice::key);
        const std::optional<KnownShape> known = known_shape(key, devices);
        reports.push_back(shape_report(key, samples, quarantined, choice == choices.end() ? nullptr : &*choice,
                                       known ? &*known : nullptr));
    }
    return reports;
}

}  // namespace yolk::autotune
