// SPDX-License-Identifier: Apache-2.0
#include "yolk/oracle/named_problem.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <string>

#include "named_parts.hpp"
#include "yolk/oracle/families.hpp"
#include "yolk/oracle/problems.hpp"

namespace yolk::oracle {
namespace {

ProblemPtr matmul(Sizes& sizes) {
    const std::uint32_t m = sizes.need("m");
    const std::uint32_t n = sizes.need("n");
    const std::uint32_t k = sizes.need("k");
    return make_matmul_problem({.m = m,
                                .n = n,
                                .k = k,
                                .batch = sizes.get("batch", 1),
                                .b = {.transposed = sizes.flag("transposed", true)},
                                .has_residual = sizes.flag("residual"),
                                .determinism = sizes.flag("exact") ? Determinism::Exact : Determinism::Fast});
}

ProblemPtr perturbed_linear(Sizes& sizes) {
    return make_perturbed_linear_problem(
        {.members = sizes.need("members"),
         .rows = sizes.get("rows", 1),
         .in = sizes.need("in"),
         .out = sizes.need("out"),
         .rank = sizes.get("rank", 1),
         .parameter = ParameterId{11},
         .shared_input = sizes.flag("shared_input"),
         .transposed = sizes.flag("transposed"),
         .determinism = sizes.flag("exact", true) ? Determinism::Exact : Determinism::Fast});
}

ProblemPtr rollout(Sizes& sizes) {
    RolloutDesc desc{.members = sizes.need("members"),
                     .episodes = sizes.get("episodes", 1),
                     .max_steps = sizes.get("steps", 40),
                     .rank = sizes.get("rank", 1),
                     .mean_only = sizes.flag("mean"),
                     .never_stop = true,
                     .determinism = sizes.flag("fast") ? Determinism::Fast : Determinism::Exact};
    desc.network.widths = {4, sizes.get("hidden", 64), 2};
    return make_rollout_problem(desc);
}

ProblemPtr es_update(Sizes& sizes) {
    const std::uint32_t population = sizes.need("population");
    const std::uint32_t rank = sizes.get("rank", 1);
    std::vector<ParameterDesc> parameters;
    if (sizes.has("rows") || sizes.has("columns")) {
        parameters.push_back({.name = "w",
                              .rows = sizes.need("rows"),
                              .columns = sizes.need("columns"),
                              .perturbation = Perturbation::LowRank});
    } else {
        parameters = PolicyNetwork{.widths = {4, sizes.get("hidden", 64), 2}}.parameters();
    }
    if (!sizes.check()) return nullptr;
    return make_es_update_problem(
        {.parameters = *ParameterTable::create(std::move(parameters)), .population = population, .rank = rank});
}

ProblemPtr block_inverse(Sizes& sizes) {
    const bool symmetric = sizes.flag("symmetric");
    return make_block_inverse_problem({.n = sizes.need("n"),
                                       .blocks = sizes.need("blocks"),
                                       .mode = symmetric ? InverseMode::Symmetric : InverseMode::Spd,
                                       .damping = 1e-3F});
}

ProblemPtr covariance(Sizes& sizes) {
    return make_covariance_problem(
        {.n = sizes.need("n"), .samples = sizes.need("samples"), .blocks = sizes.get("blocks", 1)});
}

ProblemPtr natural_gradient(Sizes& sizes) {
    return make_natural_gradient_problem({.n = sizes.need("n"), .blocks = sizes.get("blocks", 1)});
}

ProblemPtr kronecker_precondition(Sizes& sizes) {
    return make_kronecker_precondition_problem(
        {.n_out = sizes.need("n_out"), .n_in = sizes.need("n_in"), .blocks = sizes.get("blocks", 1)});
}

const std::map<std::string_view, MakeNamed>& named_makers() {
    static const std::map<std::string_view, MakeNamed> kMakers = [] {
        std::map<std::string_view, MakeNamed> all{{"matmul", &matmul},
                                                  {"perturbed_linear", &perturbed_linear},
                                                  {"rollout", &rollout},
                                                  {"es_update", &es_update},
                                                  {"block_inverse", &block_inverse},
                                                  {"covariance", &covariance},
                                                  {"natural_gradient", &natural_gradient},
                                                  {"kronecker_precondition", &kronecker_precondition}};
        all.insert(named_parts().begin(), named_parts().end());
        return all;
    }();
    return kMakers;
}

Result<ProblemPtr> named_benchmark(std::string_view family_name, std::string_view part) {
    for (const Family* family : families()) {
        if (family_name != family->name) continue;
        std::string names;
        for (ProblemPtr& problem : family->benchmarks()) {
            if (problem->name().find(part) != std::string::npos) return std::move(problem);
            names += "\n  " + problem->name();
        }
        return bad_input(
            fmt::format("No benchmark of {} has '{}' in its name; there are:{}", family_name, part, names));
    }
    std::string known;
    for (const Family* family : families()) known += fmt::format("{}{}", known.empty() ? "" : ", ", family->name);
    return bad_input(fmt::format("There is no kernel family '{}'; there are {}.", family_name, known));
}

}  // namespace

Result<std::unique_ptr<Problem>> make_named_problem(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    const std::size_t end = std::min(text.find_first_of(" \t:"), text.size());
    const std::string_view family = text.substr(0, end);
    if (end < text.size() && text[end] == ':') {
        std::string_view part = text.substr(end + 1);
        while (part.starts_with(' ')) part.remove_prefix(1);
        return named_benchmark(family, part);
    }
    if (const Family* operation = find_operation(family)) return operation->operation->parse(text.substr(end));
    const auto maker = named_makers().find(family);
    if (maker == named_makers().end()) {
        std::string known;
        for (const auto& [name, make] : named_makers()) known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
        return bad_input(
            fmt::format("The shape '{}' is of the family '{}'; sizes can be given for {}; of the others "
                        "a benchmark can be named: 'exact_math: exp'.",
                        text, family, known));
    }
    Sizes sizes(text);
    YOLK_TRY_VOID(sizes.parse(text.substr(end)));
    ProblemPtr problem = maker->second(sizes);
    YOLK_TRY_VOID(sizes.check());
    return problem;
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

std::vector<std::string_view> named_set() {
    std::vector<std::string_view> all = cartpole_job();
    for (const std::string_view shape :
         {"matmul m=512 n=512 k=512", "matmul m=1024 n=1024 k=1024",
          "perturbed_linear members=256 rows=8 in=256 out=256", "perturbed_linear members=64 rows=8 in=1024 out=1024",
          "es_update population=4096 rows=256 columns=256", "block_inverse n=32 blocks=1024",
          "block_inverse n=128 blocks=64", "reduce outer=65536 columns=64"})
        all.push_back(shape);
    return all;
}

}  // namespace yolk::oracle
