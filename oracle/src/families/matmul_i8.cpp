// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "check_tools.hpp"
#include "matmul_i8_oracle.hpp"
#include "product_elements.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/internal/reference/matrix_elements.hpp"
#include "yolk/matmul_i8.hpp"

namespace yolk::oracle {
namespace {

/// What the bytes are.
enum class Bytes {
    Drawn,    ///< all 256 values
    Extreme,  ///< -128 and 127: sums as large as they get
};

class MatmulI8Problem final : public OperationProblem<MatmulI8Desc> {
   public:
    explicit MatmulI8Problem(const MatmulI8Desc& desc, Bytes bytes = Bytes::Drawn, std::uint64_t seed = 1)
        : OperationProblem(desc, label_of(desc, bytes)),
          desc_(reference::without_dense(desc)),
          bytes_(bytes),
          seed_(seed) {}

    /// Matrix units where they may take the product.
    [[nodiscard]] std::vector<Configuration> also_checked(const DeviceInfo& info) const override {
        const ConfigSpace<MatmulI8Config> space = space_of(info, desc());
        const std::uint32_t subgroup = info.limits.subgroup_size;
        std::vector<Configuration> checked;
        for (const I8Dot dot : {kI8OnMatrixUnits, kI8OnMatrixUnitsTwice}) {
            for (const auto& [subgroups, across, tile] :
                 {std::array{4U, 2U, 4U}, {4U, 2U, 2U}, {2U, 1U, 1U}, {1U, 1U, 1U}}) {
                const MatmulI8Config units{.workgroup_size = subgroups * subgroup,
                                           .lanes_n = across,
                                           .tile_m = tile,
                                           .tile_n = tile,
                                           .dot = dot};
                if (!space.check(units)) continue;
                checked.push_back(space.configuration(units));
                break;
            }
        }
        return checked;
    }
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        return {bytes_of_values(draw(desc_.a, desc_.m, 50)), bytes_of_values(draw(desc_.b, desc_.n, 51))};
    }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& made) const override;
    [[nodiscard]] std::vector<bool> kept(std::size_t written) const override;
    [[nodiscard]] std::unique_ptr<const ElementOracle> elements(std::span<const ProblemBuffer> buffers) const override {
        return product_elements(desc_, buffers);
    }
    [[nodiscard]] Work work() const override {
        const double products = static_cast<double>(desc_.batch) * desc_.m * desc_.n * desc_.k;
        const double bytes = static_cast<double>(extent(desc_.a, desc_.m)) +
                             static_cast<double>(extent(desc_.b, desc_.n)) + 4.0 * static_cast<double>(out_extent());
        return {.operations = 2.0 * products, .bytes = bytes};
    }

   private:
    /// Where the matrices lie, with kDense as it is given.
    [[nodiscard]] static std::string label_of(const MatmulI8Desc& desc, Bytes bytes) {
        const auto text = [](const RowsLayout& l) {
            return fmt::format("@{}+{}+{}", l.offset, l.stride, l.batch_stride);
        };
        const MatmulI8Desc d = reference::without_dense(desc);
        return fmt::format("a{} b{} out{}{}", text(d.a), text(d.b), text(d.out),
                           bytes == Bytes::Extreme ? ", extreme" : "");
    }
    [[nodiscard]] std::size_t extent(const RowsLayout& layout, std::uint32_t rows) const {
        if (desc_.batch == 0 || desc_.m == 0 || desc_.n == 0 || desc_.k == 0) return 0;
        return reference::element_of(layout, desc_.batch - 1, rows - 1, (desc_.k + 3) / 4 * 4);
    }
    [[nodiscard]] std::size_t out_extent() const {
        if (desc_.batch == 0 || desc_.m == 0 || desc_.n == 0) return 0;
        return reference::element_of(desc_.out, desc_.batch - 1, desc_.m - 1, desc_.n);
    }
    /// Bytes between rows, and behind the last k of a row's last word, are drawn as well: none may count.
    [[nodiscard]] std::vector<std::int8_t> draw(const RowsLayout& layout, std::uint32_t rows,
                                                std::uint32_t stream) const {
        Draws draws(seed_, stream);
        std::vector<std::int8_t> bytes(extent(layout, rows));
        for (std::int8_t& byte : bytes) {
            const std::uint32_t word = draws.word();
            byte = bytes_ == Bytes::Drawn ? static_cast<std::int8_t>(static_cast<std::uint8_t>(word >> 24U))
                                          : static_cast<std::int8_t>(word % 8 == 0 ? 127 : -128);
        }
        return bytes;
    }

    MatmulI8Desc desc_;  ///< without kDense
    Bytes bytes_;
    std::uint64_t seed_;
};

std::vector<OracleValues> MatmulI8Problem::oracle(const HostViews& given, const HostViews& /*made*/) const {
    return {in_place(desc_, matmul_i8_oracle(desc_, given.in<std::int8_t>(0), given.in<std::int8_t>(1)), out_extent())};
}

std::vector<bool> MatmulI8Problem::kept(std::size_t /*written*/) const { return kept_by(desc_, out_extent()); }

struct MatmulI8Case {
    MatmulI8Desc desc;
    Bytes bytes = Bytes::Drawn;
};

// Empty extents, one, every rest of k modulo a word, primes, around tiles and blocks of 8 to 64, batches, shared
// operands, offsets and strides, sums at their largest; then what matrix units may take: one fragment or a few, the
// block of large products on NVIDIA's, several with rows apart, a band of blocks and a rest, sums at their largest.
constexpr auto kMatmulI8Cases = std::to_array<MatmulI8Case>({
    {{.m = 0, .n = 5, .k = 3}},
    {{.m = 5, .n = 0, .k = 3}},
    {{.m = 5, .n = 3, .k = 4, .batch = 0}},
    {{.m = 5, .n = 3, .k = 0}},
    {{.m = 1, .n = 1, .k = 1}},
    {{.m = 2, .n = 3, .k = 2}},
    {{.m = 3, .n = 2, .k = 3}},
    {{.m = 4, .n = 4, .k = 4}},
    {{.m = 7, .n = 5, .k = 13}},
    {{.m = 31, .n = 29, .k = 37}},
    {{.m = 16, .n = 32, .k = 64}},
    {{.m = 17, .n = 33, .k = 65}},
    {{.m = 15, .n = 63, .k = 63}},
    {{.m = 65, .n = 9, .k = 20}},
    {{.m = 1, .n = 100, .k = 33}},
    {{.m = 100, .n = 1, .k = 33}},
    {{.m = 5, .n = 9, .k = 11, .batch = 3, .b = {.batch_stride = 0}}},
    {{.m = 6,
      .n = 10,
      .k = 9,
      .batch = 2,
      .a = {.offset = 4, .stride = 16, .batch_stride = 100},
      .b = {.offset = 8, .stride = 20},
      .out = {.offset = 3, .stride = 13, .batch_stride = 90}}},
    {{.m = 3, .n = 5, .k = 4099}, Bytes::Extreme},
    {{.m = 1, .n = 2, .k = kMaxI8Depth}, Bytes::Extreme},
    {{.m = 16, .n = 16, .k = 32}},
    {{.m = 128, .n = 256, .k = 128}},
    {{.m = 32,
      .n = 64,
      .k = 96,
      .batch = 3,
      .a = {.offset = 16, .stride = 112},
      .b = {.stride = 128, .batch_stride = 0},
      .out = {.offset = 4, .stride = 68}}},
    {{.m = 144, .n = 48, .k = 32}},
    {{.m = 32, .n = 16, .k = 4096}, Bytes::Extreme},
});

Problems matmul_i8_cases(std::uint64_t seed) {
    Problems problems;
    for (const MatmulI8Case& c : kMatmulI8Cases)
        problems.push_back(std::make_unique<MatmulI8Problem>(c.desc, c.bytes, seed));
    return problems;
}

Problems matmul_i8_benchmarks() {
    return problems_of<MatmulI8Problem>(
        {{.m = 256, .n = 256, .k = 256}, {.m = 512, .n = 512, .k = 512}, {.m = 1024, .n = 1024, .k = 1024}});
}

}  // namespace

const Family& matmul_i8_family() noexcept {
    static constexpr Family kFamily{.name = "matmul_i8",
                                    .exactness = "E",
                                    .cases = &matmul_i8_cases,
                                    .benchmarks = &matmul_i8_benchmarks,
                                    .configurations_per_case = 4,
                                    .operation = &kOperationText<MatmulI8Desc, &make_problem<MatmulI8Problem>>};
    return kFamily;
}

}  // namespace yolk::oracle
