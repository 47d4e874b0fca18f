// SPDX-License-Identifier: Apache-2.0
#include "systems/systems.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/devices.hpp"
#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "base/lock.hpp"
#include "base/options.hpp"
#include "base/words.hpp"
#include "graphs/graphs.hpp"
#include "systems/prompts.hpp"
#include "tracing/callables.hpp"
#include "tracing/traced.hpp"
#include "tracing/values.hpp"
#include "yolk/ablate.hpp"
#include "yolk/context.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/hyper/state_file.hpp"
#include "yolk/json.hpp"
#include "yolk/models.hpp"
#include "yolk/optimize.hpp"
#include "yolk/system.hpp"

namespace yolk::python {
namespace {

namespace h = hyper;

/// The library's System allows one thread at a time; others wait.
class PythonSystem {
   public:
    PythonSystem(const std::string& name, nb::object function, std::uint64_t seed)
        : system_(std::in_place, name, over(keep(std::move(function))), seed) {}
    /// Its threads may be about to drop an object of Python's, for which they need the lock.
    ~PythonSystem() {
        const WithoutLock released;
        system_.reset();
    }
    PythonSystem(const PythonSystem&) = delete;
    PythonSystem& operator=(const PythonSystem&) = delete;

    /// Without the interpreter's lock. An exception of the user's own code comes out as it was raised.
    template <class Work>
    auto run(Work work) {
        RaisedInside inside;
        auto result = attempt(std::move(work));
        Interruptible::raise_if_requested();
        if (!result)
            if (auto raised = inside.take()) throw nb::python_error(std::move(*raised));
        return unwrap(std::move(result));
    }

    /// The same, whose errors and the first exception of the user's own code (RaisedInside) are the caller's to weigh.
    template <class Work>
    auto attempt(Work work) {
        std::optional<decltype(work(std::declval<h::System&>()))> result;
        {
            const Interruptible interruptible;
            const WithoutLock released;
            const KeptHere others_too(false);
            std::unique_lock lock(one_at_a_time_, std::try_to_lock);
            if (!lock.owns_lock() && InsideBody::any()) {
                result = bad_input("A function of a running system called that system, which would wait for itself.");
            } else if (const Result<void> good = check_not_forked(); !good) {
                result = good.error();
            } else {
                if (!lock.owns_lock()) lock.lock();
                result = work(*system_);
            }
        }
        return std::move(*result);
    }

   private:
    /// The user's function, with the inputs by keyword.
    static h::System::Function over(Kept function) {
        return [function = std::move(function)](const h::Inputs& inputs) -> h::Traced {
            const InsideBody inside;
            try {
                const nb::object wrapped = nb::cast(&inputs, nb::rv_policy::reference);
                return traced_of(call_python(*function, wrapped));
            } catch (nb::python_error& raised) {
                throw std::runtime_error(error_of_raised(raised).message);
            }
        };
    }

    std::mutex one_at_a_time_;
    std::optional<h::System> system_;
};

nb::dict generation_dict(const h::GenerationReport& report) {
    return nb::cast<nb::dict>(from_json(h::to_json(report)));
}

Fields search_fields(h::OptimizeOptions& o, evolve::EvolutionOptions& evolution) {
    Fields fields = evolution_fields(evolution);
    const auto count = [&fields](const char* name, auto& to) {
        fields[name] = [&to](std::string_view given, nb::handle value) {
            using Number = std::remove_reference_t<decltype(to)>;
            to = static_cast<Number>(whole_number(given, value, std::numeric_limits<Number>::max()));
        };
    };
    const auto path = [&fields](const char* name, std::filesystem::path& to) {
        fields[name] = [&to](std::string_view given, nb::handle value) { to = text(given, value); };
    };
    count("generations", o.generations);
    count("examples_per_generation", o.examples_per_generation);
    count("samples_per_example", o.samples_per_example);
    count("metric_budget", o.metric_budget);
    count("held_out_every", o.held_out_every);
    count("checkpoint_every", o.checkpoint_every);
    path("log", o.log);
    path("run_log", o.run_log);
    path("checkpoint", o.checkpoint);
    fields["dry_run"] = [&o](std::string_view given, nb::handle value) { o.dry_run = yes_or_no(given, value); };
    fields["resume"] = [&o](std::string_view given, nb::handle value) { o.resume = yes_or_no(given, value); };
    return fields;
}

h::GradientOptions gradient_options(const nb::dict& given) {
    h::GradientOptions o;
    h::KfacOptions kfac;
    bool is_kfac = false;
    Fields fields;
    const auto real = [&fields](const char* name, float& to) {
        fields[name] = [&to](std::string_view named, nb::handle value) {
            to = static_cast<float>(real_number(named, value));
        };
    };
    real("learning_rate", o.learning_rate);
    real("learning_rate_decay", o.learning_rate_decay);
    real("beta1", o.beta1);
    real("beta2", o.beta2);
    real("epsilon", o.epsilon);
    real("kfac_learning_rate", kfac.learning_rate);
    real("kfac_damping", kfac.damping);
    real("kfac_decay", kfac.decay);
    fields["warm_up"] = [&o](std::string_view named, nb::handle value) {
        o.warm_up = static_cast<std::uint32_t>(whole_number(named, value, UINT32_MAX));
    };
    fields["rule"] = [&o, &is_kfac](std::string_view named, nb::handle value) {
        const std::string rule = text(named, value);
        is_kfac = rule == "kfac";
        if (!is_kfac) o.rule = unwrap(parse_optimizer_rule(rule));
    };
    fields["functions"] = [&o](std::string_view named, nb::handle value) { o.groups = texts(named, value); };
    set_fields(fields, given);
    if (is_kfac) o.kfac = kfac;
    return o;
}

nb::dict optimize_system(PythonSystem& system, nb::handle examples, const h::Metric& metric, const nb::dict& settings,
                         nb::handle held_out, nb::handle gradient, nb::handle texts, nb::object tell) {
    const std::vector<h::Example> all = examples_of(examples);
    const std::vector<h::Example> others = held_out.is_none() ? std::vector<h::Example>() : examples_of(held_out);
    h::OptimizeOptions options;
    evolve::EvolutionOptions evolution = options.evolution;
    set_fields(search_fields(options, evolution), settings);
    options.evolution = evolution;
    options.held_out = others;
    if (!gradient.is_none()) options.gradient = gradient_options(nb::cast<nb::dict>(gradient));
    if (!texts.is_none()) options.text = text_options(nb::cast<nb::dict>(texts));
    h::Metric judged = metric;
    Callback callback;
    options.on_generation = [&](const h::GenerationReport& report) {
        return callback.goes_on([&] { return call_python(tell, generation_dict(report)); });
    };
    if (options.text) {
        const Kept on_step = keep(nb::cast<nb::dict>(texts)["on_step"]);
        const nb::object feedback = nb::cast<nb::dict>(texts)["feedback"];
        if (!feedback.is_none()) judged.feedback = feedback_of(feedback);
        options.text->on_step = [&callback, on_step](const h::TextStep& step) {
            return callback.goes_on([&] { return call_python(*on_step, from_json(h::to_json(step))); });
        };
    }
    RaisedInside inside;
    Result<h::OptimizeOutcome> made = system.attempt([&](h::System& s) { return s.optimize(all, judged, options); });
    callback.raise();
    Interruptible::raise_if_requested();
    // A prompt search goes on where an example or a model fails: what fails it is more than the first exception.
    auto raised = inside.take();
    if (!made && raised && options.text) raise_from(made.error(), std::move(raised));
    if (!made && raised) throw nb::python_error(std::move(*raised));
    const h::OptimizeOutcome outcome = unwrap(std::move(made));
    auto found = nb::cast<nb::dict>(from_json(h::to_json(outcome)));
    found["fallbacks"] = nb::cast(outcome.fallbacks);
    found["state_hash"] = outcome.state_hash;
    return found;
}

nb::dict evaluate_system(PythonSystem& system, nb::handle examples, const h::Metric& metric) {
    const std::vector<h::Example> all = examples_of(examples);
    const h::Evaluation found = system.run([&](h::System& s) { return s.evaluate(all, metric); });
    nb::dict result;
    nb::list predictions;
    for (const h::Value& prediction : found.predictions) predictions.append(python_of(prediction));
    result["reward"] = found.reward;
    result["per_example"] = nb::cast(found.per_example);
    result["predictions"] = predictions;
    return result;
}

nb::dict evaluate_candidates(PythonSystem& system, nb::handle candidates, nb::handle examples,
                             const h::Metric& metric) {
    const std::vector<h::Example> all = examples_of(examples);
    std::vector<h::Candidate> given;
    for (const nb::handle one : candidates) {
        h::Candidate candidate;
        for (const auto& [name, values] : nb::cast<nb::dict>(one)) {
            const std::string group = python_str(name).c_str();
            candidate.values.emplace_back(group, tensor_of(values, "'" + group + "'"));
        }
        given.push_back(std::move(candidate));
    }
    const h::PopulationEvaluation found =
        system.run([&](h::System& s) { return s.evaluate_population(given, all, metric); });
    nb::dict result;
    result["rewards"] = nb::cast(found.rewards);
    result["fallbacks"] = nb::cast(found.fallbacks);
    nb::list errors;
    for (const auto& error : found.errors) errors.append(error ? nb::cast(in_python(error->message)) : nb::none());
    result["errors"] = errors;
    return result;
}

nb::dict parameters_of(PythonSystem& system) {
    const std::vector<h::ParameterGroup> groups =
        system.run([](h::System& s) -> Result<std::vector<h::ParameterGroup>> {
            const auto all = s.parameters().groups();
            return std::vector<h::ParameterGroup>(all.begin(), all.end());
        });
    nb::dict found;
    for (const h::ParameterGroup& group : groups) {
        if (!group.spec.has_parameters()) continue;
        if (group.spec.fields.empty()) {
            found[group.spec.name.c_str()] = python_of(group.value());
            continue;
        }
        nb::dict fields;
        const std::vector<double> numbers = h::written_numbers(group.values);
        for (std::size_t i = 0; i < group.spec.fields.size(); ++i)
            fields[group.spec.fields[i].name.c_str()] = python_of(h::field_value(group.spec.fields[i], numbers[i]));
        found[group.spec.name.c_str()] = fields;
    }
    return found;
}

/// The graph for these inputs, and the values of its parameters by the hyperfunctions' names.
nb::tuple graph_of(PythonSystem& system, nb::handle inputs) {
    const h::Example example{inputs_of(inputs), h::Value()};
    RawGraph raw;
    h::TracedExample traced = system.run([&](h::System& s) -> Result<h::TracedExample> {
        YOLK_TRY(h::TracedExample found, s.trace(example));
        for (const h::ParameterGroup& group : s.parameters().groups()) {
            // Populations vary numbers; texts are the same for all candidates.
            if (group.spec.optimize && !group.spec.is_text) raw.varying.push_back(group.spec.name);
        }
        return found;
    });
    nb::dict values;
    for (const auto& [id, group] : traced.graph.parameters) values[group.c_str()] = python_of(traced.values[id.value]);
    raw.graph = std::make_shared<const h::Graph>(std::move(traced.graph));
    return nb::make_tuple(nb::cast(std::move(raw)), values);
}

nb::list ablate_system(PythonSystem& system, nb::handle examples, const h::Metric& metric, const std::string& how,
                       std::uint64_t seed) {
    const std::vector<h::Example> all = examples_of(examples);
    const std::vector<h::AblationRow> rows = system.run([&](h::System& s) -> Result<std::vector<h::AblationRow>> {
        h::AblateOptions options{.seed = seed};
        YOLK_TRY(options.how, h::parse_ablation(how));
        return h::ablate(s, all, metric, options);
    });
    nb::list found;
    for (const h::AblationRow& row : rows) found.append(from_json(h::to_json(row)));
    return found;
}

void bind_parameters(nb::class_<PythonSystem>& c) {
    c.def("parameters", &parameters_of);
    c.def(
        "set_parameter",
        [](PythonSystem& system, const std::string& name, nb::handle value) {
            const h::Value given = value_of(value, "'" + name + "'");
            system.run([&](h::System& s) -> Result<bool> {
                if (given.text() != nullptr) {
                    YOLK_TRY_VOID(s.parameters().set_value(name, given));
                } else {
                    YOLK_TRY(h::Tensor values, h::tensor_of(given));
                    YOLK_TRY_VOID(s.parameters().set_value(name, std::move(values)));
                }
                return true;
            });
        },
        nb::arg("name"), nb::arg("value").none());
    c.def(
        "add",
        [](PythonSystem& system, const h::AnyHyperfunction& function) {
            system.run([&](h::System& s) -> Result<bool> {
                YOLK_TRY_VOID(s.add(function));
                return true;
            });
        },
        nb::arg("function"));
    c.def(
        "save",
        [](PythonSystem& system, const std::string& file) {
            system.run([&](h::System& s) -> Result<bool> {
                YOLK_TRY_VOID(h::save_state(s, file));
                return true;
            });
        },
        nb::arg("file"));
    c.def(
        "load",
        [](PythonSystem& system, const std::string& file) {
            system.run([&](h::System& s) -> Result<bool> {
                YOLK_TRY_VOID(h::load_state(s, file));
                return true;
            });
        },
        nb::arg("file"));
}

}  // namespace

void bind_systems(nb::module_& module) {
    nb::class_<h::Inputs>(module, "Inputs").def("__getitem__", [](const h::Inputs& inputs, const std::string& key) {
        return inputs[key];
    });
    nb::class_<PythonSystem> c(module, "RawSystem", "The system behind yolk.System.");
    c.def(nb::init<const std::string&, nb::object, std::uint64_t>(), nb::arg("name"), nb::arg("function"),
          nb::arg("seed"));
    c.def(
        "call",
        [](PythonSystem& system, nb::handle inputs) {
            const auto given = inputs_of(inputs);
            return python_of(system.run([&](h::System& s) { return s.call(given); }));
        },
        nb::arg("inputs"));
    c.def("evaluate", &evaluate_system, nb::arg("examples").none(), nb::arg("metric"));
    c.def("evaluate_population", &evaluate_candidates, nb::arg("candidates"), nb::arg("examples").none(),
          nb::arg("metric"));
    c.def("optimize", &optimize_system, nb::arg("examples").none(), nb::arg("metric"), nb::arg("settings"),
          nb::arg("held_out").none(), nb::arg("gradient").none(), nb::arg("texts").none(), nb::arg("tell"));
    c.def(
        "use_model",
        [](PythonSystem& system, nb::object model, const std::string& tag) {
            system.run([&, answers = model_of(std::move(model))](h::System& s) -> Result<bool> {
                h::Models models = s.models() == nullptr ? h::Models() : *s.models();
                s.use(tag.empty() ? models.otherwise(answers) : models.on_tag(tag, answers));
                return true;
            });
        },
        nb::arg("model"), nb::arg("tag"));
    c.def("graph", &graph_of, nb::arg("inputs"));
    c.def("ablate", &ablate_system, nb::arg("examples").none(), nb::arg("metric"), nb::arg("how"), nb::arg("seed"));
    c.def(
        "use_device",
        [](PythonSystem& system, const std::string& device) {
            system.run([&](h::System& s) -> Result<bool> {
                YOLK_TRY(const Context context, open_context(device));
                s.use(context);
                return true;
            });
        },
        nb::arg("device"));
    bind_parameters(c);
}

}  // namespace yolk::python
