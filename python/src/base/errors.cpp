// SPDX-License-Identifier: Apache-2.0
#include "base/errors.hpp"

#include <typeinfo>

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

void translate_errors() {
    nb::register_exception_translator([](const std::exception_ptr& thrown, void* /*payload*/) {
        try {
            std::rethrow_exception(thrown);
        } catch (const Raised& raised) {
            const nb::object type = nb::module_::import_("yolk.errors").attr(class_of(raised.error().kind));
            PyErr_SetString(type.ptr(), in_python(raised.error().message).c_str());
        } catch (const std::bad_cast&) {
            PyErr_SetString(
                PyExc_TypeError,
                "An argument, or a part of one, is of a kind that is not taken here, or a whole number that "
                "does not fit; the function's help says what is.");
        }
    });
}

}  // namespace yolk::python
