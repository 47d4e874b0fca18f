// SPDX-License-Identifier: Apache-2.0
// That a check on a CPU driver runs what GPUs take by default, at the sizes that GPUs meet: those of tools/gpu-check,
// the benchmarks, and products of every form. GPUs as in the tables of runtime's tests, not as the check makes them up.
#include "gpu_defaults.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "family_runs.hpp"
#include "gpu_tables.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/named_problem.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::oracle {
namespace {

using ::testing::IsSupersetOf;

DeviceInfo amd(std::uint32_t min_subgroup_size) {
    DeviceInfo device = tables::radeon_7900(0);
    device.limits.min_subgroup_size = min_subgroup_size;
    return device;
}
DeviceInfo other_vendor(std::uint32_t vendor_id, std::uint32_t subgroup_size, const char* name) {
    DeviceInfo device = tables::intel_xe(0);
    device.name = name;
    device.vendor_id = vendor_id;
    device.limits.subgroup_size = subgroup_size;
    return device;
}
/// Without matrix units, which the CPU drivers of the tests do not have: a check runs them where they are, by
/// Problem::also_checked.
std::vector<DeviceInfo> real_gpus() {
    std::vector<DeviceInfo> gpus{tables::geforce_3080(0),
                                 amd(32),
                                 amd(64),
                                 tables::intel_xe(0),
                                 other_vendor(0x106b, 32, "Apple M2"),
                                 other_vendor(0x5143, 128, "Adreno 740"),
                                 other_vendor(0x13b5, 16, "Mali-G710")};
    for (DeviceInfo& gpu : gpus) gpu.cooperative_shapes.clear();
    return gpus;
}

/// What a family is asked for on GPUs.
struct Shape {
    const Family* family;
    std::unique_ptr<Problem> problem;
};

/// Sizes on all sides of the bounds of matmul's and perturbed_linear's defaults, each with operands that can be read
/// four elements at a time, and that cannot.
void add_products(std::vector<Shape>& shapes) {
    const auto add = [&](const std::string& text) {
        Result<NamedProblem> named = parse_problem(text);
        ASSERT_OK(named) << text;
        shapes.push_back({named->family, std::move(named->problem)});
    };
    for (const std::uint32_t m : {1U, 16U, 17U, 100U, 256U, 512U, 1000U, 4096U}) {
        for (const std::uint32_t n : {1U, 16U, 17U, 100U, 256U, 512U, 1000U, 4096U}) {
            for (const std::uint32_t k : {64U, 255U, 256U, 511U, 512U, 1021U, 4096U}) {
                for (const char* determinism : {"exact", "fast"}) {
                    add(fmt::format("matmul m={} n={} k={} determinism={}", m, n, k, determinism));
                    for (const std::uint32_t rank : {1U, 4U, 8U})
                        add(fmt::format("perturbed_linear members={} in={} out={} rank={} determinism={}", m, k, n,
                                        rank, determinism));
                }
            }
        }
    }
}

std::vector<Shape> shapes_that_gpus_meet() {
    std::vector<Shape> shapes;
    std::ifstream file(YOLK_GPU_SHAPES_FILE);
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line.starts_with('#')) continue;
        // What follows a bar chooses another configuration than the default.
        Result<NamedProblem> named = parse_problem(line.substr(0, line.find('|')));
        EXPECT_OK(named) << line;
        if (named) shapes.push_back({named->family, std::move(named->problem)});
    }
    EXPECT_GT(shapes.size(), 50U) << YOLK_GPU_SHAPES_FILE;
    for (const Family* family : families()) {
        for (std::unique_ptr<Problem>& problem : family->benchmarks()) shapes.push_back({family, std::move(problem)});
    }
    add_products(shapes);
    return shapes;
}

/// Runs of one family's check on a device.
struct CheckedFamily {
    Problems cases;
    std::vector<TuningSpace> spaces;
    std::vector<bool> with_work;
    std::map<Configuration, std::vector<std::size_t>> runs;  ///< of each configuration: the cases that run it
};

CheckedFamily checked(const Device& device, Dispatcher& dispatcher, const Family& family) {
    const CheckContext context{.device = device, .dispatcher = dispatcher, .configurations = 0};  // none by chance
    CheckedFamily checked{.cases = family.cases(1), .spaces = {}, .with_work = {}, .runs = {}};
    for (const auto& problem : checked.cases) checked.spaces.push_back(problem->space(device.info()));
    checked.with_work = cases_with_work(checked.cases);
    for (const Batch& batch : choose_batches(device.info(), context, family, checked.cases, shapes_of_gpus(family))) {
        for (const Configuration& configuration : batch.configurations)
            checked.runs[configuration].push_back(batch.problem);
    }
    return checked;
}

class gpu_defaults : public testing::DeviceTest {
   protected:
    const CheckedFamily& checked_family(const Family& family) {
        const auto [at, is_new] = checked_.try_emplace(&family);
        if (is_new) at->second = checked(device(), dispatcher(), family);
        return at->second;
    }
    /// Whether the check runs it on a case that computes something; of the shape's kind where a case of that kind may
    /// take it, unless the family's configurations meet one case each.
    void expect_checked(const Family& family, const Problem& shape, const Configuration& configuration) {
        const CheckedFamily& of = checked_family(family);
        const std::string variant = shape.space(device().info()).shape().variant;
        std::set<std::size_t> may_run;
        std::set<std::size_t> of_kind;
        for (std::size_t p = 0; p < of.cases.size(); ++p) {
            if (!of.with_work[p] || !of.spaces[p].check(configuration)) continue;
            may_run.insert(p);
            if (of.spaces[p].shape().variant == variant) of_kind.insert(p);
        }
        const std::string text = of.spaces.front().text(configuration);
        EXPECT_FALSE(may_run.empty()) << shape.name() << " takes " << text << ", which no case may take";
        const bool is_any_right = family.each_configuration_once || of_kind.empty();
        const auto runs = of.runs.find(configuration);
        const auto is_right = [&](std::size_t p) { return (is_any_right ? may_run : of_kind).contains(p); };
        EXPECT_TRUE(runs != of.runs.end() && std::ranges::any_of(runs->second, is_right))
            << shape.name() << " takes " << text << ", which no case" << (is_any_right ? "" : " of its kind")
            << " runs";
    }
    std::map<const Family*, CheckedFamily> checked_;
};
YOLK_FOR_EACH_DEVICE(gpu_defaults);

TEST_P(gpu_defaults, of_large_shapes_are_run_by_the_check) {
    std::set<std::tuple<const Family*, std::string, Configuration>> met;
    for (const Shape& shape : shapes_that_gpus_meet()) {
        const std::string variant = shape.problem->space(device().info()).shape().variant;
        for (const DeviceInfo& gpu : real_gpus()) {
            const Configuration configuration = shape.problem->default_configuration(gpu);
            if (!met.emplace(shape.family, variant, configuration).second) continue;
            expect_checked(*shape.family, *shape.problem, configuration);
        }
    }
    EXPECT_GT(met.size(), 100U);
}

/// "128x128x16 tile 8x8 split 1 width 4": what tells matmul's forms for GPUs apart.
std::string form_of(const TuningSpace& space, const Configuration& configuration) {
    const auto value = [&](std::string_view name) {
        const auto knobs = space.knobs();
        const auto at = std::ranges::find(knobs, name, &TuningKnob::name) - knobs.begin();
        return configuration[static_cast<std::size_t>(at)];
    };
    return fmt::format("{}x{}x{} tile {}x{} split {} width {}", value("block_m"), value("block_n"), value("block_k"),
                       value("tile_m"), value("tile_n"), value("split_k"), value("vector_width"));
}

// By name, so that neither the heuristic nor the lists above can lose one unseen: of whole sums the fast kernel or the
// exact one, by fours and one by one; each blocking by both kernels; of pieces of k the fast one, which alone has them.
TEST_P(gpu_defaults, the_check_runs_each_form_of_matmul_for_gpus) {
    const CheckedFamily& of = checked_family(matmul_family());
    std::map<std::string, std::set<std::string>> forms;  // of "exact", "fast" and ""
    for (const auto& [configuration, cases] : of.runs) {
        for (const std::size_t p : cases) {
            if (!of.with_work[p]) continue;
            const bool is_exact = of.cases[p]->name().find("determinism=exact") != std::string::npos;
            const std::string form = form_of(of.spaces[p], configuration);
            forms[""].insert(form);
            forms[is_exact ? "exact" : "fast"].insert(form.substr(0, form.find(" width")));
        }
    }
    std::vector<std::string> whole, pieces;
    for (const char* blocks : {"128x128x16 tile 8x8", "128x64x16 tile 8x4", "64x64x16 tile 4x4", "64x64x8 tile 8x4",
                               "32x32x8 tile 4x4", "16x64x8 tile 4x4", "64x16x8 tile 4x4"})
        whole.push_back(fmt::format("{} split 1", blocks));
    for (const char* blocks : {"32x32x8 tile 4x4", "16x64x8 tile 4x4", "64x16x8 tile 4x4"}) {
        for (const int split : {4, 8}) pieces.push_back(fmt::format("{} split {}", blocks, split));
    }
    std::vector<std::string> widths;
    for (const std::string& form : whole) widths.insert(widths.end(), {form + " width 4", form + " width 1"});
    for (const std::string& form : pieces) widths.insert(widths.end(), {form + " width 4", form + " width 1"});
    EXPECT_THAT(forms[""], IsSupersetOf(widths));
    EXPECT_THAT(forms["exact"], IsSupersetOf(whole));
    EXPECT_THAT(forms["fast"], IsSupersetOf(whole));
    EXPECT_THAT(forms["fast"], IsSupersetOf(pieces));
}

}  // namespace
}  // namespace yolk::oracle
