// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/oracle/named_problem.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "yolk/internal/oracle/families.hpp"

namespace yolk::oracle {
namespace {

std::string_view without_blanks_before(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    return text;
}

Result<std::unique_ptr<Problem>> benchmark_of(const Family& family, std::string_view part) {
    std::string names;
    for (std::unique_ptr<Problem>& problem : family.benchmarks()) {
        if (problem->name().find(part) != std::string::npos) return std::move(problem);
        names += "\n  " + problem->name();
    }
    return bad_input("No benchmark of {} has '{}' in its name; there are:{}", family.name, part, names);
}

Result<std::unique_ptr<Problem>> problem_of(const Family& family, std::string_view rest) {
    if (rest.starts_with(':')) return benchmark_of(family, without_blanks_before(rest.substr(1)));
    if (family.operation != nullptr) return family.operation->parse(rest);
    return bad_input("Sizes of {} cannot be given; a benchmark can be named by a part of its name: '{}: {}'.",
                     family.name, family.name, family.benchmarks().front()->name());
}

}  // namespace

std::string usage_of(const Family& family) {
    if (family.operation == nullptr) return family.name;
    return fmt::format("{} {}", family.name, field_summary(family.operation->fields()));
}

Result<const Family*> require_family(std::string_view name) {
    if (const Family* family = find_family(name)) return family;
    std::vector<std::string_view> names;
    for (const Family* family : families()) names.emplace_back(family->name);
    const std::string_view near = nearest_word(name, names);
    return bad_input("There is no kernel '{}'; there are {}.{}", name, fmt::join(names, ", "),
                     near.empty() ? "" : fmt::format(" Did you mean {}?", near));
}

Result<NamedProblem> parse_problem(std::string_view text) {
    text = without_blanks_before(text);
    const std::size_t end = std::min(text.find_first_of(" \t:"), text.size());
    YOLK_TRY(const Family* const family, require_family(text.substr(0, end)));
    YOLK_TRY(std::unique_ptr<Problem> problem, problem_of(*family, text.substr(end)));
    return NamedProblem{family, std::move(problem)};
}

Result<std::unique_ptr<Problem>> make_named_problem(std::string_view text) {
    YOLK_TRY(NamedProblem named, parse_problem(text));
    return std::move(named.problem);
}

Result<std::unique_ptr<Problem>> make_shape_problem(std::string_view name, const TuningShape& shape) {
    YOLK_TRY(const Family* const family, require_family(name));
    if (family->operation != nullptr) return family->operation->of_key(shape);
    // Such a family's shapes are its own; they look at no device.
    for (std::unique_ptr<Problem>& problem : family->benchmarks()) {
        if (problem->space(DeviceInfo{}).shape() == shape) return std::move(problem);
    }
    return unsupported("Sizes of {} cannot be given, and none of its benchmarks has this shape.", name);
}

std::vector<std::string_view> cartpole_job() {
    return {"rollout members=4096", "rollout members=1 mean=1 episodes=100", "fitness population=4096",
            "es_update population=4096", "optimizer elements=450"};
}

std::vector<std::string> tuner_job(std::uint32_t candidates) {
    std::vector<std::string> shapes;
    for (const std::uint32_t n : {64U, 256U}) {
        shapes.push_back(fmt::format("matmul m=4 n={} k={} transposed=0", candidates, n));
        shapes.push_back(fmt::format("matmul m={} n={} k=1 transposed=0 residual=1", n, n));
        shapes.push_back(fmt::format("natural_gradient n={}", n));
        shapes.push_back(fmt::format("block_inverse n={} blocks=1", n));
        shapes.push_back(fmt::format("matmul m={} n={} k={} transposed=0", n, candidates, n));
        shapes.push_back(fmt::format("expected_improvement count={} steps={}", candidates, n));
    }
    shapes.push_back(fmt::format("expected_improvement count={} steps=2", candidates));
    shapes.push_back(fmt::format("reduce outer={} columns=8 operation=max", candidates / 8));
    shapes.push_back(fmt::format("reduce outer={} columns=8 operation=argmax", candidates / 8));
    shapes.emplace_back("covariance n=4 samples=64 blocks=3");
    shapes.emplace_back("kronecker_precondition n_out=4 n_in=4");
    return shapes;
}

std::vector<std::string> policy_job(std::uint32_t candidates) {
    return {fmt::format("matmul m=8 n={} k=64 transposed=0 determinism=exact", candidates),
            "perturbed_embedding members=8 rows=8 table_rows=8 columns=8", "es_update elements=64 population=8",
            "inverse_sqrt n=8 blocks=8", "natural_gradient n=8 blocks=8"};
}

std::vector<std::string_view> named_set() {
    std::vector<std::string_view> all = cartpole_job();
    for (const std::string_view shape :
         {"matmul m=512 n=512 k=512", "matmul m=1024 n=1024 k=1024",
          "perturbed_linear members=256 rows=8 in=256 out=256", "perturbed_linear members=64 rows=8 in=1024 out=1024",
          "es_update elements=65536 population=4096", "block_inverse n=32 blocks=1024", "block_inverse n=128 blocks=64",
          "reduce outer=65536 columns=64"})
        all.push_back(shape);
    return all;
}

}  // namespace yolk::oracle
