// SPDX-License-Identifier: Apache-2.0
#include "check_tools.hpp"

#include <fmt/format.h>

#include <limits>

#include "yolk/internal/oracle/convert.hpp"
#include "yolk/internal/reference/convert.hpp"

namespace yolk::oracle {

namespace {

// 0 within reach of a NaN-free comparison; infinity where one side is not a number or a zero tolerance is missed.
double error_in_tolerances(double got, const Bounded& oracle) {
    if (got == oracle.value || std::isinf(oracle.tolerance)) return 0.0;
    const double error = std::abs(got - oracle.value) / oracle.tolerance;
    return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

}  // namespace

float in_format(FloatFormat format, float value) {
    if (format == FloatFormat::F32 || std::isnan(value)) return value;
    return static_cast<float>(value_of_half(format, nearest_half(format, static_cast<double>(value))));
}

ByteVector bytes_in_format(FloatFormat format, const std::vector<float>& values) {
    if (format == FloatFormat::F32) return bytes_of_values(values);
    return bytes_of_values(reference::narrow_twin(format, values));
}

void verify_words_against_twin(CheckReport& report, const std::string& case_name, std::span<const std::uint32_t> got,
                               std::span<const std::uint32_t> twin, std::span<const std::uint64_t> elements) {
    if (got.size() != twin.size()) {
        report.fail(fmt::format("{}: {} elements came, the twin has {}.", case_name, got.size(), twin.size()));
        return;
    }
    std::uint64_t mismatches = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (got[i] == twin[i]) continue;
        if (mismatches++ == 0) first = i;
    }
    if (mismatches == 0) return;
    report.twin_mismatches += mismatches;
    report.fail(fmt::format(
        "{}: {} of {} elements differ from the exact twin; the first is element {}: {:#010x} where {:#010x} is right.",
        case_name, mismatches, got.size(), elements.empty() ? first : elements[first], got[first], twin[first]));
}

void verify_against_oracle(CheckReport& report, const std::string& case_name, std::span<const double> got,
                           std::span<const Bounded> oracle, std::span<const std::uint64_t> elements) {
    if (got.size() != oracle.size()) {
        report.fail(fmt::format("{}: {} elements came, the oracle has {}.", case_name, got.size(), oracle.size()));
        return;
    }
    double worst = 0.0;
    std::size_t where = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double error = error_in_tolerances(got[i], oracle[i]);
        if (error > worst) worst = error, where = i;
    }
    const std::uint64_t element = elements.empty() ? where : elements[where];
    if (worst > report.worst_error) {
        report.worst_error = worst;
        report.worst_case = fmt::format("{}, element {}", case_name, element);
    }
    if (worst <= 1.0) return;
    report.fail(fmt::format("{}: element {} is {:.9g} where the oracle has {:.9g} +- {:.3g}.", case_name, element,
                            got[where], oracle[where].value, oracle[where].tolerance));
}

Result<void> verify_guards(CheckReport& report, const std::string& case_name, const GuardedBuffer& buffer,
                           const char* buffer_name) {
    YOLK_TRY(const std::uint64_t damaged, buffer.damaged_words());
    if (damaged != 0)
        report.fail(fmt::format("{}: {} words outside {} were overwritten.", case_name, damaged, buffer_name));
    return {};
}

}  // namespace yolk::oracle
