// SPDX-License-Identifier: Apache-2.0
#include "training/evolution.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <tuple>

#include "base/arrays.hpp"
#include "base/devices.hpp"
#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "base/lock.hpp"
#include "base/options.hpp"
#include "yolk/ask_tell.hpp"
#include "yolk/internal/evolve/parameter_setup.hpp"

namespace yolk::python {
namespace {

using evolve::AskedRun;

using Values = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const float> span_of(const Values& values) { return {values.data(), values.size()}; }

/// Without the interpreter's lock, so that other threads go on, and Ctrl-C is seen.
template <class Work>
auto released(Work work) {
    unwrap(check_not_forked());
    std::optional<decltype(work())> result;
    {
        const Interruptible interruptible;
        const WithoutLock released;
        result = work();
    }
    Interruptible::raise_if_requested();
    return unwrap(std::move(*result));
}

/// "matrix", "vector" or "frozen".
Perturbation perturbation_of(const std::string& kind) {
    if (kind == "matrix") return Perturbation::LowRank;
    if (kind == "vector") return Perturbation::Vector;
    return Perturbation::Frozen;
}

using ParameterShape = std::tuple<std::string, std::uint32_t, std::uint32_t, std::string, std::uint32_t>;

std::vector<ParameterDesc> parameters_of(const std::vector<ParameterShape>& shapes) {
    std::vector<ParameterDesc> parameters;
    for (const auto& [name, rows, columns, kind, rank] : shapes)
        parameters.push_back({name, rows, columns, perturbation_of(kind), rank});
    return parameters;
}

std::unique_ptr<AskedRun> make_run(const std::vector<ParameterShape>& shapes, const Values& initial,
                                   const nb::dict& settings, const std::string& device, const std::string& log) {
    evolve::AskedParts parts;
    parts.parameters = parameters_of(shapes);
    const std::span<const float> first = span_of(initial);
    parts.initial.assign(first.begin(), first.end());
    parts.options = evolve::SystemEvolutionOptions{};
    set_fields(evolution_fields(parts.options), settings);
    parts.log = log;
    return released([&]() -> Result<std::unique_ptr<AskedRun>> {
        YOLK_TRY(Context context, open_context(device));
        return AskedRun::create(std::move(context), std::move(parts));
    });
}

nb::dict to_dict(const evolve::GenerationSummary& summary) {
    nb::dict all;
    all["generation"] = summary.generation;
    all["mean"] = summary.mean;
    all["best"] = summary.best;
    all["worst"] = summary.worst;
    all["not_finite"] = summary.not_finite;
    all["skipped_elements"] = summary.skipped_elements;
    all["sigma"] = summary.sigma;
    all["learning_rate"] = summary.learning_rate;
    return all;
}

FloatArray members_of(AskedRun& run, std::uint32_t first, std::uint32_t count) {
    const std::size_t size = run.table().element_count();
    auto values = std::make_unique<float[]>(std::max<std::size_t>(1, count * size));
    const std::span<float> all(values.get(), count * size);
    const bool done = released([&]() -> Result<bool> {
        YOLK_TRY_VOID(run.members(first, all));
        return true;
    });
    static_cast<void>(done);
    return numpy_array(std::move(values), {count, size});
}

nb::tuple factors_of(AskedRun& run, std::uint32_t parameter) {
    const evolve::MemberFactors made = released([&] { return run.factors(parameter); });
    const ParameterDesc& matrix = run.table().parameters()[parameter];
    const std::size_t population = run.options().population;
    return nb::make_tuple(numpy_copy(made.a, {population, matrix.rows, made.rank}),
                          numpy_copy(made.b, {population, matrix.columns, made.rank}), made.scale);
}

}  // namespace

void bind_evolution(nb::module_& module) {
    module.def("evolution_defaults",
               [] { return to_dict(evolve::EvolutionOptions(evolve::SystemEvolutionOptions{})); });
    module.def(
        "initial_parameters",
        [](const std::vector<ParameterShape>& shapes, std::uint64_t seed) {
            const ParameterTable table = unwrap(ParameterTable::create(parameters_of(shapes)));
            return numpy_copy(evolve::initial_parameters(table, seed), {table.element_count()});
        },
        nb::arg("shapes"), nb::arg("seed"));
    nb::class_<AskedRun>(module, "AskedRun", "The run behind yolk.Evolution.")
        .def_static("create", &make_run, nb::arg("shapes"), nb::arg("initial"), nb::arg("settings"), nb::arg("device"),
                    nb::arg("log"))
        .def("members", &members_of, nb::arg("first"), nb::arg("count"))
        .def("factors", &factors_of, nb::arg("parameter"))
        .def(
            "tell",
            [](AskedRun& run, std::uint32_t generation, const Values& scores) {
                return to_dict(released([&] { return run.tell(generation, span_of(scores)); }));
            },
            nb::arg("generation"), nb::arg("scores"))
        .def_prop_ro("generation", &AskedRun::generation)
        .def("parameters",
             [](const AskedRun& run) { return numpy_copy(run.parameters(), {run.table().element_count()}); })
        .def(
            "set_parameters", [](AskedRun& run, const Values& values) { unwrap(run.set_parameters(span_of(values))); },
            nb::arg("values"))
        .def(
            "save", [](const AskedRun& run, const std::string& file) { unwrap(run.save(file)); }, nb::arg("file"))
        .def(
            "load",
            [](AskedRun& run, const std::string& file) {
                static_cast<void>(released([&]() -> Result<bool> {
                    YOLK_TRY_VOID(run.load(file));
                    return true;
                }));
            },
            nb::arg("file"))
        .def("state_hash", [](const AskedRun& run) { return unwrap(run.state_hash()); })
        .def("settings", [](const AskedRun& run) { return to_dict(run.options()); })
        .def(
            "replay",
            [](AskedRun& run, const std::string& log, std::optional<std::uint32_t> generation) {
                return released([&] { return run.replay(log, generation); });
            },
            nb::arg("log"), nb::arg("generation").none())
        .def_prop_ro("device", [](const AskedRun& run) { return run.device().name; });
}

}  // namespace yolk::python
