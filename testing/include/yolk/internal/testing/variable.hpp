// SPDX-License-Identifier: Apache-2.0
// An environment variable that is what a test wants for as long as a scope lasts.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace yolk::testing {

/// While no other thread reads or writes the environment.
class Variable {
   public:
    /// A null `value` takes the variable away.
    Variable(const char* name, const char* value) : name_(name) {
        if (const char* before = std::getenv(name)) before_ = before;
        value != nullptr ? setenv(name, value, 1) : unsetenv(name);
    }
    ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

   private:
    const char* name_;
    std::optional<std::string> before_;
};

}  // namespace yolk::testing
