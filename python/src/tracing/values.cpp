// SPDX-License-Identifier: Apache-2.0
#include "tracing/values.hpp"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <utility>

#include "base/arrays.hpp"
#include "base/errors.hpp"
#include "base/lock.hpp"

namespace yolk::python {
namespace {

using Floats = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;

/// yolk._trees.as_float32: whatever is an array, as one of fp32 in row-major order.
Floats floats_of(nb::handle object, const std::string& what) {
    return nb::cast<Floats>(call_python("yolk._trees", "as_float32", object, what));
}

hyper::Value value_at(nb::handle object, const std::string& what, std::size_t depth);

hyper::Value sequence_of(nb::handle object, const std::string& what, std::size_t depth) {
    // Numbers, or rows of equally many numbers, are an array.
    const nb::object array = call_python("yolk._trees", "array_or_none", object);
    if (!array.is_none()) return tensor_of(array, what);
    hyper::List::Items items;
    for (const nb::handle item : object) items.push_back(value_at(item, what, depth));
    return unwrap(hyper::List::create(std::move(items)));
}

hyper::Value record_of(const nb::dict& fields, const std::string& what, std::size_t depth) {
    hyper::Record::Fields all;
    for (const auto& [key, value] : fields) {
        std::string name;
        if (!nb::try_cast(key, name))
            throw Raised(bad_input("{} has the key {}, which is no text.", what, python_repr(key).c_str()));
        all.emplace_back(name, value_at(value, what, depth));
    }
    return unwrap(hyper::Record::create(std::move(all)));
}

/// Bytes that are no UTF-8, as of a model's answer, are replaced.
nb::object in_utf8(const std::string& text) {
    PyObject* read = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
    if (read == nullptr) nb::raise_python_error();
    return nb::steal(read);
}

/// `depth`: how many lists and dicts it is in. One that contains itself has no end.
hyper::Value value_at(nb::handle object, const std::string& what, std::size_t depth) {
    PyObject* const raw = object.ptr();
    if (PyBool_Check(raw)) return raw == Py_True;
    if (PyUnicode_Check(raw)) return nb::cast<std::string>(object);
    if (PyFloat_Check(raw)) return nb::cast<double>(object);
    if (PyLong_Check(raw)) {
        std::int64_t integer = 0;
        if (nb::try_cast(object, integer)) return integer;
        throw Raised(bad_input("{} is {}, which does not fit into 64 bits.", what, python_repr(object).c_str()));
    }
    if (PyDict_Check(raw) || PyList_Check(raw) || PyTuple_Check(raw)) {
        check_depth(what, depth);
        if (PyDict_Check(raw)) return record_of(nb::borrow<nb::dict>(object), what, depth + 1);
        return sequence_of(object, what, depth + 1);
    }
    if (object.is_none())
        throw Raised(
            bad_input("{} is None; an array, a text, a number, a truth value, a dict or a list is needed.", what));
    return tensor_of(object, what);
}

}  // namespace

void check_depth(const std::string& what, std::size_t depth) {
    if (depth < hyper::kMostValueDepth) return;
    throw Raised(
        bad_input("{} nests lists and dicts more than {} deep, or contains itself.", what, hyper::kMostValueDepth));
}

hyper::Tensor tensor_of(nb::handle object, const std::string& what) {
    const Floats floats = floats_of(object, what);
    std::vector<std::uint64_t> extents;
    for (std::size_t i = 0; i < floats.ndim(); ++i) extents.push_back(floats.shape(i));
    if (extents.empty()) extents.push_back(1);
    return unwrap(hyper::Tensor::create(Shape(extents), {floats.data(), floats.data() + floats.size()}));
}

hyper::Value value_of(nb::handle object, const std::string& what) { return value_at(object, what, 0); }

nb::object python_of(const hyper::Tensor& tensor) {
    const std::span<const std::uint64_t> extents = tensor.shape().extents();
    std::vector<std::size_t> shape(extents.begin(), extents.end());
    return numpy_copy(tensor.values(), std::move(shape));
}

nb::object python_of(const hyper::Value& value) {
    if (const auto* tensor = value.tensor()) return python_of(*tensor);
    if (const auto* text = value.text()) return nb::cast(*text);
    if (const auto* number = value.number()) return nb::cast(*number);
    if (const auto* integer = value.integer()) return nb::cast(*integer);
    if (const auto* truth = value.boolean()) return nb::cast(*truth);
    if (const auto* record = value.record()) {
        nb::dict fields;
        for (const auto& [name, field] : record->fields()) fields[name.c_str()] = python_of(field);
        return fields;
    }
    nb::list items;
    if (const auto* list = value.list())
        for (const hyper::Value& item : list->items()) items.append(python_of(item));
    return items;
}

nb::object from_json(const Json& json) {
    switch (json.type()) {
        case Json::value_t::boolean: return nb::cast(json.get<bool>());
        case Json::value_t::number_unsigned: return nb::cast(json.get<std::uint64_t>());
        case Json::value_t::number_integer: return nb::cast(json.get<std::int64_t>());
        case Json::value_t::number_float: return nb::cast(json.get<double>());
        case Json::value_t::string: return in_utf8(json.get_ref<const std::string&>());
        case Json::value_t::array: {
            nb::list all;
            for (const Json& one : json) all.append(from_json(one));
            return all;
        }
        case Json::value_t::object: {
            nb::dict all;
            for (const auto& [name, one] : json.items()) all[in_utf8(name)] = from_json(one);
            return all;
        }
        default: return nb::none();
    }
}

std::map<std::string, hyper::Value> inputs_of(nb::handle object) {
    if (!nb::isinstance<nb::dict>(object))
        throw Raised(bad_input("The inputs are {}; a dict of values by name is needed.", python_repr(object).c_str()));
    std::map<std::string, hyper::Value> inputs;
    for (const auto& [key, value] : nb::borrow<nb::dict>(object)) {
        const std::string name = python_str(key).c_str();
        inputs.emplace(name, value_of(value, "input '" + name + "'"));
    }
    return inputs;
}

std::vector<hyper::Example> examples_of(nb::handle list) {
    std::vector<hyper::Example> examples;
    if (PySequence_Check(list.ptr()) == 0 || PyUnicode_Check(list.ptr()))
        throw Raised(
            bad_input("The examples are {}; a list of pairs of inputs, a dict, and what is expected is needed.",
                      python_repr(list).c_str()));
    for (const nb::handle one : list) {
        if (!PySequence_Check(one.ptr()) || PyUnicode_Check(one.ptr()) || nb::len(one) != 2) {
            throw Raised(bad_input("Example {} is {}; a pair of the inputs, a dict, and what is expected is needed.",
                                   examples.size(), python_repr(one).c_str()));
        }
        examples.push_back(
            {inputs_of(one[0]), value_of(one[1], fmt::format("what example {} expects", examples.size()))});
    }
    return examples;
}

}  // namespace yolk::python
