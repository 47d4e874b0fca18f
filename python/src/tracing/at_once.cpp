// SPDX-License-Identifier: Apache-2.0
#include "tracing/at_once.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/errors.hpp"
#include "tracing/traced.hpp"
#include "yolk/internal/hyper/foreign_code.hpp"

namespace yolk::python {
namespace {

std::unique_ptr<nb::python_error>& kept_slot() {
    thread_local std::unique_ptr<nb::python_error> slot;
    return slot;
}

}  // namespace

void keep_raised(nb::python_error&& raised) {
    auto& slot = kept_slot();
    if (!slot) slot = std::make_unique<nb::python_error>(std::move(raised));
}
std::unique_ptr<nb::python_error> take_kept() { return std::move(kept_slot()); }

void check_operand(const hyper::Traced& operand) {
    if (const Error* error = hyper::error_of(operand)) throw Raised(*error);
}

void raise_error(std::span<const hyper::Traced> results) {
    auto error = hyper::take_error(results);
    const auto kept = take_kept();
    if (!error) return;
    if (kept) throw nb::python_error(std::move(*kept));
    const hyper::Line line = python_line();
    std::string_view file = line.file_name();
    file.remove_prefix(file.find_last_of('/') + 1);
    const std::string place = fmt::format("{}:{}", file, line.line());
    if (line.line() > 0 && error->message.find(place) == std::string::npos)
        error->message += fmt::format(" ({})", place);
    throw Raised(*std::move(error));
}

}  // namespace yolk::python
