// SPDX-License-Identifier: Apache-2.0
// Steps of K-FAC against an oracle in double that shares no algorithm with the kernels: eigendecompositions in place of
// square-root-free factors. Layers of different sizes in one plan, biases in both forms, failing factors.
#include "yolk/kfac.hpp"

#include <Eigen/Dense>
#include <bit>
#include <cmath>
#include <limits>

#include "fixtures.hpp"
#include "yolk/block_inverse.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/kronecker_precondition.hpp"

namespace yolk::evolve {
namespace {

using ::yolk::testing::expect_error;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Floats = std::vector<float>;

constexpr double kDecay = 0.5;
constexpr std::uint32_t kPoison = 0x7FC0A5A5U;  // a NaN

/// In [-1, 1).
Floats drawn(std::size_t count, std::uint32_t seed) {
    Floats values = drawn_scores(static_cast<std::uint32_t>(count), seed);
    for (float& value : values) value = 2.0F * value - 1.0F;
    return values;
}

Matrix matrix(const Floats& values, std::uint32_t rows, std::uint32_t columns, std::uint32_t offset = 0,
              std::uint32_t stride = 0) {
    Matrix result(rows, columns);
    for (std::uint32_t i = 0; i < rows; ++i)
        for (std::uint32_t j = 0; j < columns; ++j)
            result(i, j) = values[offset + i * (stride == 0 ? columns : stride) + j];
    return result;
}

/// A layer's values on the host.
struct LayerValues {
    Floats inputs, derivatives, gradient, weights, bias_gradient, bias;
};

std::size_t view_size(std::uint32_t rows, std::uint32_t columns, std::uint32_t offset, std::uint32_t stride) {
    return std::size_t{offset} + std::size_t{rows} * (stride == 0 ? columns : stride);
}

LayerValues drawn_layer(const KfacLayer& layer, std::uint32_t seed) {
    return {.inputs = drawn(view_size(layer.samples, layer.n_in, layer.inputs_offset, layer.inputs_stride), seed),
            .derivatives = drawn(
                view_size(layer.samples, layer.n_out, layer.derivatives_offset, layer.derivatives_stride), seed + 1),
            .gradient = drawn(std::size_t{layer.n_out} * layer.n_in, seed + 2),
            .weights = drawn(std::size_t{layer.n_out} * layer.n_in, seed + 3),
            .bias_gradient = layer.bias ? drawn(layer.n_out, seed + 4) : Floats{},
            .bias = layer.bias ? drawn(layer.n_out, seed + 5) : Floats{}};
}

/// A layer's covariances in double, and its steps.
class LayerOracle {
   public:
    /// The step [n_out, n_in (+ 1)], and how far fp32 may be from it, relative to its norm: the covariances' sums meet
    /// `samples` roundings, the inverses' and products' n each, and a relative change of a factor changes the solution
    /// by that times its condition.
    struct Step {
        Matrix value;
        double tolerance = 0.0;
    };

    Step step(const KfacLayer& layer, const LayerValues& values, const KfacStep& step) {
        Matrix in = matrix(values.inputs, layer.samples, layer.n_in, layer.inputs_offset, layer.inputs_stride);
        Matrix gradient = matrix(values.gradient, layer.n_out, layer.n_in);
        if (layer.bias) {
            in.conservativeResize(Eigen::NoChange, layer.n_in + 1);
            in.col(layer.n_in).setOnes();
            gradient.conservativeResize(Eigen::NoChange, layer.n_in + 1);
            gradient.col(layer.n_in) = matrix(values.bias_gradient, layer.n_out, 1);
        }
        const Matrix out =
            matrix(values.derivatives, layer.samples, layer.n_out, layer.derivatives_offset, layer.derivatives_stride);
        average(in_, in, step.first);
        average(out_, out, step.first);
        const double pi = std::sqrt((in_.trace() / static_cast<double>(in_.rows())) /
                                    (out_.trace() / static_cast<double>(out_.rows())));
        const double root = std::sqrt(double{step.damping});
        const Eigen::SelfAdjointEigenSolver<Matrix> of_in(in_), of_out(out_);
        const Eigen::VectorXd in_values = of_in.eigenvalues().array() + pi * root;
        const Eigen::VectorXd out_values = of_out.eigenvalues().array() + root / pi;
        Matrix turned = of_out.eigenvectors().transpose() * gradient * of_in.eigenvectors();
        turned.array() /= (out_values * in_values.transpose()).array();
        Step result{.value = of_out.eigenvectors() * turned * of_in.eigenvectors().transpose()};
        const double conditions =
            in_values.maxCoeff() / in_values.minCoeff() + out_values.maxCoeff() / out_values.minCoeff();
        const auto roundings = static_cast<double>(layer.samples + 2 * (in_.rows() + out_.rows()) + 8);
        result.tolerance = 0x1p-24 * roundings * conditions * result.value.norm();
        return result;
    }

   private:
    static void average(Matrix& old, const Matrix& rows, bool first) {
        const Matrix now = rows.transpose() * rows / static_cast<double>(rows.rows());
        old = first ? now : Matrix(kDecay * old + (1.0 - kDecay) * now);
    }
    Matrix in_, out_;
};

class kfac : public ::yolk::testing::DeviceTest {
   protected:
    struct LayerBuffers {
        Buffer inputs, derivatives, gradient, weights, step, bias_gradient, bias, bias_step;
    };
    /// A plan with all its memory.
    struct Setup {
        KfacDesc desc;
        std::vector<LayerBuffers> layers;
        Buffer state, statuses, scratch;
        std::optional<BoundKfac> bound;
        std::vector<std::byte> status_bytes;
    };

    Result<Buffer> buffer(const Floats& values) {
        YOLK_TRY(Buffer made, device().create_buffer({.size_bytes = std::max<std::uint64_t>(4, 4 * values.size()),
                                                      .label = "values of K-FAC"}));
        if (!values.empty()) YOLK_TRY_VOID(dispatcher().upload(made, std::as_bytes(std::span(values))));
        return made;
    }
    Result<LayerBuffers> buffers_of(const LayerValues& values) {
        LayerBuffers made;
        YOLK_TRY(made.inputs, buffer(values.inputs));
        YOLK_TRY(made.derivatives, buffer(values.derivatives));
        YOLK_TRY(made.gradient, buffer(values.gradient));
        YOLK_TRY(made.weights, buffer(values.weights));
        YOLK_TRY(made.step, buffer(Floats(values.weights.size())));
        YOLK_TRY(made.bias_gradient, buffer(values.bias_gradient));
        YOLK_TRY(made.bias, buffer(values.bias));
        YOLK_TRY(made.bias_step, buffer(Floats(values.bias.size())));
        return made;
    }
    /// `with_steps`: the steps are the caller's, else they stay in scratch.
    static KfacViews views_of(const Setup& setup, bool with_steps) {
        KfacViews views{.state = setup.state, .statuses = setup.statuses};
        for (std::size_t i = 0; i < setup.layers.size(); ++i) {
            const LayerBuffers& of = setup.layers[i];
            KfacLayerViews layer{
                .inputs = of.inputs, .derivatives = of.derivatives, .gradient = of.gradient, .weights = of.weights};
            if (with_steps) layer.step = of.step;
            if (setup.desc.layers[i].bias) {
                layer.bias_gradient = of.bias_gradient;
                layer.bias = of.bias;
                if (with_steps) layer.bias_step = of.bias_step;
            }
            views.layers.push_back(layer);
        }
        return views;
    }
    Result<Setup> set_up(const std::vector<KfacLayer>& layers, const std::vector<LayerValues>& values,
                         bool with_steps = true) {
        Setup setup;
        setup.desc = {.layers = layers, .decay = static_cast<float>(kDecay)};
        for (const LayerValues& of : values) {
            YOLK_TRY(LayerBuffers made, buffers_of(of));
            setup.layers.push_back(std::move(made));
        }
        YOLK_TRY(const KfacPlan plan, KfacPlan::make(device(), setup.desc));
        YOLK_TRY(setup.state, device().create_buffer({.size_bytes = plan.state().size_bytes, .label = "state"}));
        YOLK_TRY(setup.scratch, device().create_buffer({.size_bytes = plan.scratch().size_bytes, .label = "scratch"}));
        YOLK_TRY(setup.statuses, device().create_buffer({.size_bytes = plan.statuses_bytes(), .label = "statuses"}));
        setup.status_bytes.resize(plan.statuses_bytes());
        YOLK_TRY(setup.bound, plan.bind(views_of(setup, with_steps), setup.scratch));
        return setup;
    }
    /// One step, over poisoned scratch and, for the first, poisoned state.
    Result<void> run(Setup& setup, const KfacStep& step) {
        YOLK_TRY(Recorder recorder, Recorder::create(device(), {.label = "K-FAC"}));
        recorder.begin();
        recorder.fill(setup.scratch, kPoison);
        recorder.fill(setup.statuses, kPoison);
        if (step.first) recorder.fill(setup.state, kPoison);
        recorder.barrier(Barrier::TransferToCompute);
        setup.bound->record(recorder, step);
        recorder.barrier(Barrier::ToHost);
        YOLK_TRY_VOID(dispatcher().run(recorder));
        return dispatcher().download(setup.statuses, setup.status_bytes);
    }
    Floats download(const Buffer& from, std::size_t count) {
        Floats values(count);
        EXPECT_OK(dispatcher().download(BufferView(from, 0, 4 * count), std::as_writable_bytes(std::span(values))));
        return values;
    }
    Result<void> upload(const Buffer& to, const Floats& values) {
        return dispatcher().upload(to, std::as_bytes(std::span(values)));
    }
};
YOLK_FOR_EACH_DEVICE(kfac);

const std::vector<KfacLayer> kLayers{
    {.n_out = 3, .n_in = 5, .samples = 40},
    {.label = "strided",
     .n_out = 33,
     .n_in = 17,
     .samples = 90,
     .bias = true,
     .inputs_offset = 3,
     .inputs_stride = 20,
     .derivatives_offset = 7,
     .derivatives_stride = 40},
    {.n_out = 1, .n_in = 1, .samples = 1},
    {.n_out = 8, .n_in = 4, .samples = 64, .bias = true},
    {.n_out = 5, .n_in = 12, .samples = 30, .inputs_offset = 2, .inputs_stride = 13},
};

std::vector<LayerValues> drawn_layers(std::uint32_t seed) {
    std::vector<LayerValues> values;
    for (const KfacLayer& layer : kLayers) values.push_back(drawn_layer(layer, seed += 10));
    return values;
}

// Three steps with other inputs, derivatives and gradients each time, so that averages, damping and weights all count.
TEST_P(kfac, steps_are_those_of_the_oracle) {
    ASSERT_OK_AND_ASSIGN(Setup setup, set_up(kLayers, drawn_layers(0)));
    std::vector<LayerOracle> oracles(kLayers.size());
    std::vector<LayerValues> start = drawn_layers(0);
    for (std::uint32_t t = 0; t < 3; ++t) {
        const std::vector<LayerValues> values = drawn_layers(1000 * t);
        for (std::size_t i = 0; i < values.size(); ++i) {
            ASSERT_OK(upload(setup.layers[i].inputs, values[i].inputs));
            ASSERT_OK(upload(setup.layers[i].derivatives, values[i].derivatives));
            ASSERT_OK(upload(setup.layers[i].gradient, values[i].gradient));
            if (kLayers[i].bias) {
                ASSERT_OK(upload(setup.layers[i].bias_gradient, values[i].bias_gradient));
            }
        }
        const KfacStep step{.learning_rate = -0.125F, .damping = 0.01F, .first = t == 0};
        ASSERT_OK(run(setup, step));
        for (std::size_t i = 0; i < kLayers.size(); ++i) {
            const KfacLayer& layer = kLayers[i];
            EXPECT_EQ(kfac_status(setup.status_bytes, i), 0U);
            const LayerOracle::Step expected = oracles[i].step(layer, values[i], step);
            Matrix got =
                matrix(download(setup.layers[i].step, std::size_t{layer.n_out} * layer.n_in), layer.n_out, layer.n_in);
            const Floats weights = download(setup.layers[i].weights, std::size_t{layer.n_out} * layer.n_in);
            if (layer.bias) {
                got.conservativeResize(Eigen::NoChange, layer.n_in + 1);
                got.col(layer.n_in) = matrix(download(setup.layers[i].bias_step, layer.n_out), layer.n_out, 1);
            }
            EXPECT_LE((got - expected.value).norm(), expected.tolerance) << "layer " << i << ", step " << t;
            EXPECT_GT(expected.value.norm(), 100 * expected.tolerance) << "the tolerance says nothing";
            const Matrix moved = matrix(start[i].weights, layer.n_out, layer.n_in) - 0.125 * got.leftCols(layer.n_in);
            EXPECT_LE((matrix(weights, layer.n_out, layer.n_in) - moved).cwiseAbs().maxCoeff(),
                      0x1p-22 * (1.0 + moved.cwiseAbs().maxCoeff() + got.cwiseAbs().maxCoeff()));
            start[i].weights = weights;
        }
    }
}

// A bias apart is the last column of a weight whose input is 1, to the bit.
TEST_P(kfac, bias_apart_is_a_homogeneous_coordinate) {
    const KfacLayer apart{.n_out = 6, .n_in = 9, .samples = 50, .bias = true};
    const KfacLayer folded{.n_out = 6, .n_in = 10, .samples = 50};
    const LayerValues values = drawn_layer(apart, 7);
    LayerValues joined;
    joined.derivatives = values.derivatives;
    const auto join = [](const Floats& matrix, const Floats& column, std::size_t columns) {
        Floats whole;
        for (std::size_t i = 0; i < column.size(); ++i) {
            whole.insert(whole.end(), matrix.begin() + static_cast<std::ptrdiff_t>(i * columns),
                         matrix.begin() + static_cast<std::ptrdiff_t>((i + 1) * columns));
            whole.push_back(column[i]);
        }
        return whole;
    };
    joined.inputs = join(values.inputs, Floats(50, 1.0F), 9);
    joined.gradient = join(values.gradient, values.bias_gradient, 9);
    joined.weights = join(values.weights, values.bias, 9);
    ASSERT_OK_AND_ASSIGN(Setup first, set_up({apart}, {values}, false));
    ASSERT_OK_AND_ASSIGN(Setup second, set_up({folded}, {joined}));
    const KfacStep step{.learning_rate = -0.5F, .damping = 1e-3F, .first = true};
    ASSERT_OK(run(first, step));
    ASSERT_OK(run(second, step));
    const Floats weights = download(first.layers[0].weights, 54);
    EXPECT_NE(weights, values.weights);
    EXPECT_EQ(join(weights, download(first.layers[0].bias, 6), 9), download(second.layers[0].weights, 60));
}

// Inputs of zeros without damping have no inverse; that layer says so and stays, the others move.
TEST_P(kfac, singular_factors_are_reported_and_change_nothing) {
    std::vector<LayerValues> values = drawn_layers(0);
    values[0].inputs.assign(values[0].inputs.size(), 0.0F);
    values[3].derivatives.assign(values[3].derivatives.size(), std::numeric_limits<float>::quiet_NaN());
    ASSERT_OK_AND_ASSIGN(Setup setup, set_up(kLayers, values));
    ASSERT_OK(run(setup, {.learning_rate = -1.0F, .damping = 0.0F, .first = true}));
    const std::uint32_t in = kfac_status(setup.status_bytes, 0);
    EXPECT_EQ(in & 3U, kKroneckerInFailed);
    EXPECT_EQ(kronecker_in_status(in), static_cast<std::uint32_t>(BlockStatus::Singular));
    EXPECT_EQ(kfac_status(setup.status_bytes, 3) & kKroneckerOutFailed, kKroneckerOutFailed);
    for (const std::size_t i : {std::size_t{0}, std::size_t{3}}) {
        EXPECT_EQ(download(setup.layers[i].weights, values[i].weights.size()), values[i].weights);
        EXPECT_EQ(download(setup.layers[i].step, values[i].weights.size()), Floats(values[i].weights.size(), 0.0F));
    }
    EXPECT_EQ(download(setup.layers[3].bias, values[3].bias.size()), values[3].bias);
    EXPECT_EQ(kfac_status(setup.status_bytes, 1), 0U);
    EXPECT_NE(download(setup.layers[1].weights, values[1].weights.size()), values[1].weights);
    ASSERT_OK(run(setup, {.learning_rate = -1.0F, .damping = -1.0F, .first = true}));
    for (std::size_t i = 0; i < kLayers.size(); ++i) EXPECT_NE(kfac_status(setup.status_bytes, i), 0U) << i;
}

// A bad batch between good ones: covariances and weights come out as if it had never been, and it is said.
TEST_P(kfac, a_batch_that_is_not_finite_leaves_no_trace) {
    const std::vector<LayerValues> good = drawn_layers(0);
    std::vector<LayerValues> bad = good;
    bad[0].inputs[7] = std::numeric_limits<float>::quiet_NaN();
    bad[0].gradient[2] = std::numeric_limits<float>::quiet_NaN();
    bad[1].derivatives[7] = std::numeric_limits<float>::infinity();
    bad[1].gradient.assign(bad[1].gradient.size(), std::numeric_limits<float>::infinity());
    ASSERT_OK_AND_ASSIGN(Setup with, set_up(kLayers, good));
    ASSERT_OK_AND_ASSIGN(Setup without, set_up(kLayers, good));
    const auto step_of = [&](Setup& setup, const std::vector<LayerValues>& values, bool first) {
        for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
            EXPECT_OK(upload(setup.layers[i].inputs, values[i].inputs));
            EXPECT_OK(upload(setup.layers[i].derivatives, values[i].derivatives));
            EXPECT_OK(upload(setup.layers[i].gradient, values[i].gradient));
        }
        EXPECT_OK(run(setup, {.learning_rate = -0.125F, .damping = 0.01F, .first = first}));
    };
    step_of(with, good, true);
    EXPECT_FALSE(kfac_skipped(with.status_bytes, 0).inputs);
    EXPECT_EQ(kfac_skipped(with.status_bytes, 0).elements, 0U);
    step_of(without, good, true);
    const Floats before = download(with.layers[1].weights, good[1].weights.size());
    step_of(with, bad, false);
    const KfacSkipped first = kfac_skipped(with.status_bytes, 0);
    const KfacSkipped second = kfac_skipped(with.status_bytes, 1);
    EXPECT_TRUE(first.inputs && !first.derivatives);
    EXPECT_TRUE(second.derivatives && !second.inputs);
    EXPECT_EQ(first.elements, 15U);  // a NaN in the gradient reaches every element of the preconditioned step
    EXPECT_EQ(second.elements, 33U * 17U + 33U);
    EXPECT_EQ(kfac_skipped(with.status_bytes, 4).elements, 0U);
    EXPECT_EQ(download(with.layers[1].weights, before.size()), before);
    step_of(with, good, false);
    step_of(without, good, false);
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
        EXPECT_EQ(kfac_status(with.status_bytes, i), 0U);
        EXPECT_EQ(download(with.layers[i].weights, good[i].weights.size()),
                  download(without.layers[i].weights, good[i].weights.size()))
            << i;
    }
}

TEST_P(kfac, refuses_what_it_cannot_do) {
    const auto plan = [this](const KfacLayer& layer) { return KfacPlan::make(device(), {.layers = {layer}}); };
    const auto refused = [](const auto& result, const char* part) {
        return expect_error(result, ErrorKind::BadInput, part);
    };
    EXPECT_TRUE(refused(plan({.label = "head", .n_out = 1025, .n_in = 4, .samples = 4}),
                        "While planning K-FAC of layer 'head': The layer has 1025 outputs"));
    EXPECT_TRUE(refused(plan({.n_out = 4, .n_in = 1024, .samples = 4, .bias = true}), "1 to 1023 inputs"));
    EXPECT_TRUE(refused(plan({.n_out = 0, .n_in = 4, .samples = 4}), "K-FAC of layer 0: The layer has 0 outputs"));
    EXPECT_TRUE(refused(plan({.n_out = 4, .n_in = 4}), "There are 0 samples"));
    EXPECT_TRUE(refused(plan({.n_out = 4, .n_in = 4, .samples = 4, .bias = true, .inputs_stride = 3}), "stride is 3"));
    EXPECT_TRUE(refused(plan({.n_out = 4, .n_in = 4, .samples = 4, .derivatives_stride = 3}), "stride"));
    EXPECT_TRUE(
        refused(KfacPlan::make(device(), {.layers = {{.n_out = 4, .n_in = 4, .samples = 4}}, .decay = 1.0F}), "decay"));

    const std::vector<LayerValues> values = drawn_layers(0);
    ASSERT_OK_AND_ASSIGN(Setup setup, set_up(kLayers, values));
    ASSERT_OK_AND_ASSIGN(const KfacPlan good, KfacPlan::make(device(), setup.desc));
    KfacViews views = views_of(setup, true);
    views.layers.pop_back();
    EXPECT_TRUE(refused(good.bind(views, setup.scratch), "planned for 5 layers and is given views of 4"));
    views = views_of(setup, true);
    views.layers[1].bias_gradient = {};
    EXPECT_TRUE(refused(good.bind(views, setup.scratch), "binding K-FAC of layer 'strided'"));
    views = views_of(setup, true);
    views.layers[0].bias = setup.layers[1].bias;
    EXPECT_TRUE(refused(good.bind(views, setup.scratch), "no bias apart"));
    views = views_of(setup, true);
    views.layers[2].weights = views.layers[4].weights;
    EXPECT_TRUE(refused(good.bind(views, setup.scratch), "shares bytes"));
    views = views_of(setup, true);
    EXPECT_TRUE(refused(good.bind(views, {}), "scratch of [kfac]"));
    EXPECT_TRUE(refused(good.bind(views, setup.state), "[kfac]"));
    views.state = {};
    EXPECT_TRUE(refused(good.bind(views, setup.scratch), "state view of [kfac]"));
}

TEST_P(kfac, no_layers_are_legal) {
    ASSERT_OK_AND_ASSIGN(const KfacPlan plan, KfacPlan::make(device(), {}));
    EXPECT_EQ(plan.scratch().size_bytes + plan.state().size_bytes + plan.statuses_bytes(), 0U);
    ASSERT_OK_AND_ASSIGN(const BoundKfac bound, plan.bind({}, {}));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device(), {.label = "K-FAC"}));
    recorder.begin();
    bound.record(recorder, {});
    EXPECT_OK(dispatcher().run(recorder));
}

}  // namespace
}  // namespace yolk::evolve
