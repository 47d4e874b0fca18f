// SPDX-License-Identifier: Apache-2.0
// Formulas are one source for twins and bounds, so that a fault of theirs would be in both: here both are held to what
// NumPy says (answers/make.py).
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "program_oracle.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/internal/primitives/row_steps.hpp"
#include "yolk/internal/reference/formulas/covariance.hpp"
#include "yolk/internal/reference/formulas/cumulative_sum.hpp"
#include "yolk/internal/reference/formulas/matmul.hpp"
#include "yolk/internal/reference/formulas/natural_gradient.hpp"
#include "yolk/internal/reference/formulas/optimizer.hpp"
#include "yolk/internal/reference/formulas/perturbed_embedding.hpp"
#include "yolk/internal/reference/formulas/perturbed_linear.hpp"
#include "yolk/internal/reference/formulas/perturbed_network.hpp"
#include "yolk/internal/reference/formulas/perturbed_vector.hpp"
#include "yolk/twin.hpp"

namespace yolk::oracle {
namespace {

using reference::HostView;
using Arrays = std::vector<std::vector<double>>;

/// The case of a name, with its "inputs" and "outputs".
nlohmann::json answer_of(const std::string& name) {
    std::ifstream file(YOLK_STORED_ANSWERS);
    const nlohmann::json all = nlohmann::json::parse(file);
    for (const nlohmann::json& each : all) {
        if (each.at("name") == name) return each;
    }
    ADD_FAILURE() << YOLK_STORED_ANSWERS << " has no " << name;
    return {};
}

/// Views of the host by the declaration: what is read holds `inputs`, what is written zeros.
class Memory {
   public:
    template <class Desc>
    Memory(const Desc& desc, const Arrays& inputs) {
        auto next = inputs.begin();
        for (const DescribedView& view : described_views(desc)) {
            std::size_t count = view.shape.used ? 1 : 0;
            for (const NamedExtent& extent : view.shape.extents) count *= extent.value;
            const bool is_read = view.role != ViewRole::Output && count != 0;
            const std::vector<double> values = is_read ? *next++ : std::vector<double>(count);
            EXPECT_GE(values.size(), count) << view.name;
            bytes_.push_back(view.name == "ids"
                                 ? bytes_of_values(std::vector<std::uint32_t>(values.begin(), values.end()))
                                 : bytes_of_values(std::vector<float>(values.begin(), values.end())));
            if (view.role != ViewRole::Input) written_.push_back(bytes_.size() - 1);
        }
        all_.assign(bytes_.begin(), bytes_.end());
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() = default;

    [[nodiscard]] HostViews views() const { return HostViews(all_); }
    [[nodiscard]] HostView written(std::size_t number) const { return all_[written_[number]]; }

   private:
    std::vector<ByteVector> bytes_;
    std::vector<HostView> all_;
    std::vector<std::size_t> written_;
};

template <class Desc, class... Arguments>
std::vector<OracleValues> bounds(const Desc& desc, const Memory& memory, std::size_t count,
                                 const Arguments&... arguments) {
    if constexpr (requires { desc.steps; }) {
        return {program_bounds(desc, memory.views(), count)};
    } else if constexpr (requires { row_program_of(desc); }) {
        std::vector<HostView> used;
        for (std::size_t i = 0; i < memory.views().size(); ++i) {
            if (memory.views()[i].size_bytes() != 0) used.push_back(memory.views()[i]);
        }
        return {program_bounds(row_program_of(desc), HostViews(used), count)};
    } else {
        return bounds_of(desc, memory.views(), arguments...);
    }
}

void expect_near(const std::string& name, std::span<const double> answers, const OracleValues& bounds,
                 const HostView& twin, bool is_index) {
    ASSERT_EQ(bounds.size(), answers.size()) << name;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        EXPECT_NEAR(bounds[i].value, answers[i], 2e-13 * (8.0 + std::abs(answers[i]))) << name << ", element " << i;
        const double kernel = is_index ? twin.in<std::uint32_t>()[i] : double{twin.in<float>()[i]};
        EXPECT_NEAR(kernel, answers[i], bounds[i].tolerance + 1e-12) << name << ", element " << i;
        EXPECT_LT(bounds[i].tolerance, 1e-4 * (1.0 + std::abs(answers[i]))) << name << ", element " << i;
    }
}

template <class Desc, class... Arguments>
void expect_answer(const std::string& name, const Desc& desc, const Arguments&... arguments) {
    const nlohmann::json answer = answer_of(name);
    const auto inputs = answer.at("inputs").get<Arrays>(), outputs = answer.at("outputs").get<Arrays>();
    const Memory memory(desc, inputs);
    const auto bounded = bounds(desc, memory, outputs[0].size(), arguments...);
    reference::twin_of(desc, memory.views(), arguments...);
    for (std::size_t out = 0; out < outputs.size(); ++out)
        expect_near(name, outputs[out], bounded[out], memory.written(out), name == "reduce_argmax");
}

TEST(stored_answers, products) {
    MatmulDesc strided{.m = 3, .n = 4, .k = 5, .batch = 2, .bias_per_matrix = true, .has_bias = true};
    strided.a = {.offset = 2, .stride = 7, .batch_stride = 30};
    strided.b.transposed = true;
    strided.activation = Activation::Relu;
    strided.has_residual = true;
    strided.determinism = Determinism::Exact;
    expect_answer("matmul_strided", strided);
    MatmulDesc heads{.m = 3, .n = 4, .k = 5, .batch = 4, .inner_batch = 2, .determinism = Determinism::Exact};
    heads.a = {.stride = 10, .batch_stride = 30, .inner_stride = 5};
    heads.b = {.stride = 8, .batch_stride = 40, .inner_stride = 4};
    expect_answer("matmul_inner_batch", heads);
    expect_answer("covariance",
                  CovarianceDesc{.n = 3,
                                 .samples = 5,
                                 .blocks = 2,
                                 .offset = 1,
                                 .stride = 4,
                                 .block_stride = 23,
                                 .average = true,
                                 .decay = 0.75F,
                                 .damping_kind = CovarianceDamping::Relative,
                                 .damping = 0.125F},
                  OrDefault<bool>{false});
    expect_answer("natural_gradient",
                  NaturalGradientDesc{.n = 5, .blocks = 2, .project_mean = true, .has_preconditioned = true}, 0.125F);
}

TEST(stored_answers, steps_of_optimizers) {
    OptimizerDesc desc{.rule = OptimizerRule::Sgd, .element_count = 6, .beta1 = 0.75F};
    expect_answer("optimizer_sgd", desc, 0.125F, 3U);
    desc.rule = OptimizerRule::Momentum;
    expect_answer("optimizer_momentum", desc, 0.125F, 3U);
    expect_answer("optimizer_adam", OptimizerDesc{.rule = OptimizerRule::Adam, .element_count = 6}, 0.125F, 3U);
}

TEST(stored_answers, elements_and_rows) {
    expect_answer("cumulative_sum", CumulativeSumDesc{.outer = 2, .columns = 37, .inner = 3});
    expect_answer("elementwise", operation_of<ElementwiseDesc>()
                                     .fields.parse("extents=3-4 inputs=3,1,2 steps=multiply:0:1,add:3:2,silu:4")
                                     .value());
    expect_answer("row_program",
                  operation_of<RowProgramDesc>()
                      .fields.parse("extents=5-2-3 row=0 inputs=7,6 steps=max:0,subtract:0:2,multiply:3:1")
                      .value());
    expect_answer("softmax", SoftmaxDesc{.members = 2, .rows = 3, .columns = 7});
    expect_answer("log_softmax", SoftmaxDesc{.members = 2, .rows = 3, .columns = 7, .logarithm = true});
    expect_answer(
        "layer_norm",
        NormalizeDesc{.members = 2, .rows = 3, .columns = 7, .scale = RowVector::PerMember, .bias = RowVector::Shared});
    expect_answer("root_mean_square_norm",
                  NormalizeDesc{.rule = NormalizeRule::RootMeanSquare, .members = 2, .rows = 3, .columns = 7});
    const auto reduced = [](ReduceOperation operation) {
        return ReduceDesc{.operation = operation, .outer = 2, .columns = 35, .inner = 3};
    };
    expect_answer("reduce_sum", reduced(ReduceOperation::Sum));
    expect_answer("reduce_mean", reduced(ReduceOperation::Mean));
    expect_answer("reduce_max", reduced(ReduceOperation::Max));
    expect_answer("reduce_min", reduced(ReduceOperation::Min));
    expect_answer("reduce_argmax", reduced(ReduceOperation::Argmax));
}

// Members from -1 on: the mean, and both sides of pairs.
TEST(stored_answers, perturbed_operations) {
    const NoiseContext when{.seed = 7, .generation = 9, .time = 4, .sigma = 0.25F};
    const OrDefault<std::int32_t> from_mean{-1};
    PerturbedLinearDesc linear{
        .members = 4, .rows = 2, .in = 5, .out = 4, .rank = 2, .parameter = ParameterId{3}, .shared_input = true};
    linear.activation = Activation::Tanh;
    expect_answer("perturbed_linear", linear, when, from_mean);
    linear.rank = 3;
    linear.shared_input = false;
    linear.transposed = true;
    linear.activation = Activation::Identity;
    expect_answer("perturbed_linear_transposed", linear, when, from_mean);
    expect_answer("perturbed_vector",
                  PerturbedVectorDesc{.members = 4, .element_count = 11, .parameter = ParameterId{5}}, when, from_mean);
    expect_answer("perturbed_embedding",
                  PerturbedEmbeddingDesc{.members = 3,
                                         .rows = 4,
                                         .table_rows = 4,
                                         .columns = 5,
                                         .rank = 2,
                                         .parameter = ParameterId{6},
                                         .shared_ids = true},
                  when, from_mean);
    PerturbedNetworkDesc network{.members = 3, .rows = 2, .widths = {5, 4, 3}, .biases = 1, .rank = 2};
    network.activations = {Activation::Tanh, Activation::Sigmoid};
    network.weights = {ParameterId{1}, ParameterId{4}};
    network.bias_vectors = {ParameterId{2}};
    network.shared_input = true;
    expect_answer("perturbed_network", network, when, from_mean);
}

}  // namespace
}  // namespace yolk::oracle
