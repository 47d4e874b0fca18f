// SPDX-License-Identifier: Apache-2.0
// Whether the house strategy's step would be faster on a device if many searches shared its dispatches: the N x n part
// of their steps, search as batch, beside the host's whole step on two threads, in turns. The device's side is a
// ceiling: columns of the covariance, the n x n part in double, transfers and the host's proof, which it needs too, are
// left out. And of a fit: an evaluation of the evidence, A's factor, beside block_inverse of as many blocks as there
// are searches.
//
//     yolk_tuner_batch_bench [CANDIDATES] [SEARCHES] [TURNS]
#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "../times.hpp"
#include "yolk/block_inverse.hpp"
#include "yolk/context.hpp"
#include "yolk/expected_improvement.hpp"
#include "yolk/internal/autotune/search_cost.hpp"
#include "yolk/matmul.hpp"
#include "yolk/natural_gradient.hpp"
#include "yolk/reduce.hpp"

namespace yolk::bench {
namespace {

constexpr std::uint32_t kRows = 4;   ///< X y, X 1, and two new rows of the inverse's factor
constexpr std::uint32_t kSteps = 2;  ///< new measurements of a proposal
constexpr std::uint32_t kGroup = 8;  ///< candidates that share a bound
constexpr std::array kCounts{64U, 128U, 192U};
constexpr std::uint32_t kFitted = 144;  ///< measurements of the last fit

double milliseconds_of(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// Buffers by number of floats, filled with small values so that nothing is denormal or infinite.
class Floats {
   public:
    explicit Floats(const Context& context) : context_(context) {}
    Result<BufferView> make(std::uint64_t count, float value = 0.01F) {
        YOLK_TRY(Buffer made, context_.device().create_buffer(
                                  {.size_bytes = sizeof(float) * std::max<std::uint64_t>(count, 1), .label = "bench"}));
        const std::vector<float> values(count, value);
        YOLK_TRY_VOID(context_.dispatcher().upload(made, std::as_bytes(std::span(values))));
        buffers_.push_back(std::move(made));
        return BufferView(buffers_.back());
    }
    template <class Desc>
    Result<BufferView> scratch(const Plan<Desc>& plan) {
        if (plan.scratch().size_bytes == 0) return BufferView{};
        return make(plan.scratch().size_bytes / sizeof(float));
    }

   private:
    const Context& context_;
    std::vector<Buffer> buffers_;
};

/// A dispatch of the batch, by itself.
struct Part {
    const char* name;
    std::function<void(Recorder&)> record;
};

template <class BoundPlan, class Record>
Part part_of(const char* name, BoundPlan bound, Record record) {
    return {name, [kept = std::make_shared<const BoundPlan>(std::move(bound)), record](Recorder& recorder) {
                record(*kept, recorder);
            }};
}
constexpr auto kOnce = [](const auto& bound, Recorder& recorder) { bound.record(recorder); };

Result<double> timed(const Context& context, const std::vector<Part>& parts) {
    YOLK_TRY(Recorder recorder, Recorder::create(context.device(), {.label = "batch of searches"}));
    recorder.begin();
    for (const Part& part : parts) {
        part.record(recorder);
        recorder.barrier(Barrier::ComputeToCompute);
    }
    Result<void> done;
    const double milliseconds = milliseconds_of([&] { done = context.dispatcher().run(recorder); });
    YOLK_TRY_VOID(std::move(done));
    return milliseconds;
}

struct BatchShape {
    std::uint32_t searches = 0;
    std::uint32_t candidates = 0;
    std::uint32_t n = 0;  ///< measurements of each
};

/// X of each search by three vectors, and X with one more row and column.
Result<std::vector<Part>> square_parts(const Context& context, Floats& floats, const BatchShape& shape) {
    const std::uint64_t square = std::uint64_t{shape.searches} * shape.n * shape.n;
    const std::uint64_t row = std::uint64_t{shape.searches} * shape.n;
    YOLK_TRY(const auto solve, plan_natural_gradient(context.device(), {.n = shape.n, .blocks = shape.searches}));
    YOLK_TRY(const auto border,
             plan_matmul(context.device(),
                         {.m = shape.n, .n = shape.n, .k = 1, .batch = shape.searches, .has_residual = true}));
    YOLK_TRY(const BufferView inverses, floats.make(square));
    YOLK_TRY(const BufferView bordered, floats.make(square));
    YOLK_TRY(const BufferView vectors, floats.make(row));
    YOLK_TRY(const BufferView weights, floats.make(row));
    YOLK_TRY(const BufferView scratch, floats.scratch(border));
    YOLK_TRY(auto bound_solve, solve.bind({.preconditioner = inverses, .gradient = vectors, .step = weights}, {}));
    YOLK_TRY(auto bound_border,
             border.bind({.a = vectors, .b = vectors, .out = bordered, .residual = inverses}, scratch));
    return std::vector<Part>{part_of("solves", std::move(bound_solve),
                                     [](const auto& bound, Recorder& recorder) {
                                         for (int i = 0; i < 3; ++i) bound.record(recorder, -1.0F);
                                     }),
                             part_of("border", std::move(bound_border), kOnce)};
}

/// Scores of all candidates of each search, their gains, and the largest of every group.
Result<std::vector<Part>> wide_parts(const Context& context, Floats& floats, const BatchShape& shape) {
    const Device& device = context.device();
    const std::uint32_t all = shape.searches * shape.candidates;
    const std::uint32_t groups = all / kGroup;
    const std::uint64_t row_bytes = sizeof(float) * std::uint64_t{all};
    YOLK_TRY(const auto scores,
             plan_matmul(device, {.m = kRows, .n = shape.candidates, .k = shape.n, .batch = shape.searches}));
    YOLK_TRY(const auto gains, plan_expected_improvement(device, {.count = all, .stride = all, .steps = kSteps}));
    YOLK_TRY(const auto most,
             plan_reduce(device, {.operation = ReduceOperation::Max, .outer = groups, .columns = kGroup}));
    YOLK_TRY(const auto place,
             plan_reduce(device, {.operation = ReduceOperation::Argmax, .outer = groups, .columns = kGroup}));
    YOLK_TRY(const BufferView weights, floats.make(std::uint64_t{kRows} * shape.searches * shape.n));
    YOLK_TRY(const BufferView columns, floats.make(std::uint64_t{all} * shape.n));
    YOLK_TRY(const BufferView rows, floats.make(std::uint64_t{kRows} * all));
    YOLK_TRY(const BufferView prior, floats.make(all));
    YOLK_TRY(const BufferView variances, floats.make(all, 1.0F));
    YOLK_TRY(const BufferView out, floats.make(all));
    YOLK_TRY(const BufferView bounds, floats.make(groups));
    YOLK_TRY(const BufferView leaders, floats.make(groups));
    YOLK_TRY(const BufferView scratch, floats.scratch(scores));
    const BufferView steps = rows.part(2 * row_bytes, kSteps * row_bytes);
    YOLK_TRY(auto bound_scores, scores.bind({.a = weights, .b = columns, .out = rows}, scratch));
    YOLK_TRY(auto bound_gains, gains.bind({.scores = rows.part(0, 2 * row_bytes),
                                           .left = steps,
                                           .right = steps,
                                           .prior = prior,
                                           .variances = variances,
                                           .out = out},
                                          {}));
    YOLK_TRY(auto bound_most, most.bind({.in = out, .out = bounds}, {}));
    YOLK_TRY(auto bound_place, place.bind({.in = out, .out = leaders}, {}));
    const auto one_step = [](const auto& bound, Recorder& recorder) { bound.record(recorder, {.steps = 1}); };
    return std::vector<Part>{
        part_of("scores", std::move(bound_scores), kOnce), part_of("gains", std::move(bound_gains), one_step),
        part_of("largest", std::move(bound_most), kOnce), part_of("their places", std::move(bound_place), kOnce)};
}

/// One step of each search, as device_posterior.hpp makes it.
Result<std::vector<Part>> step_parts(const Context& context, Floats& floats, const BatchShape& shape) {
    YOLK_TRY(std::vector<Part> parts, square_parts(context, floats, shape));
    YOLK_TRY(const std::vector<Part> wide, wide_parts(context, floats, shape));
    parts.insert(parts.end(), wide.begin(), wide.end());
    return parts;
}

/// Milliseconds per search of the host's whole step: each of two threads has searches of its own.
double host_step(std::uint32_t candidates, std::uint32_t measurements) {
    std::array<double, 2> medians{};
    std::vector<std::jthread> threads;
    for (double& median : medians) {
        threads.emplace_back([&median, candidates, measurements] {
            median = autotune::step_cost(candidates, measurements, 9, nullptr).median;
        });
    }
    threads.clear();  // joins
    return (medians[0] + medians[1]) / 4.0;
}

Result<void> compare_steps(const Context& context, std::uint32_t candidates, std::uint32_t searches,
                           std::uint32_t turns, std::uint32_t n) {
    Floats floats(context);
    YOLK_TRY(const std::vector<Part> parts,
             step_parts(context, floats, {.searches = searches, .candidates = candidates, .n = n}));
    YOLK_TRY_VOID(timed(context, parts));  // compiles
    std::vector<double> device, host;
    std::vector<std::vector<double>> own(parts.size());
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
        host.push_back(host_step(candidates, n - kSteps));
        YOLK_TRY(const double all, timed(context, parts));
        device.push_back(all / searches);
        for (std::size_t p = 0; p < parts.size(); ++p) {
            YOLK_TRY(const double one, timed(context, {parts[p]}));
            own[p].push_back(one / searches);
        }
    }
    fmt::print("n {}: host's step {:.2f} ms, device's kernels {:.2f} ms per search ({:.2f} of the host)", n,
               median_of(host), median_of(device), median_of(host) / median_of(device));
    for (std::size_t p = 0; p < parts.size(); ++p) fmt::print("; {} {:.2f}", parts[p].name, median_of(own[p]));
    fmt::print("\n");
    return {};
}

/// Milliseconds per block of a factor in double precision on two threads.
double host_factor(std::uint32_t searches, std::uint32_t n) {
    const Eigen::Index size = n;
    Eigen::MatrixXd block = Eigen::MatrixXd::Constant(size, size, 0.5);
    block.diagonal().array() += 1.0;
    double sum = 0.0;
    const double milliseconds = milliseconds_of([&] {
        std::array<double, 2> sums{};
        std::vector<std::jthread> threads;
        for (double& own : sums) {
            threads.emplace_back([&own, &block, half = searches / 2] {
                for (std::uint32_t i = 0; i < half; ++i) own += block.llt().matrixLLT().diagonal().array().log().sum();
            });
        }
        threads.clear();  // joins
        sum = sums[0] + sums[1];
    });
    return sum > 0.0 ? milliseconds / searches : 0.0;
}

Result<void> compare_fits(const Context& context, std::uint32_t searches, std::uint32_t turns) {
    Floats floats(context);
    const std::uint64_t square = std::uint64_t{kFitted} * kFitted;
    YOLK_TRY(const auto plan, plan_block_inverse(context.device(), {.n = kFitted, .blocks = searches, .retries = 0}));
    std::vector<float> blocks(searches * square, 0.5F);
    for (std::uint64_t s = 0; s < searches; ++s) {
        for (std::uint64_t i = 0; i < kFitted; ++i) blocks[s * square + i * (kFitted + 1)] = 1.5F;
    }
    YOLK_TRY(const BufferView in, floats.make(searches * square));
    YOLK_TRY_VOID(context.dispatcher().upload(in, std::as_bytes(std::span(blocks))));
    YOLK_TRY(const BufferView out, floats.make(searches * square));
    YOLK_TRY(const BufferView status, floats.make(searches));
    YOLK_TRY(const BufferView residual, floats.make(searches));
    YOLK_TRY(const BufferView scratch, floats.scratch(plan));
    YOLK_TRY(auto bound, plan.bind({.in = in, .out = out, .status = status, .residual = residual}, scratch));
    const std::vector<Part> parts{part_of("inverse", std::move(bound), kOnce)};
    YOLK_TRY_VOID(timed(context, parts));
    std::vector<double> device, host;
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
        host.push_back(host_factor(searches, kFitted));
        YOLK_TRY(const double all, timed(context, parts));
        device.push_back(all / searches);
    }
    std::vector<std::uint32_t> words(searches);
    YOLK_TRY_VOID(context.dispatcher().download(status, std::as_writable_bytes(std::span(words))));
    if (!std::ranges::all_of(words, [](std::uint32_t word) { return is_inverted(word); }))
        return Error{ErrorKind::Failed, "A block of the fit's has no inverse."};
    fmt::print("an evaluation of a fit at {}: host's factor {:.3f} ms, device's block_inverse {:.3f} ms per search\n",
               kFitted, median_of(host), median_of(device));
    return {};
}

Result<void> compare(std::uint32_t candidates, std::uint32_t searches, std::uint32_t turns) {
    YOLK_TRY(const Context context, Context::create({}));
    fmt::print("{} candidates, {} searches in one batch, medians of {} turns, {}\n", candidates, searches, turns,
               context.device().info().name);
    for (const std::uint32_t n : kCounts) YOLK_TRY_VOID(compare_steps(context, candidates, searches, turns, n));
    return compare_fits(context, searches, turns);
}

}  // namespace
}  // namespace yolk::bench

int main(int argc, char** argv) {
    std::array<std::uint32_t, 3> values{18'176, 8, 7};
    for (int i = 1; i < argc && i <= 3; ++i) {
        const char* const end = argv[i] + std::strlen(argv[i]);
        std::uint32_t& value = values.at(static_cast<std::size_t>(i - 1));
        if (const auto read = std::from_chars(argv[i], end, value);
            read.ec != std::errc{} || read.ptr != end || value == 0 || (i == 1 && value % 256 != 0)) {
            fmt::print(stderr, "'{}' is not a number above 0 (candidates: a multiple of 256).\n", argv[i]);
            return 2;
        }
    }
    const yolk::Result<void> done = yolk::bench::compare(values[0], values[1], values[2]);
    if (!done) fmt::print(stderr, "yolk: error: {}\n", done.error().message);
    return done ? 0 : 1;
}
