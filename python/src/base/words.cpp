// SPDX-License-Identifier: Apache-2.0
#include "base/words.hpp"

#include <cstddef>
#include <string_view>

namespace yolk::python {
namespace {

struct Words {
    std::string_view cpp;
    std::string_view python;
};

/// Longer ones before those that they contain. tests/test_words.py compares them with the messages in the sources.
constexpr Words kWords[] = {
    {"out of PullbackOptions::parameters, or give it a rule by its name",
     "out of yolk.pullback(graph, parameters=[...]), or give it a rule: rules={its name: function}"},
    {"add a rule to the table", "give it a rule: rules={its name: function}"},
    {"MatrixWeight::from_tensor: a tensor", "yolk.Matrix.of: an array"},
    {"{.length = 10}", "length=10"},
    {"(TextParameter::most_bytes)", "(most_bytes of yolk.Text)"},
    {"its HyperfunctionOptions::stand_in", "the stand_in of yolk.host_function"},
    {"A search by derivatives needs OptimizeOptions::gradient", "A search by derivatives needs gradient="},
    {"Give DevicePoolOptions::determinism Exact, or the search Fast",
     "Give determinism=\"exact\" for the devices, or determinism=\"fast\" for the search"},
    {"Give DevicePoolOptions::determinism Fast, or the population Exact",
     "Give determinism=\"fast\" for the devices, or determinism=\"exact\" for the population"},
    {"the option 'optimize', or call ParameterSet::set_optimized", "optimize=True"},
    {"put one in force by UseModels(Models().otherwise(model_of(client))), or give it to the system by use()",
     "give the system one, system.use_model(model); a function that takes a prompt and returns a text is a model"},
    {"give one by on_tag() or otherwise()", "give one, system.use_model(model, tag)"},
    {"was called outside a system's function; use call() with its parameters",
     "was called outside a system's function; use its `alone`, with its parameters"},
    {"was called outside a system; use call() with its parameters",
     "was called outside a system; use its `alone`, with its parameters"},
    {"an if, while, ?:, && or || on a value", "an if, while, `and` or `or` on a value"},
    {"with less() and select()", "with yolk.where(condition, a, b)"},
    {"take values from this run's inputs, or read() them", "take values from this run's inputs"},
    {"step() or skip() until next() is null", "step() or skip() until `next` is None"},
    {"with between()", "low= and high= of yolk.knob"},
    {"give it one with set_text()", "give system.set(name, text) a text"},
    {"give it numbers with set()", "give system.set(name, values) numbers"},
    {"set its values through parameters()", "set its values, system.set(name, values)"},
    {"it registers at its first call, or by add()", "it registers at its first call, or by system.add"},
    {"that one linear() multiplies by", "that one `weight @ x` multiplies by"},
    {"format() makes one", "yolk.format makes one"},
    {"format() makes texts of others", "yolk.format makes texts of others"},
    {"to_number() makes a number", "yolk.to_number makes a number"},
    {"to_number() of one of them", "yolk.to_number of one of them"},
    {"Take numeric_distance(), cross_entropy(), sequence_cross_entropy(), or make one with traced_metric()",
     "Take numeric_distance(), cross_entropy() or sequence_cross_entropy() of yolk.metrics, or make one with "
     "yolk.metric(traced=True)"},
    {"`optimize --out`, `save` or save_state() wrote", "`yolk optimize --out` or system.save wrote"},
};

}  // namespace

std::string in_python(std::string message) {
    for (const Words& words : kWords) {
        for (std::size_t at = 0; (at = message.find(words.cpp, at)) != std::string::npos; at += words.python.size())
            message.replace(at, words.cpp.size(), words.python);
    }
    return message;
}

}  // namespace yolk::python
