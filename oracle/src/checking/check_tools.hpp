// SPDX-License-Identifier: Apache-2.0
// What the checks of all families share: draws, and holding what came from a device against twin, oracle and guard
// bands.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "yolk/internal/core/philox.hpp"
#include "yolk/internal/oracle/check.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/oracle/guarded.hpp"
#include "yolk/internal/primitives/float_format.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/result.hpp"

namespace yolk::oracle {

/// Reproducible draws for inputs and configurations: Philox over (seed, stream), one block per draw.
class Draws {
   public:
    explicit Draws(std::uint64_t seed, std::uint32_t stream = 0) noexcept
        : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)}, stream_(stream) {}

    [[nodiscard]] std::uint32_t word() noexcept { return philox4x32({next_++, stream_, 0, 0}, key_)[0]; }
    /// An index below `count` (not 0); the bias is below count / 2^32.
    [[nodiscard]] std::uint32_t below(std::uint32_t count) noexcept { return word() % count; }
    /// A multiple of 2^-24 times (high - low), rounded to float.
    [[nodiscard]] float uniform(float low, float high) noexcept {
        return low + (high - low) * std::ldexp(static_cast<float>(word() >> 8U), -24);
    }
    [[nodiscard]] std::vector<float> uniforms(std::size_t count, float low, float high) {
        std::vector<float> values(count);
        for (float& value : values) value = uniform(low, high);
        return values;
    }
    [[nodiscard]] std::vector<std::uint32_t> words(std::size_t count) {
        std::vector<std::uint32_t> words(count);
        for (std::uint32_t& each : words) each = word();
        return words;
    }
    template <class T, std::size_t kCount>
    [[nodiscard]] T one_of(const std::array<T, kCount>& choices) noexcept {
        return choices[below(kCount)];
    }

   private:
    PhiloxKey key_;
    std::uint32_t stream_;
    std::uint32_t next_ = 0;
};

/// In [-1, 1), now and then an operand that the operand rule drops, one of them denormal.
[[nodiscard]] inline std::vector<float> drawn_operands(std::uint64_t seed, std::uint32_t stream, std::size_t count) {
    std::vector<float> values = Draws(seed, stream).uniforms(count, -1.0F, 1.0F);
    for (std::size_t i = 3; i < values.size(); i += 11) values[i] = i % 2 == 0 ? 0x1p-41F : -0x1p-130F;
    return values;
}

/// The number nearest to `value` that the format has.
[[nodiscard]] float in_format(FloatFormat format, float value);
/// Numbers of a format as they lie in memory.
[[nodiscard]] ByteVector bytes_in_format(FloatFormat format, const std::vector<float>& values);

/// Records with `record(Recorder&)`, submits and waits.
template <class Record>
[[nodiscard]] Result<void> run_recorded(const CheckContext& context, Record&& record) {
    YOLK_TRY(Recorder recorder, Recorder::create(context.device, {.label = "check"}));
    recorder.begin();
    std::forward<Record>(record)(recorder);
    return context.dispatcher.run(recorder);
}

/// Holds 4-byte elements to the exact twin, bit by bit; where is the flat index, or of a sample one of `elements`.
void verify_words_against_twin(CheckReport& report, const std::string& case_name, std::span<const std::uint32_t> got,
                               std::span<const std::uint32_t> twin, std::span<const std::uint64_t> elements = {});

/// Holds elements to the oracle in units of the tolerance; keeps the worst with its place, as above.
void verify_against_oracle(CheckReport& report, const std::string& case_name, std::span<const double> got,
                           std::span<const Bounded> oracle, std::span<const std::uint64_t> elements = {});
template <class T>
void verify_against_oracle(CheckReport& report, const std::string& case_name, const std::vector<T>& got,
                           const std::vector<Bounded>& oracle) {
    const std::vector<double> values(got.begin(), got.end());
    verify_against_oracle(report, case_name, std::span<const double>(values), std::span<const Bounded>(oracle));
}

/// Fails the case where a kernel wrote outside the payload of a buffer.
[[nodiscard]] Result<void> verify_guards(CheckReport& report, const std::string& case_name, const GuardedBuffer& buffer,
                                         const char* buffer_name);

}  // namespace yolk::oracle
