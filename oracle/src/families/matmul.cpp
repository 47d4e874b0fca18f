// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "check_tools.hpp"
#include "matmul_cases.hpp"
#include "product_elements.hpp"
#include "yolk/internal/oracle/convert.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/internal/reference/convert.hpp"
#include "yolk/internal/reference/formulas/matmul.hpp"
#include "yolk/internal/reference/matrix_elements.hpp"
#include "yolk/matmul.hpp"

namespace yolk::oracle {
namespace {

float draw_element(Draws& draws, MatrixValues values, std::size_t index) {
    switch (values) {
        case MatrixValues::Uniform: return draws.uniform(-1.0F, 1.0F);
        case MatrixValues::Plain:
            if (index % 13 == 7) return index % 2 == 0 ? 0x1p-41F : -0x1p-130F;
            return draws.uniform(-1.0F, 1.0F);
        case MatrixValues::Ones: return 1.0F;
        case MatrixValues::Huge: return draws.uniform(-0x1p60F, 0x1p60F);
        case MatrixValues::Tiny: return std::copysign(draws.uniform(0x1p-41F, 0x1p-39F), draws.uniform(-1.0F, 1.0F));
    }
    return 0.0F;
}

std::string layout_text(const MatrixLayout& layout) {
    return fmt::format("@{}+{}+{}+{}", layout.offset, layout.stride, layout.batch_stride, layout.inner_stride);
}

/// What fields do not say: where the matrices lie, the epilogue, the values.
std::string label_of(const MatmulDesc& d, MatrixValues values) {
    constexpr std::array kValues{"uniform", "plain", "ones", "huge", "tiny"};
    return fmt::format("inner {} a{} b{} out{}{} {} {}", d.inner_batch, layout_text(d.a), layout_text(d.b),
                       layout_text(d.out), d.has_bias ? " bias" : "", to_string(d.activation),
                       kValues[static_cast<std::size_t>(values)]);
}

/// A block of `size` x `size`.
MatmulConfig on_units(std::uint32_t workgroup_size, std::uint32_t size, OperandPath path) {
    return {.workgroup_size = workgroup_size,
            .block_m = size,
            .block_n = size,
            .block_k = path == kCooperativeOperands ? 4U
                       : size == 128                ? 32U
                                                    : 16U,
            .tile_m = 1,
            .tile_n = 4,
            .vector_width = 1,
            .operand_path = path};
}

class MatmulProblem final : public OperationProblem<MatmulDesc> {
   public:
    explicit MatmulProblem(const MatmulDesc& desc, MatrixValues values = MatrixValues::Uniform, std::uint64_t seed = 1)
        : OperationProblem(desc, label_of(reference::without_dense(desc), values)),
          desc_(reference::without_dense(desc)),
          values_(values),
          seed_(seed) {}

    /// Matrix units where they may take the product, in each way to the operands.
    [[nodiscard]] std::vector<Configuration> also_checked(const DeviceInfo& info) const override {
        const ConfigSpace<MatmulConfig> space = space_of(info, desc());
        const std::uint32_t subgroup = info.limits.subgroup_size;
        std::vector<Configuration> checked;
        for (const OperandPath path :
             {kCooperativeOperands, kStagedCooperativeOperands, kTwiceStagedCooperativeOperands}) {
            for (const auto& [subgroups, size] : {std::pair{4U, 128U}, {4U, 32U}, {2U, 32U}, {1U, 32U}, {1U, 16U}}) {
                const MatmulConfig units = on_units(subgroups * subgroup, size, path);
                if (!space.check(units)) continue;
                checked.push_back(space.configuration(units));
                break;
            }
        }
        return checked;
    }
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        const Inputs inputs = draw_inputs();
        return {bytes_in_format(desc_.a.format, inputs.a), bytes_in_format(desc_.b.format, inputs.b),
                bytes_of_values(inputs.bias), bytes_of_values(inputs.residual)};
    }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& made) const override;
    [[nodiscard]] bool has_twin(std::size_t /*written*/) const override {
        return desc_.determinism == Determinism::Exact;
    }
    [[nodiscard]] std::vector<bool> kept(std::size_t written) const override;
    [[nodiscard]] ElementType element(const ViewShape& /*shape*/) const override {
        return is_narrow() ? ElementType::U32 : ElementType::F32;
    }
    [[nodiscard]] std::unique_ptr<const ElementOracle> elements(std::span<const ProblemBuffer> buffers) const override {
        return product_elements(desc_, buffers);
    }
    void verify(CheckReport& report, const std::string& case_name,
                std::span<const std::vector<std::uint32_t>> outputs) const override;
    [[nodiscard]] Work work() const override {
        const double products = static_cast<double>(desc_.batch) * desc_.m * desc_.n * desc_.k;
        const auto bytes = [this](const MatrixLayout& layout, std::uint32_t rows, std::uint32_t columns) {
            return static_cast<double>(float_bytes(layout.format, extent(layout, rows, columns)));
        };
        return {.operations = 2.0 * products,
                .bytes = bytes(desc_.a, desc_.m, desc_.k) + bytes(desc_.b, desc_.k, desc_.n) +
                         bytes(desc_.out, desc_.m, desc_.n)};
    }

   private:
    struct Inputs {
        std::vector<float> a, b, bias, residual;
    };
    [[nodiscard]] std::size_t extent(const MatrixLayout& layout, std::uint32_t rows, std::uint32_t columns) const {
        if (rows == 0 || columns == 0 || desc_.batch == 0) return 0;
        return reference::element_of(desc_, layout, desc_.batch - 1, rows - 1, columns - 1) + 1;
    }
    [[nodiscard]] bool is_narrow() const { return desc_.out.format != FloatFormat::F32; }
    [[nodiscard]] Inputs draw_inputs() const;
    /// Of out, whatever its format.
    [[nodiscard]] OracleValues bounds(const HostViews& wide) const;
    [[nodiscard]] OracleValues bounds() const;
    /// Elements drawn where the layout puts them, NaN in between.
    [[nodiscard]] std::vector<float> draw_matrix(Draws& draws, const MatrixLayout& layout, std::uint32_t rows,
                                                 std::uint32_t columns) const;

    MatmulDesc desc_;  ///< without kDense
    MatrixValues values_;
    std::uint64_t seed_;
};

std::vector<float> MatmulProblem::draw_matrix(Draws& draws, const MatrixLayout& layout, std::uint32_t rows,
                                              std::uint32_t columns) const {
    std::vector<float> values(extent(layout, rows, columns), std::nanf(""));
    for (std::uint32_t z = 0; z < desc_.batch; ++z) {
        for (std::uint32_t row = 0; row < rows; ++row) {
            for (std::uint32_t column = 0; column < columns; ++column) {
                const std::size_t index = reference::element_of(desc_, layout, z, row, column);
                const float drawn = draw_element(draws, values_, index);
                values[index] = values_ == MatrixValues::Uniform ? drawn : in_format(layout.format, drawn);
            }
        }
    }
    // By search, as above, 2^26 elements would take a quarter of a minute.
    if (values_ == MatrixValues::Uniform && layout.format != FloatFormat::F32)
        return reference::widen_twin(layout.format, reference::narrow_twin(layout.format, values), values.size());
    return values;
}

MatmulProblem::Inputs MatmulProblem::draw_inputs() const {
    Draws draws(seed_, 40);
    Inputs inputs;
    inputs.a = draw_matrix(draws, desc_.a, desc_.m, desc_.k);
    inputs.b = draw_matrix(draws, desc_.b, desc_.k, desc_.n);
    if (desc_.has_bias && desc_.n > 0) {
        const std::size_t rows = desc_.bias_per_matrix ? desc_.batch : 1;
        inputs.bias.assign(desc_.bias_offset + rows * desc_.n, 0.0F);
        for (std::size_t i = 0; i < inputs.bias.size(); ++i) inputs.bias[i] = draw_element(draws, values_, i);
    }
    if (desc_.has_residual) inputs.residual = draw_matrix(draws, desc_.residual, desc_.m, desc_.n);
    return inputs;
}

OracleValues MatmulProblem::bounds(const HostViews& wide) const {
    MatmulDesc desc = desc_;
    desc.a.format = desc.b.format = desc.out.format = FloatFormat::F32;
    return bounds_of(desc, wide)[0];
}

OracleValues MatmulProblem::bounds() const {
    const Inputs inputs = draw_inputs();
    return bounds({inputs.a, inputs.b, inputs.bias, inputs.residual});
}

/// Of an out of 16 bits verify() does it.
std::vector<OracleValues> MatmulProblem::oracle(const HostViews& given, const HostViews& /*made*/) const {
    if (is_narrow()) return {};
    const bool is_wide = desc_.a.format == FloatFormat::F32 && desc_.b.format == FloatFormat::F32;
    return {is_wide ? bounds(given) : bounds()};
}

std::vector<bool> MatmulProblem::kept(std::size_t /*written*/) const {
    return is_narrow() ? std::vector<bool>() : kept_by(desc_, extent(desc_.out, desc_.m, desc_.n));
}

/// Of an out of 16 bits: what rounding a right sum may give.
void MatmulProblem::verify(CheckReport& report, const std::string& case_name,
                           std::span<const std::vector<std::uint32_t>> outputs) const {
    if (!is_narrow()) return;
    OracleValues oracle = bounds();
    std::vector<double> got;
    for (std::size_t i = 0; i < oracle.size(); ++i) {
        const std::uint32_t word = outputs[0][i / 2] >> (16 * (i % 2));
        got.push_back(value_of_half(desc_.out.format, static_cast<std::uint16_t>(word)));
        oracle[i].tolerance += rounding_of_half(desc_.out.format, oracle[i]);
    }
    verify_against_oracle(report, case_name, std::span<const double>(got), std::span<const Bounded>(oracle));
}

// All of the first table exact; every third fast, too, since making pipelines is what takes time.
Problems matmul_cases(std::uint64_t seed) {
    Problems problems;
    std::size_t index = 0;
    for (MatmulCase& c : product_cases()) {
        c.desc.determinism = Determinism::Exact;
        problems.push_back(std::make_unique<MatmulProblem>(c.desc, c.values, seed));
        if (index++ % 3 != 0) continue;
        c.desc.determinism = Determinism::Fast;
        problems.push_back(std::make_unique<MatmulProblem>(c.desc, c.values, seed));
    }
    for (const MatmulCase& c : format_cases())
        problems.push_back(std::make_unique<MatmulProblem>(c.desc, c.values, seed));
    // The largest blocks of GPUs once whole, with a rest on every side; and k for eight pieces.
    constexpr MatrixLayout kT{.transposed = true};
    for (MatmulDesc desc :
         {MatmulDesc{.m = 130, .n = 132, .k = 28, .b = kT}, MatmulDesc{.m = 20, .n = 36, .k = 516, .b = kT}}) {
        for (const Determinism determinism : {Determinism::Exact, Determinism::Fast}) {
            desc.determinism = determinism;
            problems.push_back(std::make_unique<MatmulProblem>(desc, MatrixValues::Plain, seed));
        }
    }
    return problems;
}

Problems matmul_benchmarks() {
    Problems problems;
    for (const std::uint32_t size : {512U, 1024U}) {
        for (const bool transposed : {true, false}) {
            problems.push_back(std::make_unique<MatmulProblem>(
                MatmulDesc{.m = size, .n = size, .k = size, .b = {.transposed = transposed}}, MatrixValues::Uniform,
                1));
        }
    }
    // Operands of 16 bits, which matrix units may take.
    for (const FloatFormat format : {FloatFormat::F16, FloatFormat::BF16}) {
        problems.push_back(std::make_unique<MatmulProblem>(
            MatmulDesc{
                .m = 1024, .n = 1024, .k = 1024, .a = {.format = format}, .b = {.transposed = true, .format = format}},
            MatrixValues::Uniform, 1));
    }
    return problems;
}

// GPUs take blocks by how many workgroups the outputs make, flat ones for up to 16 rows or columns, and pieces of k
// where workgroups are few; and they read four elements at a time where k is a multiple of four. Each configuration
// goes to the kind of shape that has it first: the exact kernel reads one by one, the fast one four at a time.
Problems large_matmuls() {
    Problems problems;
    for (const std::uint32_t odd : {0U, 1U}) {
        for (const auto& [m, n, k] :
             {std::array{4096U, 4096U, 4096U}, std::array{1024U, 512U, 1024U}, std::array{512U, 512U, 512U},
              std::array{256U, 256U, 256U}, std::array{128U, 128U, 256U}, std::array{128U, 128U, 1024U},
              std::array{1U, 4096U, 1024U}, std::array{1U, 1024U, 256U}, std::array{1U, 1024U, 1024U},
              std::array{4096U, 10U, 1024U}, std::array{1024U, 10U, 256U}, std::array{1024U, 10U, 1024U}}) {
            MatmulDesc desc{.m = m, .n = n, .k = k + odd, .b = {.transposed = true}};
            for (const bool exact : {odd != 0, odd == 0}) {
                desc.determinism = exact ? Determinism::Exact : Determinism::Fast;
                problems.push_back(make_problem<MatmulProblem>(desc));
            }
        }
    }
    return problems;
}

}  // namespace

const Family& matmul_family() noexcept {
    static constexpr Family kFamily{.name = "matmul",
                                    .exactness = "P+T",
                                    .cases = &matmul_cases,
                                    .benchmarks = &matmul_benchmarks,
                                    .each_configuration_once = true,
                                    .operation = &kOperationText<MatmulDesc, &make_problem<MatmulProblem>>,
                                    .large = &large_matmuls};
    return kFamily;
}

}  // namespace yolk::oracle
