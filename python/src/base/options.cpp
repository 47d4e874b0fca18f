// SPDX-License-Identifier: Apache-2.0
#include "base/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <limits>
#include <string>

#include "base/lock.hpp"

namespace yolk::python {
namespace {

[[noreturn]] void refuse(std::string_view name, nb::handle value, std::string_view wanted) {
    throw Raised(bad_input("{} is {}; {} is needed.", name, python_repr(value).c_str(), wanted));
}

template <class Number>
Setter number_field(Number& to) {
    return [&to](std::string_view name, nb::handle value) {
        if constexpr (std::is_floating_point_v<Number>) {
            to = static_cast<Number>(real_number(name, value));
        } else {
            to = static_cast<Number>(whole_number(name, value, std::numeric_limits<Number>::max()));
        }
    };
}

Setter flag_field(bool& to) {
    return [&to](std::string_view name, nb::handle value) { to = yes_or_no(name, value); };
}

template <class Value>
Setter word_field(Value& to, Result<Value> (*parse)(std::string_view)) {
    return [&to, parse](std::string_view name, nb::handle value) { to = unwrap(parse(text(name, value))); };
}

}  // namespace

std::uint64_t whole_number(std::string_view name, nb::handle value, std::uint64_t most) {
    const std::string wanted = fmt::format("a whole number from 0 to {}", most);
    if (PyBool_Check(value.ptr()) || !PyIndex_Check(value.ptr())) refuse(name, value, wanted);
    const nb::object index = from_python([&] { return PyNumber_Index(value.ptr()); });
    const unsigned long long number = PyLong_AsUnsignedLongLong(index.ptr());
    if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();  // negative, or above 2^64
        refuse(name, value, wanted);
    }
    if (number > most) refuse(name, value, wanted);
    return number;
}

double real_number(std::string_view name, nb::handle value) {
    if (PyBool_Check(value.ptr())) refuse(name, value, "a number");
    const double number = PyFloat_AsDouble(value.ptr());
    if (number == -1.0 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        refuse(name, value, "a number");
    }
    return number;
}

bool yes_or_no(std::string_view name, nb::handle value) {
    if (!PyBool_Check(value.ptr())) refuse(name, value, "True or False");
    return value.ptr() == Py_True;
}

std::string text(std::string_view name, nb::handle value) {
    std::string read;
    if (!nb::try_cast(value, read)) refuse(name, value, "a text");
    return read;
}

std::vector<std::string> texts(std::string_view name, nb::handle value) {
    std::vector<std::string> read;
    if (nb::isinstance<nb::str>(value)) return {text(name, value)};
    if (!nb::try_cast(value, read)) refuse(name, value, "a list of texts");
    return read;
}

std::vector<std::uint32_t> whole_numbers(std::string_view name, nb::handle value) {
    std::vector<std::uint32_t> numbers;
    if (PyIndex_Check(value.ptr())) {
        numbers.push_back(static_cast<std::uint32_t>(whole_number(name, value, UINT32_MAX)));
        return numbers;
    }
    if (!nb::isinstance<nb::sequence>(value) || nb::isinstance<nb::str>(value))
        refuse(name, value, "a list of whole numbers");
    for (const nb::handle item : value)
        numbers.push_back(static_cast<std::uint32_t>(whole_number(name, item, UINT32_MAX)));
    return numbers;
}

Fields evolution_fields(evolve::EvolutionOptions& o) {
    return {{"population", number_field(o.population)},
            {"antithetic", flag_field(o.antithetic)},
            {"rank", number_field(o.rank)},
            {"sigma", number_field(o.sigma)},
            {"learning_rate", number_field(o.learning_rate)},
            {"sigma_decay", number_field(o.sigma_decay)},
            {"learning_rate_decay", number_field(o.learning_rate_decay)},
            {"noise_reuse", number_field(o.noise_reuse)},
            {"fitness", word_field(o.fitness, parse_fitness_rule)},
            {"robust", flag_field(o.robust)},
            {"group_size", number_field(o.group_size)},
            {"optimizer", word_field(o.optimizer, parse_optimizer_rule)},
            {"beta1", number_field(o.beta1)},
            {"beta2", number_field(o.beta2)},
            {"seed", number_field(o.seed)},
            {"freeze_vectors", flag_field(o.freeze_vectors)},
            {"freeze", [&o](std::string_view name, nb::handle value) { o.freeze = texts(name, value); }},
            {"episodes", number_field(o.episodes)},
            {"determinism", word_field(o.determinism, parse_determinism)}};
}

void set_fields(const Fields& fields, const nb::dict& given) {
    for (const auto& [key, value] : given) {
        const std::string name = text("The name of a setting", key);
        const auto field = fields.find(name);
        if (field == fields.end()) {
            std::vector<std::string> known;  // std::views::keys is more than clang 14 understands
            for (const auto& each : fields) known.push_back(each.first);
            throw Raised(bad_input("There is no setting '{}'; there are {}.", name, fmt::join(known, ", ")));
        }
        field->second(name, value);
    }
}

nb::dict to_dict(const evolve::EvolutionOptions& o) {
    nb::dict all;
    all["population"] = o.population;
    all["antithetic"] = o.antithetic;
    all["rank"] = o.rank;
    all["sigma"] = o.sigma;
    all["learning_rate"] = o.learning_rate;
    all["sigma_decay"] = o.sigma_decay;
    all["learning_rate_decay"] = o.learning_rate_decay;
    all["noise_reuse"] = o.noise_reuse;
    all["fitness"] = std::string(to_string(o.fitness));
    all["robust"] = o.robust;
    all["group_size"] = o.group_size;
    all["optimizer"] = std::string(to_string(o.optimizer));
    all["beta1"] = o.beta1;
    all["beta2"] = o.beta2;
    all["seed"] = o.seed;
    all["freeze_vectors"] = o.freeze_vectors;
    all["freeze"] = nb::cast(o.freeze);
    all["episodes"] = o.episodes;
    all["determinism"] = std::string(to_string(o.determinism));
    return all;
}

}  // namespace yolk::python
