// SPDX-License-Identifier: Apache-2.0
#include "base/errors.hpp"

#include <cstddef>
#include <typeinfo>
#include <vector>

#include "base/devices.hpp"
#include "base/words.hpp"

namespace yolk::python {

const char* class_of(ErrorKind kind) noexcept {
    switch (kind) {
        case ErrorKind::BadInput: return "BadInput";
        case ErrorKind::Unsupported: return "Unsupported";
        case ErrorKind::OutOfMemory: return "OutOfMemory";
        case ErrorKind::DeviceLost: return "DeviceLost";
        case ErrorKind::Driver: return "DriverError";
        case ErrorKind::Io: return "FileError";
        case ErrorKind::Failed: return "Failed";
        case ErrorKind::Cancelled: return "Cancelled";
    }
    return "Error";
}

void throw_error(Error error) {
    if (error.kind == ErrorKind::DeviceLost) forget_devices();
    throw Raised(std::move(error));
}

namespace {

/// By ErrorKind, for as long as the process: looking them up runs Python code, which a thread must not begin while the
/// interpreter goes down.
std::vector<nb::handle>& classes() {
    static auto* const all = new std::vector<nb::handle>();  // NOLINT(cppcoreguidelines-owning-memory)
    return *all;
}

}  // namespace

void translate_errors() {
    const nb::module_ errors = nb::module_::import_("yolk.errors");
    for (std::size_t kind = 0; kind <= static_cast<std::size_t>(ErrorKind::Cancelled); ++kind)
        classes().push_back(nb::object(errors.attr(class_of(static_cast<ErrorKind>(kind)))).release());
    nb::register_exception_translator([](const std::exception_ptr& thrown, void* /*payload*/) {
        try {
            std::rethrow_exception(thrown);
        } catch (const Raised& raised) {
            PyErr_SetString(classes()[static_cast<std::size_t>(raised.error().kind)].ptr(),
                            in_python(raised.error().message).c_str());
        } catch (const std::bad_cast&) {
            PyErr_SetString(
                PyExc_TypeError,
                "An argument, or a part of one, is of a kind that is not taken here, or a whole number that "
                "does not fit; the function's help says what is.");
        }
    });
}

}  // namespace yolk::python
