// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/policy_fisher.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <array>
#include <cmath>
#include <vector>

#include "yolk/covariance.hpp"
#include "yolk/kfac_step.hpp"
#include "yolk/kronecker_precondition.hpp"
#include "yolk/natural_gradient_step.hpp"

namespace yolk::autotune {
namespace {

constexpr std::uint32_t kParameters = 3;
constexpr std::uint32_t kValues = 4;
constexpr std::uint32_t kFeatures = kParameters * kValues;
constexpr std::uint32_t kCandidates = kValues * kValues * kValues;
constexpr float kFisherDamping = 0.125F;  ///< relative to trace / n
constexpr float kPairDamping = 0.01F;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Probabilities = std::array<std::array<double, kValues>, kParameters>;

constexpr Probabilities kPolicy{{{0.1, 0.2, 0.3, 0.4}, {0.25, 0.25, 0.4, 0.1}, {0.55, 0.15, 0.2, 0.1}}};

std::size_t parameter_value(std::size_t candidate, std::size_t parameter) {
    for (std::size_t p = 0; p < parameter; ++p) candidate /= kValues;
    return candidate % kValues;
}
double probability_of(std::size_t candidate) {
    double product = 1.0;
    for (std::size_t p = 0; p < kParameters; ++p) product *= kPolicy[p][parameter_value(candidate, p)];
    return product;
}
/// One-hot features less their mean under the policy.
Eigen::VectorXd features_of(std::size_t candidate) {
    Eigen::VectorXd features(kFeatures);
    for (std::size_t p = 0; p < kParameters; ++p) {
        for (std::size_t v = 0; v < kValues; ++v)
            features(static_cast<Eigen::Index>(p * kValues + v)) =
                (parameter_value(candidate, p) == v ? 1.0 : 0.0) - kPolicy[p][v];
    }
    return features;
}
Matrix dense_fisher() {
    Matrix fisher = Matrix::Zero(kFeatures, kFeatures);
    for (std::size_t c = 0; c < kCandidates; ++c) {
        const Eigen::VectorXd features = features_of(c);
        fisher += probability_of(c) * features * features.transpose();
    }
    return fisher;
}
Matrix block_of(const Matrix& fisher, Eigen::Index parameter) {
    return fisher.block(parameter * kValues, parameter * kValues, kValues, kValues);
}
std::vector<float> floats_of(const Matrix& matrix) {
    const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> narrow = matrix.cast<float>();
    return {narrow.data(), narrow.data() + narrow.size()};
}
template <class Expected>
double difference(std::span<const float> got, const Expected& expected) {
    double most = 0.0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double off = std::abs(double{got[i]} - expected.data()[i]);
        most = off <= most ? most : off;
    }
    return most / expected.cwiseAbs().maxCoeff();
}

/// Buffers of one use.
struct DeviceWork {
    Dispatcher& dispatcher;
    Result<Buffer> buffer(std::uint64_t bytes, const char* label) const {
        return dispatcher.device().create_buffer({.size_bytes = std::max<std::uint64_t>(bytes, 4), .label = label});
    }
    Result<Buffer> filled(std::span<const float> values, const char* label) const {
        YOLK_TRY(Buffer made, buffer(values.size_bytes(), label));
        YOLK_TRY_VOID(dispatcher.upload(made, std::as_bytes(values)));
        return made;
    }
    template <class Record>
    Result<void> run(Record&& record) const {
        YOLK_TRY(Recorder recorder, Recorder::create(dispatcher.device(), {.label = "policy fisher"}));
        recorder.begin();
        record(recorder);
        return dispatcher.run(recorder);
    }
};

/// The blocks by covariance: of rows sqrt(N pi(c)) phi_a(c).
Result<std::vector<float>> blocks_on_device(const DeviceWork& work) {
    std::vector<float> samples;
    for (std::size_t p = 0; p < kParameters; ++p) {
        for (std::size_t c = 0; c < kCandidates; ++c) {
            const double weight = std::sqrt(kCandidates * probability_of(c));
            const Eigen::VectorXd features = features_of(c);
            for (std::size_t v = 0; v < kValues; ++v)
                samples.push_back(static_cast<float>(weight * features(static_cast<Eigen::Index>(p * kValues + v))));
        }
    }
    YOLK_TRY(const CovariancePlan plan,
             plan_covariance(work.dispatcher.device(), {.n = kValues, .samples = kCandidates, .blocks = kParameters}));
    std::vector<float> blocks(std::size_t{kParameters} * kValues * kValues);
    YOLK_TRY(const Buffer x, work.filled(samples, "features"));
    YOLK_TRY(const Buffer covariance, work.buffer(sizeof(float) * blocks.size(), "Fisher blocks"));
    YOLK_TRY(const Buffer scratch, work.buffer(plan.scratch().size_bytes, "scratch"));
    const BufferView scratch_view = plan.scratch().size_bytes == 0 ? BufferView{} : BufferView(scratch);
    YOLK_TRY(const BoundCovariance bound, plan.bind({.x = x, .covariance = covariance}, scratch_view));
    YOLK_TRY_VOID(work.run([&](Recorder& recorder) { bound.record(recorder, true); }));
    YOLK_TRY_VOID(work.dispatcher.download(covariance, std::as_writable_bytes(std::span(blocks))));
    return blocks;
}

Result<double> step_difference(Dispatcher& dispatcher, const Matrix& fisher, const std::vector<float>& blocks) {
    YOLK_TRY(const auto inverses,
             kfac_step(dispatcher, {.count = kParameters, .n = kValues, .blocks = blocks, .damping = kFisherDamping}));
    for (const std::uint32_t status : inverses.status) {
        if (!is_inverted(status)) return 1.0;
    }
    Eigen::VectorXd gradient(kFeatures);
    for (Eigen::Index i = 0; i < gradient.size(); ++i) gradient(i) = std::sin(1.0 + static_cast<double>(i));
    const Eigen::VectorXf narrow = gradient.cast<float>();
    YOLK_TRY(const auto step,
             natural_gradient_step(dispatcher, {.count = kParameters,
                                                .n = kValues,
                                                .gradient = {narrow.data(), static_cast<std::size_t>(narrow.size())},
                                                .preconditioner = inverses.inverses,
                                                .learning_rate = -1.0F}));
    Matrix damped = fisher;
    for (Eigen::Index p = 0; p < kParameters; ++p) {
        const double shift = double{kFisherDamping} * block_of(fisher, p).trace() / kValues;
        damped.diagonal().segment(p * kValues, kValues).array() += shift;
    }
    const Eigen::VectorXd dense = damped.llt().solve(gradient);
    return difference(step.step, dense);
}

/// S_out and S_in of the pair, the mean of S_in's diagonal over S_out's deciding how the damping is shared.
Result<double> pair_difference(const DeviceWork& work, const Matrix& out, const Matrix& in) {
    Matrix gradient(kValues, kValues);
    for (Eigen::Index i = 0; i < gradient.size(); ++i) gradient.data()[i] = std::cos(0.7 * static_cast<double>(i));
    YOLK_TRY(const KroneckerPreconditionPlan plan,
             plan_kronecker_precondition(work.dispatcher.device(), {.n_out = kValues, .n_in = kValues}));
    std::vector<float> step(std::size_t{kValues} * kValues);
    YOLK_TRY(const Buffer factor_out, work.filled(floats_of(out), "factor"));
    YOLK_TRY(const Buffer factor_in, work.filled(floats_of(in), "factor"));
    YOLK_TRY(const Buffer slope, work.filled(floats_of(gradient), "gradient"));
    YOLK_TRY(const Buffer stepped, work.buffer(sizeof(float) * step.size(), "step"));
    YOLK_TRY(const Buffer status, work.buffer(sizeof(std::uint32_t), "status"));
    YOLK_TRY(const Buffer scratch, work.buffer(plan.scratch().size_bytes, "scratch"));
    YOLK_TRY(
        const BoundKroneckerPrecondition bound,
        plan.bind(
            {.factor_out = factor_out, .factor_in = factor_in, .gradient = slope, .step = stepped, .status = status},
            plan.scratch().size_bytes == 0 ? BufferView{} : BufferView(scratch)));
    YOLK_TRY_VOID(work.run([&](Recorder& recorder) { bound.record(recorder, kPairDamping); }));
    YOLK_TRY_VOID(work.dispatcher.download(stepped, std::as_writable_bytes(std::span(step))));
    const double ratio = std::sqrt(in.diagonal().mean() / out.diagonal().mean());
    const Matrix damped_in = in + Matrix::Identity(kValues, kValues) * (ratio * std::sqrt(kPairDamping));
    const Matrix damped_out = out + Matrix::Identity(kValues, kValues) * (std::sqrt(kPairDamping) / ratio);
    Matrix dense(kValues * kValues, kValues * kValues);
    for (Eigen::Index i = 0; i < kValues; ++i) {
        for (Eigen::Index j = 0; j < kValues; ++j)
            dense.block(i * kValues, j * kValues, kValues, kValues) = damped_out(i, j) * damped_in;
    }
    const Eigen::VectorXd expected =
        dense.llt().solve(Eigen::Map<const Eigen::VectorXd>(gradient.data(), gradient.size()));
    return difference(step, expected);
}

/// F_a (x) F_b against the Fisher matrix of the pair's table, enumerated.
double pair_fisher_difference(const Matrix& first, const Matrix& second) {
    constexpr Eigen::Index kPairs = Eigen::Index{kValues} * kValues;
    Matrix enumerated = Matrix::Zero(kPairs, kPairs);
    for (std::size_t c = 0; c < kCandidates; ++c) {
        const Eigen::VectorXd features = features_of(c);
        Eigen::VectorXd pair(kPairs);
        for (Eigen::Index i = 0; i < kValues; ++i) {
            for (Eigen::Index j = 0; j < kValues; ++j) pair(i * kValues + j) = features(i) * features(kValues + j);
        }
        enumerated += probability_of(c) * pair * pair.transpose();
    }
    double most = 0.0;
    for (Eigen::Index i = 0; i < kValues; ++i) {
        for (Eigen::Index j = 0; j < kValues; ++j) {
            const Matrix block = enumerated.block(i * kValues, j * kValues, kValues, kValues);
            most = std::max(most, (block - first(i, j) * second).cwiseAbs().maxCoeff());
        }
    }
    return most / enumerated.cwiseAbs().maxCoeff();
}

}  // namespace

Result<PolicyFisherReport> policy_fisher_report(Dispatcher& dispatcher) {
    const DeviceWork work{dispatcher};
    const Matrix fisher = dense_fisher();
    PolicyFisherReport report;
    YOLK_TRY(const std::vector<float> blocks, blocks_on_device(work));
    constexpr std::size_t kBlock = std::size_t{kValues} * kValues;
    for (std::size_t p = 0; p < kParameters; ++p) {
        Matrix expected(kValues, kValues);
        for (std::size_t a = 0; a < kValues; ++a) {
            for (std::size_t b = 0; b < kValues; ++b)
                expected(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(b)) =
                    (a == b ? kPolicy[p][a] : 0.0) - kPolicy[p][a] * kPolicy[p][b];
        }
        report.fisher = std::max(report.fisher, difference(std::span(blocks).subspan(p * kBlock, kBlock), expected));
    }
    YOLK_TRY(report.step, step_difference(dispatcher, fisher, blocks));
    report.pair_fisher = pair_fisher_difference(block_of(fisher, 0), block_of(fisher, 1));
    YOLK_TRY(report.pair_step, pair_difference(work, block_of(fisher, 0), block_of(fisher, 1)));
    // Without damping and retries: the exact null direction of a block that is exactly representable.
    const std::vector<float> singular{0.25F, -0.25F, -0.25F, 0.25F};
    YOLK_TRY(const auto none, kfac_step(dispatcher, {.count = 1, .n = 2, .blocks = singular, .retries = 0}));
    report.singular_reported = block_status_of(none.status[0]) == BlockStatus::Singular;
    const std::vector<float> indefinite{4.0F, 3.0F, 3.0F, 2.0F};
    YOLK_TRY(const auto refused, kfac_step(dispatcher, {.count = 1, .n = 2, .blocks = indefinite}));
    report.indefinite_reported = block_status_of(refused.status[0]) == BlockStatus::Indefinite;
    return report;
}

Result<void> check_policy_fisher(Dispatcher& dispatcher) {
    YOLK_TRY(const PolicyFisherReport report, policy_fisher_report(dispatcher));
    const double most = std::max({report.fisher, report.step, report.pair_fisher, report.pair_step});
    if (most <= kPolicyFisherTolerance && report.singular_reported && report.indefinite_reported) return {};
    return unsupported(
        "'{}' fails the check of the tuner's algebra: Fisher blocks off by {:.2g}, the natural gradient by {:.2g}, "
        "pairs by {:.2g}, allowed is {:.2g}; a singular block {}, an indefinite one {}. The host's algebra is used.",
        dispatcher.device().info().name, report.fisher, report.step, report.pair_step, kPolicyFisherTolerance,
        report.singular_reported ? "was reported" : "was not reported",
        report.indefinite_reported ? "was reported" : "was not reported");
}

}  // namespace yolk::autotune
