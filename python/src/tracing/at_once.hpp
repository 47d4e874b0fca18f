// SPDX-License-Identifier: Apache-2.0
// Errors of operations on traced values as exceptions, at the line of the Python program that made them: in C++ they
// stick in the tracer until the trace ends.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "yolk/internal/hyper/traced_operations.hpp"

namespace yolk::python {
namespace nb = nanobind;

/// Throws what sticks in the run that this thread is in (outside of runs in `results`), with the caller's line; it then
/// sticks no more. An exception of a Python function that the operation called is thrown as it was raised. Needs the
/// interpreter's lock.
void raise_error(std::span<const hyper::Traced> results = {});

/// Throws where its run is over.
void check_operand(const hyper::Traced& operand);
template <class Other>
void check_operand(const Other& /*operand*/) {}

/// In which an operation keeps what a Python function raised that it called, while C++ passes an error on.
void keep_raised(nb::python_error&& raised);
/// Null where nothing was raised.
[[nodiscard]] std::unique_ptr<nb::python_error> take_kept();

namespace at_once {

inline void check(const hyper::Traced& result) { raise_error({&result, 1}); }
inline void check(const std::vector<hyper::Traced>& results) { raise_error(results); }
template <class Other>
void check(const Other& /*result*/) {
    raise_error();
}

template <class Function, class Result, class... Arguments>
auto checked(Function function, std::type_identity<Result(Arguments...)> /*signature*/) {
    return [function = std::move(function)](Arguments... arguments) -> Result {
        (check_operand(arguments), ...);
        if constexpr (std::is_void_v<Result>) {
            function(std::forward<Arguments>(arguments)...);
            raise_error();
        } else {
            Result result = function(std::forward<Arguments>(arguments)...);
            check(result);
            return result;
        }
    };
}

template <class Result, class... Arguments>
std::type_identity<Result(Arguments...)> signature_of(Result (*)(Arguments...));
template <class Class, class Result, class... Arguments>
std::type_identity<Result(Arguments...)> signature_of(Result (Class::*)(Arguments...) const);

template <class Function>
constexpr auto signature() {
    if constexpr (std::is_pointer_v<Function>) {
        return decltype(signature_of(Function{})){};
    } else {
        return decltype(signature_of(&Function::operator())){};
    }
}
template <class Function>
auto checked(Function function) {
    return checked(std::move(function), signature<Function>());
}

/// Whether a function takes one operand, of any kind, beside what `Before` of them are.
template <std::size_t kBefore, class Result, class... Arguments>
constexpr bool takes_one_more(std::type_identity<Result(Arguments...)> /*signature*/) {
    return sizeof...(Arguments) == kBefore + 1 && (std::is_same_v<Arguments, nb::handle> || ...);
}

}  // namespace at_once

/// A module or class whose functions raise at once.
template <class Scope>
class AtOnce {
   public:
    explicit AtOnce(Scope& scope) : scope_(scope) {}
    template <class Function, class... Extra>
    AtOnce& def(const char* name, Function function, const Extra&... extra) {
        constexpr bool kIsModule = std::is_same_v<Scope, nb::module_>;
        if constexpr (sizeof...(Extra) == 0 && at_once::takes_one_more < kIsModule
                          ? 0
                          : 1 > (at_once::signature<Function>())) {
            // None comes to the operation, which says what it takes.
            scope_.def(name, at_once::checked(std::move(function)), nb::arg("x").none());
        } else {
            scope_.def(name, at_once::checked(std::move(function)), extra...);
        }
        return *this;
    }
    template <class Function, class... Extra>
    AtOnce& def_prop_ro(const char* name, Function function, const Extra&... extra) {
        scope_.def_prop_ro(name, at_once::checked(std::move(function)), extra...);
        return *this;
    }
    [[nodiscard]] auto attr(const char* name) { return scope_.attr(name); }

   private:
    Scope& scope_;
};

}  // namespace yolk::python
