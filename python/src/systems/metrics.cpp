// SPDX-License-Identifier: Apache-2.0
// Metrics: the library's, and those of users' functions.
#include <nanobind/stl/string.h>

#include <span>
#include <string>
#include <utility>

#include "base/errors.hpp"
#include "base/options.hpp"
#include "systems/systems.hpp"
#include "tracing/callables.hpp"
#include "tracing/traced.hpp"
#include "tracing/values.hpp"
#include "yolk/system.hpp"

namespace yolk::python {
namespace {

namespace h = hyper;

/// What only lets a Python exception through where one was raised.
h::Metric metric_of(nb::object function, const std::string& name, bool traced) {
    const Kept kept = keep(std::move(function));
    if (traced) {
        return h::traced_metric(name, [kept](const h::Traced& prediction, const h::Traced& expected) -> h::Traced {
            const InsideBody inside;
            try {
                return traced_of(call_python(*kept, prediction, expected));
            } catch (nb::python_error& raised) {
                throw std::runtime_error(error_of_raised(raised).message);
            }
        });
    }
    h::Metric metric(
        [kept](const h::Value& prediction, const h::Value& expected) -> Result<double> {
            const InsideBody inside;
            try {
                return real_number("The metric's score",
                                   call_python(*kept, python_of(prediction), python_of(expected)));
            } catch (nb::python_error& raised) {
                return error_of_raised(raised);
            } catch (const Raised& raised) {
                return raised.error();
            }
        },
        name);
    metric.concurrent = false;
    return metric;
}

/// function(predictions) gives one number for all examples at once.
h::Metric metric_of_all(nb::object function, const std::string& name) {
    h::Metric metric(
        [kept = keep(std::move(function))](std::span<const h::Value> predictions,
                                           std::span<const h::Value>) -> Result<double> {
            const InsideBody inside;
            try {
                nb::list all;
                for (const h::Value& prediction : predictions) all.append(python_of(prediction));
                return real_number("The metric's score", call_python(*kept, all));
            } catch (nb::python_error& raised) {
                return error_of_raised(raised);
            } catch (const Raised& raised) {
                return raised.error();
            }
        },
        name);
    metric.concurrent = false;
    return metric;
}

}  // namespace

void bind_metrics(nb::module_& module) {
    nb::class_<h::Metric>(module, "Metric", "What a system is made better by: higher is better.")
        .def_prop_ro("name", [](const h::Metric& metric) { return metric.name; });
    module.def("exact_match", &h::exact_match, "1 where prediction and expected value are equal, else 0.");
    module.def("numeric_distance", &h::numeric_distance,
               "Minus the summed squared difference; on the device, with a derivative.");
    module.def("classification", &h::classification, nb::arg("threshold") = 0.5,
               "1 where both are on the same side of the threshold, else 0.");
    module.def("cross_entropy", &h::cross_entropy,
               "log softmax(prediction)[expected]; on the device, with a derivative.");
    module.def("sequence_cross_entropy", &h::sequence_cross_entropy,
               "The mean over rows of log softmax(row)[class]; on the device, with a derivative.");
    module.def(
        "output_as_reward", [] { return h::output_as_reward(); }, "The prediction is the reward.");
    module.def("make_metric", &metric_of, nb::arg("function"), nb::arg("name"), nb::arg("traced"));
    module.def("make_metric_of_all", &metric_of_all, nb::arg("function"), nb::arg("name"));
}

}  // namespace yolk::python
