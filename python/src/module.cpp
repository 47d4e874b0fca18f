// SPDX-License-Identifier: Apache-2.0
// yolk._core: the library, as the Python files of the package use it. Users see those.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "base/devices.hpp"
#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "base/warnings.hpp"
#include "base/words.hpp"
#include "graphs/graphs.hpp"
#include "ops/ops.hpp"
#include "ops/tuning.hpp"
#include "systems/prompts.hpp"
#include "systems/systems.hpp"
#include "tracing/callables.hpp"
#include "tracing/traced.hpp"
#include "training/bytes.hpp"
#include "training/decoder.hpp"
#include "training/encoder.hpp"
#include "training/evolution.hpp"
#include "training/finetuning.hpp"
#include "training/learning.hpp"
#include "training/report.hpp"
#include "training/training.hpp"

NB_MODULE(_core, module) {
    // Functions live as long as the interpreter where a traceback or a closure holds them; that is no fault to print.
    nanobind::set_leak_warnings(false);
    module.attr("version") = YOLK_VERSION;
    yolk::python::translate_errors();
    module.def("in_python", &yolk::python::in_python, nanobind::arg("message"),
               "A message of the library, with what Python calls its functions and options.");
    yolk::python::let_host_calls_have_the_lock();
    yolk::python::warn_in_python();
    yolk::python::bind_devices(module);
    yolk::python::bind_training(module);
    yolk::python::bind_learning(module);
    yolk::python::bind_bytes(module);
    yolk::python::bind_encoder(module);
    yolk::python::bind_finetuning(module);
    yolk::python::bind_decoder(module);
    yolk::python::bind_report(module);
    yolk::python::bind_evolution(module);
    yolk::python::bind_traced(module);
    yolk::python::bind_functions(module);
    yolk::python::bind_graphs(module);
    yolk::python::bind_metrics(module);
    yolk::python::bind_systems(module);
    yolk::python::bind_ops(module);
    yolk::python::bind_tuning(module);
    yolk::python::bind_prompts(module);
    // The last that is registered is called first.
    nanobind::module_::import_("atexit").attr("register")(nanobind::cpp_function(&yolk::python::forget_devices));
    nanobind::module_::import_("atexit").attr("register")(
        nanobind::cpp_function(&yolk::python::Interruptible::end_all));
}
