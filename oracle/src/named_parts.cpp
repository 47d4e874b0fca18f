// SPDX-License-Identifier: Apache-2.0
#include "named_parts.hpp"

#include "shape_parts.hpp"
#include "yolk/oracle/problems.hpp"

namespace yolk::oracle {
namespace {

ProblemPtr concat(Sizes& sizes) {
    ConcatDesc desc{.members = sizes.get("members", 1), .outer = sizes.get("outer", 1), .inner = sizes.get("inner", 1)};
    desc.parts = even_parts(sizes.need("extent"), sizes.below("parts", kMaxEvenParts + 1, 2));
    return make_concat_problem(desc);
}

ProblemPtr matmul_i8(Sizes& sizes) {
    return make_matmul_i8_problem(
        {.m = sizes.need("m"), .n = sizes.need("n"), .k = sizes.need("k"), .batch = sizes.get("batch", 1)});
}

ProblemPtr inverse_sqrt(Sizes& sizes) {
    return make_inverse_sqrt_problem({.n = sizes.need("n"), .blocks = sizes.get("blocks", 1)});
}

}  // namespace

const std::map<std::string_view, MakeNamed>& named_parts() {
    static const std::map<std::string_view, MakeNamed> kMakers{
        {"concat", &concat}, {"matmul_i8", &matmul_i8}, {"inverse_sqrt", &inverse_sqrt}};
    return kMakers;
}

}  // namespace yolk::oracle
