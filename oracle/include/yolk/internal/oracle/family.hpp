// SPDX-License-Identifier: Apache-2.0
// The single description of a kernel family: problems with their inputs, what must come out, how much work it is, and
// the tuning space. Tests, `yolk check`, benchmarks and the tuner all read it.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/internal/core/bytes.hpp"
#include "yolk/internal/oracle/check.hpp"
#include "yolk/internal/oracle/element_oracle.hpp"
#include "yolk/internal/primitives/arithmetic_unit.hpp"
#include "yolk/internal/primitives/fields.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/internal/runtime/tuning_space.hpp"
#include "yolk/result.hpp"

namespace yolk::oracle {

enum class BufferRole {
    Input,   ///< read; a run that changes it fails
    Output,  ///< written; holds poison before
    InOut,   ///< holds `contents` before, and is held against what is expected after
};

/// A buffer of a problem.
struct ProblemBuffer {
    std::string name;
    BufferRole role = BufferRole::Input;
    std::uint64_t size_bytes = 0;
    std::vector<std::byte> contents{};  ///< size_bytes of them, but for outputs
};

template <class T>
[[nodiscard]] ProblemBuffer input_buffer(std::string name, const std::vector<T>& values) {
    ByteVector contents = bytes_of_values(values);
    const std::uint64_t size_bytes = contents.size();
    return {std::move(name), BufferRole::Input, size_bytes, std::move(contents)};
}
[[nodiscard]] inline ProblemBuffer output_buffer(std::string name, std::uint64_t size_bytes) {
    return {std::move(name), BufferRole::Output, size_bytes, {}};
}

enum class ElementType { F32, I32, U32 };

/// What an output holds after a right run.
struct Expected {
    ElementType element = ElementType::F32;
    std::vector<std::uint32_t> twin{};  ///< the words of the exact twin (classes E and P); empty for class T
    std::vector<Bounded> oracle{};      ///< one per element; empty where `hold` of the problem does more than this can
    std::vector<bool> kept{};           ///< elements that must stay as they were (padding between rows); empty for none
};
/// The words of 4-byte elements.
template <class T>
[[nodiscard]] std::vector<std::uint32_t> words_of(const std::vector<T>& values);

/// How much a run computes and moves, at least.
struct Work {
    double operations = 0.0;  ///< multiply-adds count as two
    double bytes = 0.0;       ///< inputs read once, outputs written once
};

/// Bytes of a problem's buffers; in double, since a product of extents that users give may be above 2^64.
struct BufferBytes {
    double read = 0.0;     ///< of Input and InOut
    double written = 0.0;  ///< of Output and InOut
    double all = 0.0;
    void add(BufferRole role, double bytes) noexcept {
        if (role != BufferRole::Output) read += bytes;
        if (role != BufferRole::Input) written += bytes;
        all += bytes;
    }
};

/// A plan of a problem. The device and the plan must outlive what it records.
class PlannedProblem {
   public:
    using Record = std::function<void(Recorder&)>;
    virtual ~PlannedProblem() = default;
    [[nodiscard]] virtual MemoryNeeds scratch() const = 0;
    /// `views`: one per buffer of the problem, in their order.
    [[nodiscard]] virtual Result<Record> bind(std::span<const BufferView> views, const BufferView& scratch) const = 0;
    /// Whether the view of this buffer may be larger than the buffer: then what is written behind the buffer is seen,
    /// too, on drivers that drop what is written behind a view. Not where bind() takes the buffer's size from the view.
    [[nodiscard]] virtual bool takes_room(std::size_t /*buffer*/, BufferRole /*role*/) const { return false; }
    /// The same work with its workgroups in another order: parts of the grid from the last to the first, each after the
    /// one before it has ended. Nothing where that cannot be had.
    [[nodiscard]] virtual std::optional<Result<Record>> bind_backwards(std::span<const BufferView> /*views*/,
                                                                       const BufferView& /*scratch*/) const {
        return std::nullopt;
    }
};

/// One shape with its inputs. Immutable; inputs and expectations are made on each call, the same each time.
class Problem {
   public:
    virtual ~Problem() = default;
    [[nodiscard]] virtual std::string name() const = 0;  ///< the shape, for messages
    [[nodiscard]] virtual TuningSpace space(const DeviceInfo& info) const = 0;
    /// What a plan takes where nothing is known.
    [[nodiscard]] virtual Configuration default_configuration(const DeviceInfo& info) const = 0;
    /// What a check runs as well, each time: paths that no default takes, where the device has them.
    [[nodiscard]] virtual std::vector<Configuration> also_checked(const DeviceInfo& /*info*/) const { return {}; }
    /// Whether drivers compile it in seconds; a case that draws another leaves it to the next case. Of all
    /// configurations none is left out.
    [[nodiscard]] virtual bool is_quick_to_make(const Configuration& /*configuration*/) const { return true; }
    [[nodiscard]] virtual Result<std::unique_ptr<PlannedProblem>> plan(const Device& device,
                                                                       const Configuration& configuration) const = 0;
    [[nodiscard]] virtual std::vector<ProblemBuffer> buffers() const = 0;
    /// How large they are; of a problem whose sizes users give, without making their contents.
    [[nodiscard]] virtual BufferBytes buffer_bytes() const;
    /// One per Output and InOut buffer, in their order. Slow: double precision on the host.
    [[nodiscard]] virtual std::vector<Expected> expected() const = 0;
    /// Single elements of what expected() has, from the problem's buffers(), which must outlive it; null where only
    /// expected() knows.
    [[nodiscard]] virtual std::unique_ptr<const ElementOracle> elements(
        std::span<const ProblemBuffer> /*buffers*/) const {
        return nullptr;
    }
    [[nodiscard]] virtual Work work() const = 0;
    /// What a configuration does its operations with.
    [[nodiscard]] virtual ArithmeticUnit unit(const DeviceInfo& /*info*/,
                                              const Configuration& /*configuration*/) const {
        return ArithmeticUnit::Fp32Lanes;
    }
    /// Holds what `expected` cannot say. `outputs`: the words of the Output and InOut buffers.
    virtual void verify(CheckReport& /*report*/, const std::string& /*case_name*/,
                        std::span<const std::vector<std::uint32_t>> /*outputs*/) const {}
};

using Problems = std::vector<std::unique_ptr<Problem>>;

/// Problems of an operation by its fields (yolk/internal/primitives/fields.hpp).
struct OperationText {
    Result<std::unique_ptr<Problem>> (*parse)(std::string_view fields);  ///< "rows=4 columns=3"
    Result<std::unique_ptr<Problem>> (*of_key)(const TuningShape& key);  ///< as a tuning table knows it
    const FieldInfos& (*fields)();
};

struct Family {
    const char* name;
    const char* exactness;                  ///< "E", "P", "T", "E+P", ...
    Problems (*cases)(std::uint64_t seed);  ///< every shape class; small, for the oracle is slow
    Problems (*benchmarks)();               ///< shapes worth timing
    /// Where making a pipeline takes long, each case takes the default and so many of the drawn configurations, by
    /// turns; 0: all of them. Of all configurations each meets one case.
    std::uint32_t configurations_per_case = 0;
    /// Where it takes very long, every drawn configuration meets one case, too; the default meets all.
    bool each_configuration_once = false;
    const OperationText* operation = nullptr;  ///< null: problems cannot be given by text
    /// Shapes as GPUs meet them, of which `benchmarks` has no like: only asked what plans take for them on GPUs, which
    /// check_family then runs on a case. Null: none.
    Problems (*large)() = nullptr;
};

/// Every case with the default configuration and those that `context` draws, twice, with different poisons: guard
/// bands, inputs, twin, oracle, and `hold`. On a CPU driver cases also take what GPUs take by default for them, for the
/// benchmarks and for `large`. Errors: a part that is none, what a plan refuses, and what the device does (of all
/// configurations these are failures, and the check ends where the device cannot go on).
[[nodiscard]] Result<CheckReport> check_family(const CheckContext& context, const Family& family);
/// The same with these in place of the family's cases.
[[nodiscard]] Result<CheckReport> check_problems(const CheckContext& context, const Family& family,
                                                 const Problems& problems);

/// Which problems are proven by a sample (docs/adr/0033).
struct ProofOptions {
    /// Those that have an ElementOracle and take more operations: on the host they take about a second for each 2^30.
    double sampled_above = 0x1p32;
    std::uint64_t sampled_elements = 4096;
};

class SampledProof;

/// A problem with its inputs and expectations, made once: proves configurations one by one, as check_family does. Where
/// expectations would take the host minutes, a sample of the output is computed, and every element is compared with the
/// first configuration's, which is run twice: once right, each run tells of all others. One thread at a time.
class ProblemProof {
   public:
    explicit ProblemProof(const Problem& problem, const ProofOptions& options = {});
    ~ProblemProof();
    /// One run from poisoned buffers; `poison`: an index into kPoisons (guarded.hpp). Where the plan can run backwards,
    /// it does so once more, from the other poison. The report's failures say what is wrong. Errors: those of the plan,
    /// device lost, driver.
    [[nodiscard]] Result<CheckReport> prove(const CheckContext& context, const Configuration& configuration,
                                            std::size_t poison) const;
    [[nodiscard]] const std::vector<ProblemBuffer>& buffers() const noexcept { return buffers_; }
    /// How many elements the oracle computes; nothing where it computes all.
    struct Sample {
        std::uint64_t elements = 0;
        std::uint64_t of = 0;
    };
    [[nodiscard]] std::optional<Sample> sample() const;

   private:
    const Problem& problem_;
    std::vector<ProblemBuffer> buffers_;
    std::vector<Expected> expected_;         ///< none where there is a sample
    std::unique_ptr<SampledProof> sampled_;  ///< with what it has learned of runs
};

/// "4,096 of 67,108,864 elements were computed in double; all of them were compared with the first configuration's."
[[nodiscard]] std::string sample_text(const ProblemProof::Sample& sample);

/// A PlannedProblem of a primitive's plan and a function `bind(plan, views, scratch) -> Result<Record>`. A plan knows
/// the sizes of what it writes; what it only reads may be a uniform or a texel buffer, whose ranges are limited.
template <class Plan, class Bind>
[[nodiscard]] std::unique_ptr<PlannedProblem> planned(Plan plan, Bind bind) {
    class Planned final : public PlannedProblem {
       public:
        Planned(Plan plan, Bind bind) : plan_(std::move(plan)), bind_(std::move(bind)) {}
        [[nodiscard]] MemoryNeeds scratch() const override { return plan_.scratch(); }
        [[nodiscard]] Result<Record> bind(std::span<const BufferView> views, const BufferView& scratch) const override {
            return bind_(plan_, views, scratch);
        }
        [[nodiscard]] bool takes_room(std::size_t /*buffer*/, BufferRole role) const override {
            return role != BufferRole::Input;
        }

       private:
        Plan plan_;
        Bind bind_;
    };
    return std::make_unique<Planned>(std::move(plan), std::move(bind));
}

/// A Record of a bound plan, which it keeps, and of what its record() takes after the recorder.
template <class Bound, class... Arguments>
[[nodiscard]] PlannedProblem::Record recorded(Bound bound, Arguments... arguments) {
    return [bound = std::make_shared<const Bound>(std::move(bound)), arguments...](Recorder& recorder) {
        bound->record(recorder, arguments...);
    };
}

template <class T>
std::vector<std::uint32_t> words_of(const std::vector<T>& values) {
    static_assert(sizeof(T) == sizeof(std::uint32_t));
    std::vector<std::uint32_t> words;
    words.reserve(values.size());
    for (const T& value : values) words.push_back(std::bit_cast<std::uint32_t>(value));
    return words;
}

}  // namespace yolk::oracle
